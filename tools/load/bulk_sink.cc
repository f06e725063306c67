#include "tools/load/bulk_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "palimpsest/error.h"
#include "palimpsest/row_encoder.h"

#include "tools/load/interrupt.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

/// Rows that go into the table together, and the bytes of fewer that are long.
constexpr std::size_t kRowsAtATime = 256;
constexpr std::size_t kBytesAtATime = std::size_t{1} << 20U;
/// One row of so many that is out of order shows that they are in none.
constexpr std::uint64_t kOrderedMin = 16;
/// Rows that are looked at together for that.
constexpr std::uint64_t kWindowRows = 4096;

std::string text_of(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

class TableRows : public RowCoder {
 public:
  explicit TableRows(const Table& table) : table_(table), encode_(table) {}

  EncodedRow row_of(std::span<const Value> values) override { return encode_(Values(values)); }
  std::optional<RowWriter> writer() const override { return RowWriter::of(table_); }

 private:
  Table table_;
  RowEncoder encode_;
};

Transaction begin_bulk(Database& database) {
  return database.begin(
      {.durability = Durability::synchronous, .isolation = Isolation::none, .bulk = true});
}

Table table_in(Transaction& bulk, const TableText& definition, bool makes_table) {
  if (makes_table) {
    bulk.create_table(definition.table).require();
    for (const IndexSchema& index : definition.indexes) {
      bulk.create_index(definition.table.name, index).require();
    }
  }
  return bulk.table(definition.table.name);
}

}  // namespace

BulkSink::BulkSink(Database& database, const TableText& table, const BulkSinkOptions& options,
                   RowOutcomes& outcomes, StageClock& clock)
    : definition_(table),
      options_(options),
      outcomes_(outcomes),
      clock_(clock),
      transaction_(begin_bulk(database)),
      table_(table_in(transaction_, table, options.makes_table)),
      is_decided_(!options.may_sort) {
  if (keeps_rows()) {
    is_decided_ = true;
    begin_sort();
  }
}

std::unique_ptr<RowCoder> BulkSink::coder() {
  return std::make_unique<TableRows>(table_);
}

void BulkSink::put(const EncodedRow& row, const RowOrigin& origin) {
  if (sort_) {
    sort_or_insert(row, encoded(origin));
    return;
  }
  watch_order(row);
  if (!is_decided_) {
    keep(row, encoded(origin));
    return;
  }
  rows_.push_back(row);
  views_.push_back(origin);
  bytes_in_views_ += row.key.size() + row.bytes.size();
  if (rows_.size() == kRowsAtATime || bytes_in_views_ >= kBytesAtATime) {
    put_views();
  }
}

std::string_view BulkSink::encoded(const RowOrigin& origin) {
  origin_.clear();
  origin.encode(origin_);
  return origin_;
}

void BulkSink::watch_order(const EncodedRow& row) {
  if (looked_at_ == kWindowRows) {
    looked_at_ = 0;
    disordered_ = 0;
  }
  ++looked_at_;
  if (row.key > last_key_) {
    last_key_.assign(row.key);
  } else {
    ++disordered_;
  }
}

void BulkSink::keep(const EncodedRow& row, std::string_view origin) {
  bytes_.append(row.key).append(row.bytes).append(origin);
  kept_.push_back({.key = row.key.size(), .bytes = row.bytes.size(), .origin = origin.size()});
  if (kept_.size() == kRowsAtATime || bytes_.size() >= kBytesAtATime) {
    put_kept();
  }
}

// What is sorted later can be appended only behind all that is there by then: nothing is put there
// before it is clear whether rows are sorted.
void BulkSink::flush() {
  if (is_decided_) {
    put_kept();
    put_views();
  }
}

void BulkSink::let_go() {
  put_views();
}

// Rows in order are inserted from where their batch has them, and not copied.
void BulkSink::put_views() {
  if (views_.empty()) {
    return;
  }
  stop_if_interrupted();
  if (!begins_to_sort()) {
    insert_rows();
  } else {
    for (std::size_t number = 0; number < rows_.size(); ++number) {
      sort_or_insert(rows_[number], encoded(views_[number]));
    }
  }
  rows_.clear();
  views_.clear();
  bytes_in_views_ = 0;
}

/// Whether too many of the rows so far were in no order, so that these and all that follow are
/// sorted.
bool BulkSink::begins_to_sort() {
  if (sort_ || !options_.may_sort || disordered_ * kOrderedMin <= looked_at_) {
    return false;
  }
  begin_sort();
  return true;
}

void BulkSink::put_kept() {
  stop_if_interrupted();
  is_decided_ = true;
  if (kept_.empty()) {
    return;
  }
  std::string_view rest = bytes_;
  const auto take = [&](std::size_t size) {
    return std::exchange(rest, rest.substr(size)).substr(0, size);
  };
  for (const Kept& kept : kept_) {
    const std::string_view key = take(kept.key);
    rows_.push_back(EncodedRow::of(key, take(kept.bytes)));
    origins_.push_back(take(kept.origin));
  }
  if (begins_to_sort()) {
    for (std::size_t number = 0; number < rows_.size(); ++number) {
      sort_or_insert(rows_[number], origins_[number]);
    }
  } else {
    insert_rows();
  }
  rows_.clear();
  origins_.clear();
  kept_.clear();
  bytes_.clear();
}

void BulkSink::begin_sort() {
  sort_.emplace(table_, options_.sort);
  if (options_.space) {
    space_.emplace(*options_.space);
  }
}

void BulkSink::sort_or_insert(const EncodedRow& row, std::string_view origin) {
  if (row.key.size() + row.bytes.size() + origin.size() <= sort_->row_bytes_max()) {
    sort_->add(row, origin);
    unsaved_bytes_ += keeps_rows() ? row.key.size() + row.bytes.size() + origin.size() : 0;
    if (space_) {
      space_->added(*sort_, row, origin.size(), RowOrigin::decode(origin));
    }
  } else if (keeps_rows()) {
    throw UsageError(
        fmt::format("a row of {} bytes is too long for --resume with so little --memory",
                    row.key.size() + row.bytes.size()));
  } else {
    insert_one(row, RowOrigin::decode(origin));
  }
}

std::string BulkSink::save() {
  unsaved_bytes_ = 0;
  return sort_->save();
}

// All of them, or one after the other to see which cannot be inserted.
void BulkSink::insert_rows() {
  const InStage writing(clock_, Stage::writing);
  const auto insert_all = [&] {
    try {
      return table_.insert_many(transaction_, rows_).is_done();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) {
        throw;
      }
      return false;
    }
  };
  if (insert_all()) {
    outcomes_.done(PutResult::added, rows_.size());
  } else {
    for (std::size_t number = 0; number < rows_.size(); ++number) {
      insert_one(rows_[number],
                 views_.empty() ? RowOrigin::decode(origins_[number]) : views_[number]);
    }
  }
}

void BulkSink::insert_one(const EncodedRow& row, const RowOrigin& origin) {
  try {
    const Outcome outcome = table_.insert(transaction_, row);
    if (outcome.kind() == OutcomeKind::exists) {
      put_duplicate(outcome, row, origin);
      return;
    }
    outcome.require();
    outcomes_.done(PutResult::added, 1);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) {
      throw;
    }
    refuse_range(error, origin);  // an index does not take it
  }
}

void BulkSink::put_duplicate(const Outcome& outcome, const EncodedRow& row,
                             const RowOrigin& origin) {
  switch (options_.on_duplicate) {
    case OnDuplicate::skip: outcomes_.done(PutResult::skipped, 1); return;
    case OnDuplicate::error: refuse_duplicate(outcome, origin); return;
    case OnDuplicate::replace: break;
  }
  const Outcome replaced = table_.upsert(transaction_, row);
  if (replaced.kind() == OutcomeKind::exists) {
    refuse_duplicate(replaced, origin);
    return;
  }
  replaced.require();
  outcomes_.done(PutResult::replaced, 1);
}

void BulkSink::refuse_duplicate(const Outcome& outcome, const RowOrigin& origin) {
  const Outcome::Place& place = outcome.place();
  Fault fault;
  fault.kind = FaultKind::duplicate;
  fault.shown = place.key;
  if (place.index.empty()) {
    fault.column = text_of(definition_.table.key);
    fault.reason = "a row with this key is there";
  } else {
    const auto index = std::ranges::find(definition_.indexes, place.index, &IndexSchema::name);
    fault.column = index == definition_.indexes.end() ? "" : text_of(index->columns);
    fault.reason =
        fmt::format("a row with these values is in the unique index {}", in_quotes(place.index));
  }
  outcomes_.refused(std::move(fault), origin);
}

void BulkSink::refuse_range(const Error& error, const RowOrigin& origin) {
  Fault fault;
  fault.kind = FaultKind::range;
  fault.reason = error.what();
  outcomes_.refused(std::move(fault), origin);
}

void BulkSink::end() {
  put_kept();
  if (!sort_) {
    return;
  }
  const InStage sorting(clock_, Stage::sorting);
  if (space_) {
    space_->ended(*sort_);
  }
  sort_->finish();
  while (outcomes_.goes_on() && sort_->next()) {
    keep(sort_->row(), sort_->note());
  }
  put_kept();
  sort_.reset();
}

void BulkSink::finish() {
  transaction_.commit();
}

}  // namespace palimpsest::load
