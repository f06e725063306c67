// A cursor over the rows of a table or an index, in both directions.
//
//   for (Cursor cursor = orders.cursor(transaction, Range::prefix({7})); cursor.valid();
//        cursor.next()) {
//     use(cursor.row());
//   }
//
// A new cursor is positioned on the first row of its range. It copies rows ahead of the caller: as
// many as the hint says at first, then twice as many each time. It holds no latch between calls.
// What a cursor shows:
// - in a transaction: what the transaction sees;
// - under read_committed, and outside of a transaction: what was committed when it was opened;
// - under `none`: each row as it was when it was copied;
// - of an index: the rows in the index's order, each read when the cursor reaches it.
// Rows that a transaction writes ahead of its own cursor appear, unless the cursor has copied that
// part already: a loop that changes the rows it iterates over may never end.
// Thread-safety: belongs to one thread. The transaction that it was opened in must be active
// whenever the cursor reads on (else invalid_argument). A moved-from cursor is not valid(); it may
// only be assigned to or destroyed, and next() and previous() do nothing.
// Failure: as for reading; the cursor can then be positioned again.
#pragma once

#include <cstddef>
#include <memory>

#include "palimpsest/key.h"
#include "palimpsest/row.h"

namespace palimpsest {

namespace detail {
class CursorState;  // the engine's
}

class Cursor {
 public:
  /// Made by Table::cursor() and Index::cursor().
  explicit Cursor(std::unique_ptr<detail::CursorState> state) noexcept;
  Cursor(Cursor&&) noexcept;
  Cursor& operator=(Cursor&&) noexcept;
  ~Cursor();

  /// Whether the cursor is on a row.
  [[nodiscard]] bool valid() const noexcept;
  /// The current row; valid until the cursor is moved or destroyed. Requires valid().
  [[nodiscard]] const RowView& row() const noexcept;

  /// Moves to the next row in key order, or past the range's end. next() and previous() do nothing
  /// to a cursor that is on no row, until it is positioned again.
  void next();
  /// Moves to the previous row, or before the range's beginning.
  void previous();
  void seek_first();
  void seek_last();
  /// Moves to the first row of the range with a key at or above `key`, which may be the first
  /// columns of a key.
  void seek(const Key& key);
  /// Moves to the last row of the range with a key at or below `key`. If `key` is the first
  /// columns of a key, every key that begins with them counts as at it.
  void seek_at_or_before(const Key& key);

 private:
  std::unique_ptr<detail::CursorState> state_;
};

}  // namespace palimpsest
