#include "engine/table/table_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "btree/key_places.h"
#include "btree/node/key_bytes.h"
#include "btree/range_estimate.h"
#include "engine/table/key_list.h"
#include "engine/table/row_copies.h"
#include "engine/table/row_messages.h"
#include "engine/table/row_visit.h"

namespace palimpsest::engine {
namespace {

void note_reads(const TableReader& reader, std::span<const ByteView> keys) {
  if (reader.read_set() != nullptr) [[unlikely]] {
    for (const ByteView key : keys) {
      reader.note_read(reader.rows(), key);
    }
  }
}

bool has_null(const Key& key) noexcept {
  return std::ranges::any_of(key.values(), &Value::is_null);
}

}  // namespace

// The scope

TableReader::TableReader(const ReadableTable& of, txn::Transaction* in, Reads reads)
    : of_(of), in_(in) {
  const bool is_one_read = reads == Reads::one_row || reads == Reads::range;
  if (in != nullptr) {
    if (in->isolation() == txn::Isolation::read_committed && !is_one_read) {
      own_ = in->begin_view();
      view_ = own_.get();
    }
  } else if (of.transactions != nullptr) {
    is_stable_enough_ = reads == Reads::one_row;
    if (!is_stable_enough_) {
      take_snapshot();
    }
  }
  find_definition();
  if (reads == Reads::range || reads == Reads::cursor) {
    keep();
  }
}

void TableReader::take_snapshot() {
  own_ = of_.transactions->begin(txn::Durability::asynchronous, txn::Isolation::snapshot,
                                 txn::SnapshotUse::reads);
  in_ = own_.get();
}

void TableReader::find_definition() {
  life_ = in_ == nullptr ? 0 : in_->life();
  bulk_ = of_.table->bulk_view(in_);
  look_up_definition();
  if (definition_ == nullptr || !rows_are_current()) [[unlikely]] {
    if (has_snapshot()) {
      confirm_view();  // if its past is gone it may have found another definition, or none
    }
  }
  if (definition_ == nullptr) [[unlikely]] {
    refuse_missing_table(*of_.table);
  }
}

void TableReader::look_up_definition() {
  const TableDefinition* const kept = of_.kept;
  const bool spares_call = kept != nullptr && (is_stable_enough_ || has_snapshot());
  if (spares_call && of_.table->visible_to(in_) == kept && kept->is_seen_by(read_view()))
      [[likely]] {
    definition_ = kept;
    return;
  }
  call_ = of_.table->calls().enter();
  PALIMPSEST_SYNC_POINT("engine.definition.call_entered");
  definition_ = of_.table->seen_by(in_, read_view());
  PALIMPSEST_SYNC_POINT("engine.definition.looked");
}

// In this order, so that the definition and its trees are protected before the call is left.
void TableReader::keep() {
  if (kept_ != nullptr) {
    return;
  }
  kept_ = definition_->shared_from_this();
  if (!has_snapshot()) {
    waited_for_ = TreesReader(definition_->life);
  }
  call_.leave();
}

void TableReader::refuse_ended() {
  throw Error(ErrorCode::invalid_argument, "the transaction of this reader has ended");
}

void TableReader::refuse_missing_index(std::string_view name) const {
  throw Error(ErrorCode::not_found,
              fmt::format("table \"{}\" has no index \"{}\"", of_.table->name(), name));
}

// Rows that were removed before `since` have no entry in the index, but older snapshots see them.
std::size_t TableReader::require_index(std::string_view name) const {
  const std::size_t number = format().require_index(name);
  const Gsn since = definition_->index_lives[number]->since.load(std::memory_order_relaxed);
  if (const versioning::ReadView* const read_view = this->read_view();
      read_view != nullptr && read_view->snapshot < since) [[unlikely]] {
    throw Error(ErrorCode::not_found,
                fmt::format("table \"{}\" had no index \"{}\" when the transaction began",
                            of_.table->name(), name));
  }
  return number;
}

// The first check is for the definer, which drops a table before it is gone for other transactions.
bool TableReader::still_has_rows() const noexcept {
  return of_.table->visible_to(in_) != nullptr &&
         !definition_->life->are_gone.load(std::memory_order_acquire);
}

// As still_has_rows(), for an index. Only for the table's definer, in its own call, is another
// definition examined: its own new one.
bool TableReader::still_has_index(std::size_t number) const noexcept {
  const IndexLife& index = *definition_->index_lives[number];
  if (!still_has_rows() || index.is_gone.load(std::memory_order_acquire)) {
    return false;
  }
  const bool is_definer = in_ != nullptr && of_.table->definer() == in_;
  return !is_definer || of_.table->visible_to(in_)->life != definition_->life ||
         of_.table->visible_to(in_)->has(index);
}

// One row

bool TableReader::find(ByteView key, btree::ValueCopy& row) const {
  return confirmed([&] {
    note_read(rows(), key);
    const bool found = rows().lookup(key, row, nullptr, read_view());
    confirm_rows();
    return found;
  });
}

bool TableReader::find(const Key& key, Sought& sought) {
  sought.key = key_space().whole(key, sought.memory);
  if (!is_stable_enough_) [[likely]] {
    return find(sought.key, sought.row);
  }
  const auto found = rows().lookup_stable(sought.key, sought.row);
  if (found && rows_are_current()) {
    return *found;
  }
  is_stable_enough_ = false;
  take_snapshot();
  find_definition();
  return find(key, sought);
}

void TableReader::show(ByteView key, ByteView bytes, ReadRow use) const {
  require_fitting(format(), key, bytes);
  KeyParts parts;
  use(RowView(key, bytes, format(), parts));
}

std::optional<Row> TableReader::get(const Key& key) {
  Sought sought(*this);
  if (!find(key, sought)) {
    return std::nullopt;
  }
  require_fitting(format(), sought.key, sought.row.view());
  KeyParts parts;
  return Row(RowView(sought.key, sought.row.view(), format(), parts));
}

bool TableReader::read(const Key& key, ReadRow use) {
  Sought sought(*this);
  const bool found = find(key, sought);
  if (found) {
    show(sought.key, sought.row.view(), use);
  }
  return found;
}

bool TableReader::read_by_index(std::string_view index, const Key& key, ReadRow use) const {
  const std::size_t number = require_index(index);
  if (!format().indexes()[number].codec.is_unique()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\", index \"{}\": only a unique index can find a single row",
                            format().schema().name, index));
  }
  KeyMemory memory;
  const KeySpace space = index_space(number);
  const ByteView entry = space.whole(key, memory);
  if (has_null(key)) {
    return false;
  }
  btree::KeyBuffer primary_key;
  const bool has_entry = confirmed([&] {
    note_read(this->index(number), entry);
    const bool found = this->index(number).lookup_with(
        entry, [&](ByteView value) { primary_key.assign_clamped(value, ByteView()); }, nullptr,
        read_view());
    confirm_index(number);
    return found;
  });
  if (!has_entry) {
    return false;
  }
  if (primary_key.size() == 0 || primary_key.size() > space.bytes_max()) {
    refuse_damaged_index(format(), number, "an entry names no primary key");
  }
  btree::ValueCopy row(rows().descent().page_size());
  const bool found = find(primary_key.view(), row);
  if (found) {
    show(primary_key.view(), row.view(), use);
  }
  return found;
}

// Several rows

// Copies a group of rows in one call of the transaction, and shows them when no latch is held.
void TableReader::read_many(std::span<const Key> keys, ReadRows use) const {
  const KeyList encoded(key_space(), keys);
  RowCopies copies;
  for (std::size_t first = 0; first < keys.size(); first += btree::kKeysTogether) {
    const auto group =
        encoded.keys().subspan(first, std::min(btree::kKeysTogether, keys.size() - first));
    copies.clear();
    confirmed([&] {
      note_reads(*this, group);
      rows().lookup_many(
          group, [&](std::size_t number, ByteView bytes) { copies.add(number, bytes); },
          read_view());
      confirm_rows();
    });
    copies.for_each([&](std::size_t number, ByteView bytes) {
      show(group[number], bytes, [&](const RowView& row) { use(first + number, row); });
    });
  }
}

void TableReader::visit_many(std::span<const Key> keys, ReadRows visit) const {
  const KeyList encoded(key_space(), keys);
  confirmed([&] {
    note_reads(*this, encoded.keys());
    rows().visit_many(
        encoded.keys(),
        [&](std::size_t number, ByteView bytes) {
          confirm_rows();
          confirm_view();
          show(encoded.keys()[number], bytes, [&](const RowView& row) { visit(number, row); });
        },
        read_view());
    confirm_rows();  // of a table that is gone, there was nothing to show
  });
}

void TableReader::visit(const Range& range, VisitRow visit, Direction direction) const {
  const EncodedRange encoded(key_space(), range);
  confirmed([&] { visit_rows(*this, encoded.keys(), visit, direction); });
}

RangeSize TableReader::approximate_size(const Range& range) const {
  const EncodedRange encoded(key_space(), range);
  const auto estimate = btree::estimate_range(rows().descent(), encoded.keys());
  confirm_rows();
  return {.rows = estimate.records, .bytes = estimate.bytes};
}

}  // namespace palimpsest::engine
