// A cursor over the rows of a table, or over an index: what the public Cursor promises.
//
// Records are copied in batches by the tree's cursor, within the range. Of an index these are
// entries; the row of one is read when it is reached, and an entry whose row is gone by then is
// passed over. A large row is read when it is reached, too.
//
// Latching: in a transaction, each step takes its owner latch; no latch is held between steps.
// Failure: as TableReads; the cursor then stands on no row and can be positioned again.
// Thread-safety: belongs to one thread; stays where it is made, for rows view it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/key.h"
#include "palimpsest/row.h"

#include "base/check.h"
#include "btree/cursor.h"
#include "engine/table/table_access.h"

namespace palimpsest::engine {

class RowCursor {
 public:
  /// Of a table. Stands on the first row of the range.
  RowCursor(TableAccess access, const Range& range, std::size_t rows_hint);
  /// Of the index of that name.
  RowCursor(TableAccess access, std::string_view index, const Range& range);
  RowCursor(const RowCursor&) = delete;
  RowCursor& operator=(const RowCursor&) = delete;

  [[nodiscard]] bool valid() const noexcept { return row_.has_value(); }
  /// Of the transaction it was opened in: TableAccess::is_active(). If not, each step throws.
  [[nodiscard]] bool is_active() const noexcept { return access_.is_active(); }
  /// Only if it is valid(); until it is moved.
  [[nodiscard]] const RowView& row() const noexcept {
    check(valid(), "a cursor that shows a row stands on one");
    return *row_;
  }

  /// Only if it is valid().
  void next();
  void previous();
  void seek_first();
  void seek_last();
  void seek(const Key& key);
  void seek_at_or_before(const Key& key);

 private:
  enum class Way : unsigned char { forward = 1, backward };

  RowCursor(TableAccess&& access, std::optional<std::size_t> index, const Range& range,
            std::size_t rows_hint);

  [[nodiscard]] KeySpace space() const noexcept {
    return index_ ? access_.index_space(*index_) : access_.key_space();
  }
  [[nodiscard]] const btree::BTree& tree() const noexcept {
    return index_ ? access_.index(*index_) : access_.rows();
  }
  template <class Move>
  void step(Way way, const Move& move);
  void settle(Way way);
  void note_from(ByteView lower, std::optional<ByteView> upper);
  void note_read(Way way);
  [[nodiscard]] bool read_row();
  [[nodiscard]] bool read_row_of_entry();
  void seek_from(ByteView lower);
  void seek_below(ByteView upper);

  TableAccess access_;
  std::optional<std::size_t> index_;  ///< its number; nothing: the table's rows
  std::string lower_;
  std::optional<std::string> upper_;
  btree::Cursor cursor_;
  versioning::ReadSet::RangeId noted_;  ///< what it has read since it was positioned
  std::string read_;                    ///< the row it stands on, unless it lies in cursor_
  KeyParts parts_;
  std::optional<RowView> row_;
};

}  // namespace palimpsest::engine
