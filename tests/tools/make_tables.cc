// Makes a small database with tables in a directory, or damages an existing one, for the tests of
// `palimpsest check`, `tables` and `stat`: changes the contents of trees without the tables'
// knowledge, and leaves the pages sound.
//
// usage: make_tables DIR make|drop|abort|missing|stray|moved|twins|row|record|tree
//   make     tables "people" with two indexes and "notes" without
//   drop     drops an index, and closes the database before its entries are removed
//   abort    rolls back a bulk of 500 rows, and closes the database before that is undone
//   missing  removes an index entry
//   stray    adds an entry of a row that does not exist
//   moved    changes an entry to other values
//   twins    two rows with the same values in a unique index
//   row      a row that does not decode
//   record   a definition that does not decode
//   tree     a definition that names another table's tree
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"

#include "base/io/open_device.h"
#include "engine/api/bulk_rows.h"
#include "engine/catalog/stored_definitions.h"
#include "engine/engine.h"
#include "engine/format/schema_format.h"
#include "engine/table/table_writer.h"
#include "tests/engine/table/row_statements.h"

namespace palimpsest {
namespace {

constexpr int kRows = 3000;
constexpr std::size_t kByName = 1;

std::unique_ptr<engine::Engine> open(io::Device& device) {
  engine::EngineOptions options;
  options.memory_bytes = std::uint64_t{8} << 20U;
  options.pages = {.page_size_bytes = 4096, .ring_batches = 2, .batch_pages = 64, .uuid = {}};
  options.log_segment_bytes = wal::kSegmentBytesMin;
  options.log_bytes_max = 32 * wal::kSegmentBytesMin;
  options.background_threads = false;
  return engine::Engine::open(device, device, options);
}

void define(engine::Engine& database) {
  using types::int32, types::nullable, types::varchar;
  const auto by = database.begin();
  engine::TableCatalog& tables = database.tables();
  tables
      .create_table(
          *by,
          {.name = "people",
           .columns = {{"id", int32()}, {"name", varchar(40)}, {"city", nullable(varchar(40))}},
           .key = {"id"}})
      .require();
  tables.create_table(*by, key_value_table("notes")).require();
  tables.create_index(*by, "people", {.name = "by_city", .columns = {"city"}}).require();
  tables.create_index(*by, "people", {.name = "by_name", .columns = {"name"}, .unique = true})
      .require();
  by->commit();
}

void fill(engine::Engine& database) {
  const engine::TablePtr people = database.tables().find("people", nullptr);
  const engine::TablePtr notes = database.tables().find("notes", nullptr);
  for (int begin = 0; begin < kRows; begin += 100) {
    const auto by = database.begin();
    for (int id = begin; id < begin + 100; ++id) {
      const std::string name = fmt::format("name {}", id);
      const std::string note(id % 500 == 0 ? 30'000 : 10, 'n');
      const Value city = id % 3 == 0 ? Value() : Value("Rome");
      engine::test::RowStatements(*by, *people).insert({id, name, city}).require();
      engine::test::RowStatements(*by, *notes).insert({name, note}).require();
    }
    by->commit();
    while (database.checkpointer().step()) {
    }
  }
}

void abort_bulk(engine::Engine& database) {
  constexpr int kBulkRows = 500;
  const engine::TablePtr people = database.tables().find("people", nullptr);
  const auto by = database.begin();
  engine::Bulk bulk(database.transactions(), database.tables(), *by);
  for (int id = kRows; id < kRows + kBulkRows; ++id) {
    const std::string name = fmt::format("name {}", id);
    bulk.insert(*people, {id, name, "Oslo"}).require();
  }
  bulk.append_kept();
  bulk.let_go();
  by->rollback();
}

/// Changes of the trees of "people", in a transaction.
class Damage {
 public:
  explicit Damage(engine::Engine& database)
      : database_(database), by_(database.begin()), table_(*people().visible_to(nullptr)) {}

  void done() { by_->commit(); }

  void lose_entry(int id) { must(by_->remove(by_name(), name_entry(id)).existed); }
  void add_entry(int id) { must(!by_->insert(by_name(), name_entry(id), key(id)).existed); }
  void move_entry(int id, int other) {
    must(by_->update(by_name(), name_entry(id), key(other)).existed);
  }
  /// A row with the name of another one, and its entry in the other index.
  void add_twin(int id, int other) {
    const std::string name = fmt::format("name {}", other);
    const std::vector<Value> values{id, name, "Rome"};
    std::string row;
    format().rows().encode(values, row);
    must(!by_->insert(*table_.rows, key(id), row).existed);
    engine::KeyMemory memory;
    const std::string primary_key = key(id);
    const auto entry = format().indexes()[0].codec.encode(values, primary_key, memory);
    must(!by_->insert(*table_.indexes[0], entry.key, entry.value).existed);
  }
  void spoil_row(int id) { must(by_->update(*table_.rows, key(id), "xy").existed); }
  void spoil_record() { store("people", "no record"); }
  void share_tree() {
    engine::StoredTable stored = format().stored();
    stored.tree = database_.tables().find("notes", nullptr)->visible_to(nullptr)->rows->id();
    store("people", engine::encode_table(stored));
  }

 private:
  static void must(bool done) {
    if (!done) {
      throw Error(ErrorCode::invalid_argument, "the database is not as `make` has left it");
    }
  }
  [[nodiscard]] engine::TableState& people() { return *database_.tables().find("people", nullptr); }
  [[nodiscard]] const engine::TableFormat& format() const { return *table_.format; }
  [[nodiscard]] btree::BTree& by_name() { return *table_.indexes[kByName]; }
  [[nodiscard]] std::string key(int id) const {
    engine::KeyMemory memory;
    return std::string(format().keys().encode(std::vector<Value>{id}, memory));
  }
  [[nodiscard]] std::string name_entry(int id) const {
    engine::KeyMemory memory;
    const std::string name = fmt::format("name {}", id);
    const std::vector<Value> values{id, name, Value()};
    return std::string(format().indexes()[kByName].codec.encode(values, key(id), memory).key);
  }
  void store(const char* table, const std::string& record) {
    must(by_->update(*database_.find_tree(engine::kTablesTree), table, record).existed);
  }

  engine::Engine& database_;
  txn::TransactionPtr by_;
  const engine::TableDefinition& table_;
};

/// False if there is no such damage.
bool spoil(engine::Engine& database, std::string_view what) {
  Damage damage(database);
  if (what == "missing") {
    damage.lose_entry(7);
  } else if (what == "stray") {
    damage.add_entry(9000);
  } else if (what == "moved") {
    damage.move_entry(8, 9);
  } else if (what == "twins") {
    damage.add_twin(5000, 42);
  } else if (what == "row") {
    damage.spoil_row(11);
  } else if (what == "record") {
    damage.spoil_record();
  } else if (what == "tree") {
    damage.share_tree();
  } else {
    return false;
  }
  damage.done();
  return true;
}

int run(const std::string& path, std::string_view what) {
  const auto device = io::open_device(path, {.log = {}});
  const auto database = open(*device);
  if (what == "make") {
    define(*database);
    fill(*database);
  } else if (what == "drop") {
    const auto by = database->begin();
    database->tables().drop_index(*by, "people", "by_city").require();
    by->commit();
  } else if (what == "abort") {
    abort_bulk(*database);
  } else if (!spoil(*database, what)) {
    return 2;
  }
  database->close();
  return 0;
}

}  // namespace
}  // namespace palimpsest

int main(int argc, char** argv) {
  try {
    return argc == 3 ? palimpsest::run(argv[1], argv[2]) : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_tables: %s\n", error.what());
    return 1;
  }
}
