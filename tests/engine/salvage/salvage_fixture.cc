#include "tests/engine/salvage/salvage_fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <vector>

#include "base/aligned_memory.h"
#include "base/io/open_device.h"
#include "btree/large/large_value_format.h"
#include "btree/node/resolve_records.h"
#include "bulk/bulk_ledger.h"
#include "engine/catalog/definitions_audit.h"
#include "engine/catalog/stored_definitions.h"
#include "engine/format/value_text.h"
#include "engine/offline_database.h"

namespace palimpsest::test {
namespace {

using namespace palimpsest::types;

std::string text_of(const Value& value) {
  return value.kind() == ValueKind::bytes ? std::string(value.as_bytes()) : value.text();
}

void fill_people(Database& database) {
  const Table people = database.create_table(
      {.name = "people",
       .columns = {{"id", int64()}, {"name", varchar(60)}, {"city", nullable(varchar(40))}},
       .key = {"id"}});
  database.create_index("people", {.name = "by_city", .columns = {"city"}});
  database.create_index("people", {.name = "by_name", .columns = {"name"}, .unique = true});
  for (std::int64_t begin = 0; begin < 600; begin += 100) {
    database.run([&](Transaction& in) {
      for (std::int64_t id = begin; id < begin + 100; ++id) {
        const std::string name = fmt::format("the name of number {}", id);
        people.insert(in, {id, name, id % 3 == 0 ? Value() : Value("Rome")}).require();
      }
    });
  }
  people.erase_range(Range::between({100}, {160})).require();
  people.update({5}, {{"city", "Oslo"}}).require();
}

void fill_notes(Database& database) {
  const Table notes = database.create_table(key_value_table("notes"));
  database.run([&](Transaction& in) {
    for (std::size_t id = 0; id < 150; ++id) {
      const std::string note(id % 10 == 0 ? 9'000 + id : 20 + id, static_cast<char>('a' + id % 26));
      const std::string key = fmt::format("note {:03}", id);
      notes.insert(in, {key, note}).require();
    }
  });
}

void load_events(Database& database) {
  const Table events = database.create_table(
      {.name = "events", .columns = {{"at", int64()}, {"what", varchar(80)}}, .key = {"at"}});
  database.run(
      [&](Transaction& in) {
        for (std::int64_t at = 0; at < 2'000; ++at) {
          const std::string what = fmt::format("event number {} of them all", at);
          events.insert(in, {at, what}).require();
        }
      },
      {.transaction = {.bulk = true}});
  database.run([&](Transaction& in) { in.add_column("events", {"grade", int32()}, 7).require(); },
               {.transaction = {.bulk = true}});
}

/// Nothing is to be cleaned up then: leaves say for ever what the bulk has inserted.
void insert_in_place(Database& database) {
  const Table added = database.create_table(
      {.name = "added", .columns = {{"id", int64()}, {"text", varchar(40)}}, .key = {"id"}});
  const auto fill = [&](std::int64_t first, bool bulk) {
    database.run(
        [&](Transaction& in) {
          for (std::int64_t id = first; id < 300; id += 2) {
            added.insert(in, {id, bulk ? "by a bulk" : "before"}).require();
          }
        },
        {.transaction = {.bulk = bulk}});
  };
  fill(0, false);
  fill(1, true);
}

void change_in_place(Database& database) {
  const Table stock = database.create_table(
      {.name = "stock", .columns = {{"id", int64()}, {"pieces", int64()}}, .key = {"id"}});
  database.run([&](Transaction& in) {
    for (std::int64_t id = 0; id < 400; ++id) {
      stock.insert(in, {id * 2, id}).require();
    }
  });
  database.run(
      [&](Transaction& in) {
        for (std::int64_t id = 0; id < 400; id += 20) {
          stock.insert(in, {id * 2 + 1, -id}).require();
          stock.update(in, {id * 2}, {{"pieces", 1'000'000 + id}}).require();
          stock.erase(in, {id * 2 + 2}).require();
        }
      },
      {.transaction = {.bulk = true}});
}

/// The pages of a database that was closed, one after the other.
class PageOwners {
 public:
  explicit PageOwners(const std::string& directory)
      : device_(io::open_device(directory, {.log = {}})),
        closed_(*device_),
        memory_(closed_.file().page_size_bytes(), closed_.file().page_size_bytes()) {
    closed_.open_space();
    closed_.open_catalog(std::uint64_t{16} << 20U);
    const engine::DefinitionsAudit audit = engine::audit_definitions(closed_.catalog());
    for (const auto& table : audit.tables) {
      rows_[table->rows->id()] = table.get();
    }
    for (const txn::TreeCatalog::Entry& entry : closed_.catalog().entries()) {
      names_[entry.id] = entry.name;
    }
    for (std::uint64_t page = raw(closed_.file().first_page()); page < closed_.file().page_count();
         ++page) {
      if (closed_.space().is_allocated(PageId{page})) {
        look_at(page);
      }
    }
    for (const std::uint64_t page : of_bulks_) {
      found[page].rows.insert(changed_by_bulks_.begin(), changed_by_bulks_.end());
    }
  }

  std::map<std::uint64_t, OnPage> found;

 private:
  void look_at(std::uint64_t page) {
    closed_.file().read_page(PageId{page}, memory_.bytes());
    const btree::LeafView leaf(memory_.data(), closed_.file().page_size_bytes());
    if (!leaf.is_leaf()) {
      return;
    }
    const auto table = rows_.find(leaf.tree_id());
    const std::string name = names_.contains(leaf.tree_id()) ? names_.at(leaf.tree_id()) : "";
    if (table != rows_.end() || name == engine::kTablesTree) {
      found.try_emplace(page);
    }
    if (name == bulk::kBulksTree) {
      of_bulks_.push_back(page);
    }
    for (btree::SlotIndex slot = 0; slot < leaf.count(); ++slot) {
      btree::KeyBuffer key;
      leaf.copy_key(slot, key);
      if (name == engine::kTablesTree) {
        found[page].tables.emplace(key.view());
      } else if (table != rows_.end()) {
        row(page, leaf, slot, key.view(), *table->second->format);
      }
    }
  }
  void row(std::uint64_t page, const btree::LeafView& leaf, btree::SlotIndex slot, ByteView key,
           const engine::TableFormat& format) {
    const std::pair owned(format.schema().name, engine::text_of_key(format.keys(), key));
    found[page].rows.insert(owned);
    const btree::RecordState stored = btree::stored_in(leaf, slot);
    if (btree::has_virtual_version(leaf, slot)) {
      changed_by_bulks_.insert(owned);
    }
    if ((stored.flags & btree::kLargeValue) != 0) {
      const auto value = btree::LargeValueDescriptor::decode(btree::now_of(stored).value,
                                                             closed_.file().page_size_bytes());
      for (std::uint32_t block = 0; block < value.block_count(); ++block) {
        found[raw(value.page_of(block))].rows.insert(owned);
      }
    }
  }

  std::unique_ptr<io::Device> device_;
  engine::OfflineDatabase closed_;
  AlignedMemory memory_;
  std::map<TreeId, const engine::TableDefinition*> rows_;
  std::map<TreeId, std::string> names_;
  std::vector<std::uint64_t> of_bulks_;
  std::set<std::pair<std::string, std::string>> changed_by_bulks_;
};

}  // namespace

TableContent content_of(const Table& table) {
  const TableSchema schema = table.schema();
  TableContent content;
  for (Cursor cursor = table.cursor(); cursor.valid(); cursor.next()) {
    std::vector<Value> key;
    key.reserve(schema.key.size());
    for (const std::string& column : schema.key) {
      key.push_back(cursor.row()[column]);
    }
    std::string row;
    for (const ColumnDefinition& column : schema.columns) {
      row += text_of(cursor.row()[column.name]) + "|";
    }
    content[engine::text_of_values(key)] = row;
  }
  for (const IndexSchema& index : table.indexes()) {
    std::size_t entries = 0;
    for (auto cursor = table.index(index.name).cursor(); cursor.valid(); cursor.next()) {
      ++entries;
    }
    EXPECT_EQ(entries, content.size()) << schema.name << ", " << index.name;
  }
  return content;
}

Content content_of(Database& database) {
  Content content;
  for (const TableSchema& schema : database.tables()) {
    content[schema.name] = content_of(database.table(schema.name));
  }
  return content;
}

std::string difference(const Content& expected, const Content& found) {
  std::string text;
  for (const auto& [name, rows] : expected) {
    if (!found.contains(name)) {
      text += "no table " + name + "; ";
      continue;
    }
    int told = 0;
    for (const auto& [key, row] : rows) {
      const auto there = found.at(name).find(key);
      if (there == found.at(name).end() || there->second != row) {
        text += told++ < 3 ? fmt::format("{} {}: {}; ", name, key,
                                         there == found.at(name).end() ? "missing" : "another")
                           : "";
      }
    }
    for (const auto& [key, row] : found.at(name)) {
      text += !rows.contains(key) && told++ < 6 ? fmt::format("{} {}: too much; ", name, key) : "";
    }
  }
  for (const auto& [name, rows] : found) {
    text += expected.contains(name) ? "" : fmt::format("a table {} more; ", name);
  }
  return text;
}

Options small_options() {
  Options options;
  options.memory_bytes = std::uint64_t{16} << 20U;
  options.durability = Durability::asynchronous;
  return options;
}

void make_everything(Database& database) {
  const Table gone = database.create_table(key_value_table("gone"));
  database.run([&](Transaction& in) {
    for (int id = 0; id < 100; ++id) {
      const std::string key = fmt::format("{:03}", id);
      const std::string value(200, 'g');
      gone.insert(in, {key, value}).require();
    }
  });
  fill_people(database);
  fill_notes(database);
  database.drop_table("gone");
  load_events(database);
  change_in_place(database);
  insert_in_place(database);
  database.create_table(key_value_table("without rows"));
}

std::map<std::uint64_t, OnPage> pages_of(const std::string& directory) {
  return std::move(PageOwners(directory).found);
}

std::uint64_t root_of(const std::string& directory, const std::string& tree) {
  const auto device = io::open_device(directory, {.log = {}});
  engine::OfflineDatabase closed(*device);
  closed.open_space();
  closed.open_catalog(std::uint64_t{16} << 20U);
  for (const txn::TreeCatalog::Entry& entry : closed.catalog().entries()) {
    if (entry.name == tree) {
      return raw(entry.root);
    }
  }
  ADD_FAILURE() << "no tree " << tree;
  return 0;
}

Content without(const Content& content, const OnPage& lost) {
  Content left = content;
  for (const std::string& table : lost.tables) {
    left.erase(table);
  }
  for (const auto& [table, key] : lost.rows) {
    if (left.contains(table)) {
      left[table].erase(key);
    }
  }
  return left;
}

buffer::PageType DatabaseFiles::type_of(std::uint64_t page) const {
  const std::string bytes = read(page * kPageBytes, kPageBytes);
  return buffer::header_of(std::as_bytes(std::span(bytes))).type;
}

std::uint64_t DatabaseFiles::page_count() const {
  return std::filesystem::file_size(pages()) / kPageBytes;
}

std::string DatabaseFiles::read(std::uint64_t offset, std::size_t bytes) const {
  std::ifstream file(pages(), std::ios::binary);
  std::string found(bytes, '\0');
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(found.data(), static_cast<std::streamsize>(bytes));
  return found;
}

void DatabaseFiles::write(std::uint64_t offset, const std::string& bytes) const {
  std::fstream file(pages(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.flush();
  ASSERT_TRUE(file.good());
}

// A bit, all of it, or another page.
std::string DatabaseFiles::damage(std::uint64_t page) const {
  const std::string was = read(page * kPageBytes, kPageBytes);
  std::string is = was;
  switch (page % 3) {
    case 0: is[kPageBytes / 2] = static_cast<char>(is[kPageBytes / 2] ^ 0x20); break;
    case 1: is.assign(kPageBytes, '\0'); break;
    default: is = read((page - 1) * kPageBytes, kPageBytes); break;
  }
  write(page * kPageBytes, is);
  return was;
}

void DatabaseFiles::mend(std::uint64_t page, const std::string& what_was_there) const {
  write(page * kPageBytes, what_was_there);
}

Salvaged salvaged(const std::string& directory, const SalvageOptions& options) {
  const TemporaryDirectory parent{memory_file_system()};
  SalvageOptions with = options;
  with.memory_bytes = with.memory_bytes == 0 ? std::uint64_t{16} << 20U : with.memory_bytes;
  Salvaged result{.report = salvage(directory, parent.path("copy"), with), .content = {}};
  Database copy = Database::open(parent.path("copy"), small_options());
  result.content = content_of(copy);
  copy.close();
  return result;
}

}  // namespace palimpsest::test
