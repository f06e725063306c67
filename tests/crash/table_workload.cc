#include "tests/crash/table_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "palimpsest/error.h"

#include "engine/table/new_row.h"
#include "engine/table/table_reader.h"

namespace palimpsest::crash {
namespace {

using engine::NewRow;
using engine::TableReader;
using engine::TableWriter;
using txn::Durability;
using txn::Isolation;

constexpr const char* kTable = "rows";
/// With so many rows, nothing more is appended.
constexpr std::size_t kRowsMost = 800;

[[noreturn]] void mismatch(const std::string& what) {
  throw std::runtime_error("the table is not what the model says: " + what);
}

std::string key_of(int id) {
  return fmt::format("{:08}", id);
}

int id_of(const std::string& key) {
  return std::stoi(key);
}

/// Unique, as the index requires.
std::string name_of(int id, std::uint64_t variant) {
  return fmt::format("name {:06} {}", id, variant);
}

std::string value_of(const std::string& name, const std::string& body) {
  return name + "\n" + body;
}

Durability durability_of(bool synchronous) {
  return synchronous ? Durability::synchronous : Durability::asynchronous;
}

/// The changes from one content to the other.
std::vector<Change> changes_between(const Content& before, const Content& after) {
  std::vector<Change> changes;
  for (const auto& [key, value] : before) {
    if (!after.contains(key)) {
      changes.push_back({.tree = kStateOfTable, .key = key, .value = std::nullopt});
    }
  }
  for (const auto& [key, value] : after) {
    if (const auto old = before.find(key); old == before.end() || old->second != value) {
      changes.push_back({.tree = kStateOfTable, .key = key, .value = value});
    }
  }
  return changes;
}

}  // namespace

std::optional<Content> rows_of(engine::Engine& database, txn::Transaction* by) {
  const engine::TablePtr table = database.tables().find(kTable, by);
  if (table == nullptr) {
    return std::nullopt;
  }
  Content rows;
  const auto add = [&](const RowView& row) {
    rows.emplace(
        key_of(static_cast<int>(row["id"].as_integer())),
        value_of(std::string(row["name"].as_bytes()), std::string(row["body"].as_bytes())));
    return true;
  };
  TableReader(by, *table).visit(Range::all(), add, Direction::forward);
  return rows;
}

void TableWorkload::open(engine::Engine& database) {
  database_ = &database;
  table_ = database.tables().find(kTable, nullptr);
}

void TableWorkload::close() noexcept {
  open_.reset();
  table_.reset();
  database_ = nullptr;
}

// A step's work may be too much for a log as small as the campaign's: the background thread would
// also retry the rest.
bool TableWorkload::sweep() {
  try {
    const bool swept = database_->bulk_sweep().step();
    return database_->tree_pool().step() || swept;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::transaction_too_old) {
      throw;
    }
    return true;
  }
}

// A call may be too much for a log as small as the campaign's: then nothing of it is there.
void TableWorkload::step(bool is_watched, FunctionRef<void()> end_other_transactions) {
  try {
    try_step(is_watched, end_other_transactions);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::transaction_too_old) {
      throw;
    }
  }
}

void TableWorkload::try_step(bool is_watched, FunctionRef<void()> end_other_transactions) {
  if (table_ == nullptr) {
    end_other_transactions();
    make_table();
  } else if (!open_) {
    if (random_.one_in(2)) {
      end_other_transactions();
      begin_bulk();
    } else {
      write_rows(is_watched);
    }
  } else if (random_.one_in(4)) {
    end_bulk();
  } else if (random_.one_in(8)) {
    write_rows(is_watched);
  } else if (random_.one_in(8)) {
    look();
  } else {
    change_in_bulk();
  }
}

void TableWorkload::make_table() {
  using namespace palimpsest::types;
  history_->committing({{.tree = kStateOfTable, .key = "", .value = std::nullopt}});
  const auto by = database_->begin(Durability::synchronous, Isolation::read_committed);
  engine::TableCatalog& tables = database_->tables();
  tables
      .create_table(*by,
                    {.name = kTable,
                     .columns = {{"id", int32()}, {"name", varchar(100)}, {"body", varchar(4000)}},
                     .key = {"id"}})
      .require();
  tables.create_index(*by, kTable, {.name = "by_name", .columns = {"name"}, .unique = true})
      .require();
  by->commit();
  history_->acknowledge();
  table_ = tables.find(kTable, nullptr);
  now_[kStateOfTable];
}

// Bulks

void TableWorkload::begin_bulk() {
  Open open;
  open.synchronous = !random_.one_in(3);
  // A snapshot might be cancelled to free the log.
  open.by = database_->begin(durability_of(open.synchronous), Isolation::read_committed);
  open.bulk =
      std::make_unique<engine::Bulk>(database_->transactions(), database_->tables(), *open.by);
  open.rows = table_now();
  // There is no such row; but from now on no other transaction writes to the table.
  const auto erase = [](const TableWriter& writes) { return writes.erase({-1}); };
  if (open.bulk->write(*table_, erase).kind() != OutcomeKind::absent) {
    mismatch("a bulk does not get a table without other writers");
  }
  open_ = std::move(open);
  change_in_bulk();
}

void TableWorkload::change_in_bulk() {
  if (random_.one_in(4) && open_->rows.size() < kRowsMost) {
    append();
  } else if (random_.one_in(5)) {
    erase_some();
  } else {
    const auto write = [&](Write call) { return open_->bulk->write(*table_, call); };
    for (std::uint64_t count = 1 + random_.below(20); count > 0; --count) {
      if (!change_one(open_->rows, write)) {
        mismatch("a bulk that is alone has a conflict");
      }
    }
  }
}

/// Adjacent ones, so that leaves become empty.
void TableWorkload::erase_some() {
  auto row = open_->rows.lower_bound(key_of(static_cast<int>(random_.below(ids_))));
  for (std::uint64_t count = 1 + random_.below(60); count > 0 && row != open_->rows.end();
       --count) {
    const int id = id_of(row->first);
    make_room_();
    open_->bulk->write(*table_, [&](const TableWriter& writes) { return writes.erase({id}); })
        .require();
    row = open_->rows.erase(row);
  }
}

/// In ascending order, behind all. Where an aborted bulk has left ghosts they are inserted instead.
void TableWorkload::append() {
  Content appended = open_->rows;
  const auto definition = table_->visible_to(open_->by.get());
  std::vector<std::pair<std::string, std::string>> bytes;
  int id = appended.empty() ? 0 : id_of(appended.rbegin()->first) + 1;
  const std::size_t enough = appended_bytes_ - random_.below(appended_bytes_ / 4);
  for (std::size_t sum = 0; sum < enough; ++id) {
    const std::string name = name_of(id, random_.below(100));
    const std::string body(700 + random_.below(200), static_cast<char>('a' + random_.below(26)));
    const NewRow row(*definition, Values{id, std::string_view(name), std::string_view(body)});
    bytes.emplace_back(row.key(), row.bytes());
    appended[key_of(id)] = value_of(name, body);
    sum += row.bytes().size();
  }
  std::vector<EncodedRow> rows;
  rows.reserve(bytes.size());
  for (const auto& [key, value] : bytes) {
    rows.push_back(EncodedRow::of(key, value));
  }
  make_room_();
  open_->bulk->insert_many(*table_, rows).require();
  open_->rows = std::move(appended);
}

void TableWorkload::end_bulk() {
  Open& open = *open_;
  if (random_.one_in(3)) {
    random_.one_in(2) ? open.by->rollback() : open.by.reset();
  } else {
    open.bulk->append_kept();
    make_room_();
    commit(open.rows, open.synchronous, [&] {
      open.bulk->publish();
      open.by->commit();
    });
  }
  open_.reset();
}

// Ordinary transactions

void TableWorkload::write_rows(bool is_watched) {
  // Where a bulk has replaced a large value, writers wait until every snapshot is known to see the
  // bulk.
  database_->bulk_epochs().retire(database_->transactions().horizon());
  const bool synchronous = !random_.one_in(3);
  const auto by = database_->begin(durability_of(synchronous), Isolation::read_committed);
  const auto write = [&](Write call) { return TableWriter::statement(*by, *table_, call); };
  Content rows = table_now();
  for (std::uint64_t count = 1 + random_.below(8); count > 0; --count) {
    if (!change_one(rows, write)) {
      if (!open_ && !is_watched) {
        mismatch("a conflict without another writer");
      }
      by->rollback();
      return;
    }
  }
  if (open_) {
    mismatch("a write to what a bulk has is no conflict");
  }
  if (random_.one_in(4)) {
    by->rollback();
  } else {
    commit(rows, synchronous, [&] { by->commit(); });
  }
}

void TableWorkload::look() {
  if (const auto rows = rows_of(*database_, nullptr); rows != table_now()) {
    mismatch("other transactions see a bulk that is open");
  }
  open_->bulk->append_kept();
  if (const auto rows = rows_of(*database_, open_->by.get()); rows != open_->rows) {
    mismatch("a bulk does not see what it has done");
  }
}

/// False: a conflict.
bool TableWorkload::change_one(Content& rows, FunctionRef<Outcome(Write)> write) {
  make_room_();
  const int id = static_cast<int>(random_.below(ids_));
  const std::string name = name_of(id, random_.below(100));
  const std::string body = some_body();
  const bool is_there = rows.contains(key_of(id));
  OutcomeKind expected = is_there ? OutcomeKind::done : OutcomeKind::absent;
  Outcome outcome;
  const auto dice = random_.below(5);
  const std::array<Value, 3> columns{id, std::string_view(name), std::string_view(body)};
  const Values row(columns);
  if (dice == 0) {
    expected = is_there ? OutcomeKind::exists : OutcomeKind::done;
    outcome = write([&](const TableWriter& writes) { return writes.insert(row); });
  } else if (dice == 1) {
    expected = OutcomeKind::done;
    outcome = write([&](const TableWriter& writes) { return writes.upsert(row); });
  } else if (dice == 2) {
    outcome = write([&](const TableWriter& writes) { return writes.erase({id}); });
  } else {
    outcome = write([&](const TableWriter& writes) {
      return writes.update({id},
                           {{"name", std::string_view(name)}, {"body", std::string_view(body)}});
    });
  }
  if (outcome.is_conflict()) {
    return false;
  }
  if (outcome.kind() != expected) {
    mismatch(fmt::format("a change of kind {} of row {}", dice, id));
  }
  if (outcome && dice == 2) {
    rows.erase(key_of(id));
  } else if (outcome) {
    rows[key_of(id)] = value_of(name, body);
  }
  return true;
}

void TableWorkload::commit(const Content& rows, bool synchronous, FunctionRef<void()> commit) {
  std::vector<Change> changes = changes_between(table_now(), rows);
  const bool is_changed = !changes.empty();
  if (is_changed) {
    history_->committing(std::move(changes));
  }
  try {
    commit();
  } catch (const Error& error) {
    mismatch(std::string("a commit is refused: ") + error.what());  // and the history has it
  }
  if (is_changed && synchronous) {
    history_->acknowledge();
  }
  table_now() = rows;
}

Content& TableWorkload::table_now() {
  return now_[kStateOfTable];
}

std::string TableWorkload::some_body() {
  const std::size_t bytes = random_.one_in(25)  ? 1200 + random_.below(2500)
                            : random_.one_in(3) ? random_.below(900)
                                                : random_.below(60);
  return std::string(bytes, static_cast<char>('a' + random_.below(26)));
}

}  // namespace palimpsest::crash
