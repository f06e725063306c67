// A cursor over the rows of a table, or over an index: implements the public Cursor.
//
// The tree's cursor copies records in batches, within the range. For an index these are entries;
// the row of an entry is read when it is reached, and an entry without a row by then is skipped. A
// large row is read when it is reached, too.
//
// Latching: in a transaction, each step takes its owner latch; no latch is held between steps.
// Failure: as TableReader; the cursor is then on no row and can be positioned again.
// Thread-safety: belongs to one thread; not movable, because rows view it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/key.h"
#include "palimpsest/row.h"

#include "base/check.h"
#include "btree/cursor.h"
#include "engine/table/table_reader.h"

namespace palimpsest::engine {

class RowCursor {
 public:
  /// Over a table. Positioned on the first row of the range.
  RowCursor(TableReader reader, const Range& range, std::size_t rows_hint);
  /// Over the index of that name.
  RowCursor(TableReader reader, std::string_view index, const Range& range);
  RowCursor(const RowCursor&) = delete;
  RowCursor& operator=(const RowCursor&) = delete;

  [[nodiscard]] bool valid() const noexcept { return row_.has_value(); }
  /// Whether the transaction it was opened in is active: TableReader::is_active(). If not, each
  /// step throws.
  [[nodiscard]] bool is_active() const noexcept { return reader_.is_active(); }
  /// Only if valid(); until the cursor moves.
  [[nodiscard]] const RowView& row() const noexcept {
    check(valid(), "a cursor that shows a row stands on one");
    return *row_;
  }

  /// Only if valid().
  void next();
  void previous();
  void seek_first();
  void seek_last();
  void seek(const Key& key);
  void seek_at_or_before(const Key& key);

 private:
  enum class Way : unsigned char { forward = 1, backward };

  RowCursor(TableReader&& reader, std::optional<std::size_t> index, const Range& range,
            std::size_t rows_hint);

  [[nodiscard]] KeySpace space() const noexcept {
    return index_ ? reader_.index_space(*index_) : reader_.key_space();
  }
  [[nodiscard]] const btree::BTree& tree() const noexcept {
    return index_ ? reader_.index(*index_) : reader_.rows();
  }
  template <class Move>
  void step(Way way, const Move& move);
  void find_row(Way way);
  void note_from(ByteView lower, std::optional<ByteView> upper);
  void note_read(Way way);
  [[nodiscard]] bool read_row();
  [[nodiscard]] bool read_row_of_entry();
  void seek_from(ByteView lower);
  void seek_below(ByteView upper);

  TableReader reader_;
  std::optional<std::size_t> index_;  ///< its number; nothing: the table's rows
  std::string lower_;
  std::optional<std::string> upper_;
  btree::Cursor cursor_;
  versioning::ReadSet::RangeId noted_;  ///< what it has read since it was positioned
  std::string read_;                    ///< the current row, unless that is in cursor_
  KeyParts parts_;
  std::optional<RowView> row_;
};

}  // namespace palimpsest::engine
