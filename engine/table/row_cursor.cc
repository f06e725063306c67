#include "engine/table/row_cursor.h"

#include <utility>

#include "engine/table/row_messages.h"

namespace palimpsest::engine {
namespace {

constexpr std::size_t kEntriesHint = 8;

}  // namespace

RowCursor::RowCursor(TableReader reader, const Range& range, std::size_t rows_hint)
    : RowCursor(std::move(reader), std::optional<std::size_t>(), range, rows_hint) {}

RowCursor::RowCursor(TableReader reader, std::string_view index, const Range& range)
    : RowCursor(std::move(reader), reader.require_index(index), range, kEntriesHint) {}

RowCursor::RowCursor(TableReader&& reader, std::optional<std::size_t> index, const Range& range,
                     std::size_t rows_hint)
    : reader_(std::move(reader)), index_(index), cursor_(tree(), rows_hint, reader_.read_view()) {
  reader_.keep();
  const EncodedRange encoded(space(), range);
  lower_ = encoded.keys().lower;
  upper_ = encoded.keys().upper;
  cursor_.bound_to({.lower = lower_, .upper = upper_});
  cursor_.skip_by(reader_.ghost_run());
  seek_first();
}

// At every step, the copied records are confirmed after they were copied and before they are shown.
template <class Move>
void RowCursor::step(Way way, const Move& move) {
  row_.reset();
  try {
    reader_.confirmed([&] {
      move();
      find_row(way);
      note_read(way);
    });
  } catch (...) {
    row_.reset();
    throw;
  }
}

/// Called when the cursor was positioned: the range that it reads begins, or ends, there.
void RowCursor::note_from(ByteView lower, std::optional<ByteView> upper) {
  if (versioning::ReadSet* const reads = reader_.read_set()) [[unlikely]] {
    noted_ = reads->add_range(tree().id(), lower, upper);
  }
}

/// Adds to the read set everything between the old position and the new one.
void RowCursor::note_read(Way way) {
  versioning::ReadSet* const reads = reader_.read_set();
  if (reads == nullptr) [[likely]] {
    return;
  }
  if (row_) {
    reads->extend_to(noted_, cursor_.key());
  } else if (way == Way::forward) {
    reads->extend_up_to(noted_, upper_);
  } else {
    reads->extend_down_to(noted_, lower_);
  }
}

/// Moves to the nearest row at or beyond the position.
void RowCursor::find_row(Way way) {
  while (cursor_.valid()) {
    if (index_ ? read_row_of_entry() : read_row()) {
      return;
    }
    way == Way::forward ? cursor_.next() : cursor_.previous();
  }
  index_ ? reader_.confirm_index(*index_) : reader_.confirm_rows();
}

/// False if the row is gone.
bool RowCursor::read_row() {
  ByteView bytes = cursor_.value();
  if (cursor_.value_is_large()) {
    if (!cursor_.read_value(read_)) {
      return false;
    }
    bytes = read_;
  }
  reader_.confirm_rows();
  require_fitting(reader_.format(), cursor_.key(), bytes);
  parts_.forget();
  row_.emplace(cursor_.key(), bytes, reader_.format(), parts_);
  return true;
}

/// As read_row(), for the row of an entry.
bool RowCursor::read_row_of_entry() {
  reader_.confirm_index(*index_);
  const IndexCodec& codec = reader_.format().indexes()[*index_].codec;
  const auto key = codec.primary_key({.key = cursor_.key(), .value = cursor_.value()});
  if (!key || key->empty() || key->size() > reader_.key_space().bytes_max()) {
    refuse_damaged_index(reader_.format(), *index_, "an entry names no primary key");
  }
  reader_.note_read(reader_.rows(), *key);
  const bool found = reader_.rows().lookup(*key, read_, nullptr, reader_.read_view());
  reader_.confirm_rows();
  if (found) {
    require_fitting(reader_.format(), *key, read_);
    parts_.forget();
    row_.emplace(*key, read_, reader_.format(), parts_);
  }
  return found;
}

void RowCursor::next() {
  check(valid(), "a cursor that moves on stands on a row");
  step(Way::forward, [&] { cursor_.next(); });
}

void RowCursor::previous() {
  check(valid(), "a cursor that moves back stands on a row");
  step(Way::backward, [&] { cursor_.previous(); });
}

void RowCursor::seek_from(ByteView lower) {
  step(Way::forward, [&] {
    cursor_.seek(lower);
    note_from(lower, lower);
  });
}

void RowCursor::seek_first() {
  seek_from(lower_);
}

// Without an upper bound the range read has no upper end; its lower end is known when the last row
// is found, or when there is none.
void RowCursor::seek_last() {
  step(Way::backward, [&] {
    cursor_.seek_last();
    if (upper_) {
      note_from(*upper_, *upper_);
    } else {
      note_from(cursor_.valid() ? cursor_.key() : ByteView(lower_), std::nullopt);
    }
  });
}

/// Moves to the last row below that key, which lies in the range or is its upper bound.
void RowCursor::seek_below(ByteView upper) {
  step(Way::backward, [&] {
    note_from(upper, upper);
    cursor_.seek_for_prev(upper);
    while (cursor_.valid() && cursor_.key() >= upper) {
      cursor_.previous();
    }
  });
}

void RowCursor::seek(const Key& key) {
  row_.reset();
  KeyMemory memory;
  const ByteView wanted = space().first_columns(key, memory);
  seek_from(wanted < lower_ ? ByteView(lower_) : wanted);
}

void RowCursor::seek_at_or_before(const Key& key) {
  row_.reset();
  KeyMemory memory;
  const std::optional<ByteView> above = space().above(key, memory);
  if (!above || (upper_ && *upper_ < *above)) {
    seek_last();
  } else {
    seek_below(*above);
  }
}

}  // namespace palimpsest::engine
