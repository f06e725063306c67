#include "engine/api/bulk_rows.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "bulk/append.h"
#include "engine/table/encoded_keys.h"
#include "engine/table/new_row.h"

namespace palimpsest::engine {
namespace {

/// Attempts at a call that has to give way to other transactions before it has changed anything.
constexpr int kAttempts = 100;

std::size_t bytes_of(std::span<const btree::NewRecord> records) noexcept {
  std::size_t bytes = 0;
  for (const btree::NewRecord& record : records) {
    bytes += record.key.size() + record.value.size();
  }
  return bytes;
}

}  // namespace

Outcome Bulk::create_table(const TableSchema& schema) {
  require_open();
  return tables_.create_table(by_, schema, commit_status_);
}

Outcome Bulk::create_index(std::string_view table, const IndexSchema& schema) {
  require_open();
  append_kept();
  return tables_.create_index(by_, table, schema, commit_status_);
}

Outcome Bulk::alter_table(std::string_view table, AlterSchema to, const ConvertRow* convert) {
  require_open();
  append_kept();
  return tables_.alter_table(by_, table, to, convert, commit_status_);
}

Outcome Bulk::make_own(const TableState& table) {
  require_open();
  return tables_.make_own(by_, table, commit_status_);
}

void Bulk::publish() {
  require_whole();
  if (!is_published_) {
    append_kept();
    tables_.publish(by_).require();
    is_published_ = true;
  }
}

void Bulk::let_go() noexcept {
  sent_.run.reset();
  sent_.records.give_back();
  writer_.reset();
  kept_.clear();
}

std::size_t Bulk::kept_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& [table, rows] : kept_) {
    bytes += rows.memory_bytes();
  }
  return bytes;
}

Outcome Bulk::write(const TableState& table, FunctionRef<Outcome(const TableWriter&)> write) {
  if (Outcome own = make_own(table); !own) {
    return own;
  }
  append_kept_of(table);
  return call(table, write);
}

Outcome Bulk::insert(const TableState& table, const Values& row) {
  return insert_row(table, row);
}

Outcome Bulk::insert(const TableState& table, const EncodedRow& row) {
  return insert_row(table, row);
}

template <class Row>
Outcome Bulk::insert_row(const TableState& table, const Row& row) {
  if (Outcome own = make_own(table); !own) {
    return own;
  }
  const NewRow made(*table.visible_to(&by_), row);
  const std::array records{btree::NewRecord{.key = made.key(), .value = made.bytes()}};
  if (bulk::AscendingRowBuffer& rows = kept_[&table]; can_keep(table, rows, records)) {
    return keep(table, rows, records);
  }
  return write(table, [&](const TableWriter& writer) { return writer.insert(row); });
}

Outcome Bulk::insert_many(const TableState& table, std::span<const EncodedRow> rows) {
  if (Outcome own = make_own(table); !own || rows.empty()) {
    return own;
  }
  std::vector<btree::NewRecord> records;
  records.reserve(rows.size());
  for (const EncodedRow& row : rows) {
    records.push_back(record_of(*table.visible_to(&by_), row));
  }
  if (bulk::AscendingRowBuffer& kept = kept_[&table]; can_keep(table, kept, records)) {
    return keep(table, kept, records);
  }
  return write(table, [&](const TableWriter& writer) { return writer.insert_many(rows); });
}

/// Whether the rows can be appended behind those that are buffered, or behind all rows of the
/// table.
bool Bulk::can_keep(const TableState& table, bulk::AscendingRowBuffer& rows,
                    std::span<const btree::NewRecord> records) {
  const btree::BTree& tree = *table.visible_to(&by_)->rows;
  if (!rows.ascend(records) || !tree.lie_in_leaves(records)) {
    return false;
  }
  if (rows.empty() && !by_.hold([&] { return tree.is_beyond_end(records.front().key); })) {
    rows.begin_run();
    return false;
  }
  return true;
}

// First does what can be refused, and what may fail because of rows of earlier calls; then inserts
// the entries of the rows, in one call: entries must not stay without all of their rows.
Outcome Bulk::keep(const TableState& table, bulk::AscendingRowBuffer& rows,
                   std::span<const btree::NewRecord> records) {
  const std::size_t bytes = bytes_of(records);
  if (!rows.has_room_for(bytes)) {
    send_kept(table, rows);
  }
  const bool is_kept = rows.has_room_for(bytes);
  if (is_kept) {
    if (!rows.has_memory_for(bytes) && kept_bytes() >= kKeptBytesMax) {
      append_others(rows);
    }
    rows.expect(records.size(), bytes);
  } else {
    await_sent();
  }
  if (!table.visible_to(&by_)->indexes.empty()) {
    Outcome entered =
        call(table, [&](const TableWriter& writer) { return writer.insert_entries(records); });
    if (!entered) {
      return entered;
    }
  }
  if (!is_kept) {
    append_at_once(table, records);
    return {};
  }
  for (const btree::NewRecord& record : records) {
    rows.add(record);
  }
  return {};
}

void Bulk::append_kept() {
  await_sent();
  for (auto& [table, rows] : kept_) {
    append_kept(*table, rows);
  }
}

void Bulk::append_kept_of(const TableState& table) {
  if (const auto kept = kept_.find(&table); kept != kept_.end()) {
    append_kept(table, kept->second);
  }
}

/// Appends the buffered rows of the other tables, and frees their memory.
void Bulk::append_others(const bulk::AscendingRowBuffer& rows) {
  for (auto& [table, others] : kept_) {
    if (&others != &rows) {
      append_kept(*table, others);
      others.give_memory_back();
    }
  }
}

void Bulk::append_kept(const TableState& table, bulk::AscendingRowBuffer& rows) {
  await_sent();
  std::size_t done = 0;
  try {
    append(table, rows.records(), done);
  } catch (...) {
    rows.drop(done);
    rows.begin_run();
    throw;
  }
  rows.clear();
}

/// Sends a full buffer: while its leaves are written, the next rows are collected. A call that gave
/// way before it committed has begun a run; that run ends before the call is repeated, because the
/// writer has one at a time.
void Bulk::send_kept(const TableState& table, bulk::AscendingRowBuffer& rows) {
  await_sent();
  sent_.table = &table;
  rows.swap_records(sent_.records);
  const auto begin = [&](btree::BTree& tree, const btree::WriteContext& by) {
    sent_.run.reset();
    sent_.run = bulk::begin_append(tree, by, sent_.records.records(), writer_of(table));
  };
  try {
    call(table, [&](const TableWriter& writer) { return writer.append(begin); }).require();
  } catch (...) {
    rows.begin_run();
    throw;
  }
  if (sent_.run == nullptr) {
    await_sent();
  }
}

// A run that failed is not used again: a call that gave way is repeated without it.
void Bulk::await_sent() {
  if (sent_.records.empty()) {
    return;
  }
  const TableState& table = *sent_.table;
  std::size_t done = 0;
  const auto end = [&](btree::BTree& tree, const btree::WriteContext& by) {
    if (const auto run = std::exchange(sent_.run, nullptr)) {
      bulk::end_append(tree, by, *run, done);
    }
  };
  try {
    if (sent_.run != nullptr) {
      call(table, [&](const TableWriter& writer) { return writer.append(end); }).require();
    }
    append(table, sent_.records.records(), done);
  } catch (...) {
    sent_.records.drop(done);
    kept_[&table].begin_run();
    throw;
  }
  sent_.records.clear();
}

bulk::LeafWriter& Bulk::writer_of(const TableState& table) {
  if (!writer_) {
    writer_.emplace(table.visible_to(&by_)->rows->descent().pool());
  }
  return *writer_;
}

/// For more rows than a buffer holds.
void Bulk::append_at_once(const TableState& table, std::span<const btree::NewRecord> records) {
  const bool has_entries = !table.visible_to(&by_)->indexes.empty();
  std::size_t done = 0;
  try {
    append(table, records, done);
  } catch (...) {
    is_broken_ = is_broken_ || has_entries || done != 0;
    throw;
  }
}

// Where the last leaf is completely full, nothing can be appended before it is split: then a few
// rows are inserted first. A short rest is inserted in any case.
void Bulk::append(const TableState& table, std::span<const btree::NewRecord> records,
                  std::size_t& done) {
  constexpr std::size_t kInsertedAtOnce = 16;
  while (done < records.size()) {
    const std::span rest = records.subspan(done);
    const std::size_t before = done;
    if (btree::is_worth_a_run(rest)) {
      const auto work = [&](btree::BTree& tree, const btree::WriteContext& by) {
        bulk::append(tree, by, rest, writer_of(table), done);
      };
      call(table, [&](const TableWriter& writer) { return writer.append(work); }).require();
    }
    if (done == before) {
      const std::span some = rest.first(std::min(rest.size(), kInsertedAtOnce));
      call(table, [&](const TableWriter& writer) { return writer.insert_records(some); }).require();
      done += some.size();
    }
  }
}

ErasedRange Bulk::erase_range(const TableState& table, const Range& range) {
  ErasedRange erased;
  if (erased.outcome = make_own(table); !erased.outcome) {
    return erased;
  }
  append_kept_of(table);
  const TableDefinition& definition = *table.visible_to(&by_);
  const EncodedRange encoded({*definition.format, *definition.rows}, range);
  std::string from(encoded.keys().lower);
  try {
    for (bool is_done = false; !is_done;) {
      std::string next;
      erased.outcome =
          erase_part(table, {.lower = from, .upper = encoded.keys().upper}, erased.rows, next);
      is_done = !erased.outcome || next.empty();
      from = std::move(next);
    }
  } catch (...) {
    is_broken_ = is_broken_ || erased.rows != 0;
    throw;
  }
  if (!erased.outcome) {
    is_broken_ = is_broken_ || std::exchange(erased.rows, 0) != 0;
  }
  return erased;
}

// Parts that were deleted a leaf at a time stay deleted, even if the call has to give way; the rest
// is started again.
Outcome Bulk::erase_part(const TableState& table, const btree::KeyRange& range, std::uint64_t& rows,
                         std::string& next) {
  for (int attempt = 1;; ++attempt) {
    std::uint64_t part = 0;
    try {
      Outcome outcome = call(
          table, [&](const TableWriter& writer) { return writer.erase_some(range, part, next); });
      rows += part;
      return outcome;
    } catch (const Error& error) {
      const bool is_left =
          table.bulk_view(&by_) != nullptr && table.visible_to(&by_)->indexes.empty();
      const bool has_gone_on = is_left && part != 0;
      rows += has_gone_on ? part : 0;
      attempt = has_gone_on ? 0 : attempt;
      if (error.code() != ErrorCode::transaction_too_old || attempt == kAttempts) {
        throw;
      }
    }
  }
}

// If the call succeeds, the changes of its own transaction stay; otherwise they are undone. Either
// way they belong to the bulk, as no other transaction changes these trees meanwhile.
Outcome Bulk::call(const TableState& table, FunctionRef<Outcome(const TableWriter&)> write) {
  require_whole();
  return by_.hold([&] {
    for (int attempt = 1;; ++attempt) {
      const txn::TransactionPtr call =
          transactions_.begin(txn::Durability::asynchronous, txn::Isolation::none);
      try {
        return call_once(table, write, *call);
      } catch (const Error& error) {
        const bool gave_way = error.code() == ErrorCode::transaction_too_old && !call->has_logged();
        if (!gave_way || attempt == kAttempts) {
          throw;
        }
      }
    }
  });
}

Outcome Bulk::call_once(const TableState& table, FunctionRef<Outcome(const TableWriter&)> write,
                        txn::Transaction& by) {
  by.work_for(by_);
  by.write_alone(table.bulk_view(&by_));
  Outcome outcome = TableWriter::statement(by, table, by_, write);
  PALIMPSEST_SYNC_POINT("engine.bulk.called");
  by.commit();
  return outcome;
}

void Bulk::require_whole() const {
  if (is_broken_) {
    throw Error(
        ErrorCode::failed,
        "a call of this bulk transaction failed half-way: the transaction can only be rolled back");
  }
}

// After publish(), the definitions already state what the commit makes visible.
void Bulk::require_open() const {
  require_whole();
  if (is_published_) {
    throw Error(ErrorCode::failed,
                "the commit of this bulk transaction failed: it can only be committed again or "
                "rolled back");
  }
}

}  // namespace palimpsest::engine
