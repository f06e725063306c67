// A cursor: rows of a table, or of an index, one after the other in both directions.
//
//   for (Cursor cursor = orders.cursor(transaction, Range::prefix({7})); cursor.valid();
//     cursor.next()) { use(cursor.row());
//   }
//
// A new cursor stands on the first row of its range. It copies rows ahead of the caller, as many as
// hinted at first and twice as many each time it goes on; it holds no latch between calls. It shows
// what its transaction sees; under read_committed, and in no transaction, what had been committed
// when it was opened; under `none` each row as it was when it was copied.
// Rows that a transaction writes ahead of its own cursor come up, unless they were copied before:
// one that changes what it goes over may go on for ever.
// Of an index it shows the rows in the index's order, each read when it is reached.
// Thread-safety: belongs to one thread; a transaction it was opened in must be active whenever it
// goes on (invalid_argument). One that was moved from is not valid(), and is only assigned to or
// destroyed; next() and previous() do nothing to it. Failure: as reading; the cursor can be
// positioned again.
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
  /// By Table::cursor() and Index::cursor().
  explicit Cursor(std::unique_ptr<detail::CursorState> state) noexcept;
  Cursor(Cursor&&) noexcept;
  Cursor& operator=(Cursor&&) noexcept;
  ~Cursor();

  /// Whether it stands on a row.
  [[nodiscard]] bool valid() const noexcept;
  /// The row it stands on; valid until the cursor is moved or gone. Only if it is valid().
  [[nodiscard]] const RowView& row() const noexcept;

  /// To the next row in key order, or beyond the range's end. One that stands on no row stays where
  /// it is, until it is positioned again: both of these do nothing then.
  void next();
  /// To the row before, or beyond the range's beginning.
  void previous();
  void seek_first();
  void seek_last();
  /// To the first row of the range whose key is at or above `key`, which may be the first columns
  /// of one.
  void seek(const Key& key);
  /// To the last row of the range whose key is at or below `key`; if that is the first columns of
  /// one, the last of the keys that begin with them counts as at it.
  void seek_at_or_before(const Key& key);

 private:
  std::unique_ptr<detail::CursorState> state_;
};

}  // namespace palimpsest
