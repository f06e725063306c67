// Encodes rows from their column values into their stored form, for inserting them later, many at
// once, or in another order (row_sort.h).
//
//   RowEncoder encode(accounts);
//   const EncodedRow row = encode({7, "Ada", Decimal::of(0, 2)});
//   accounts.insert(transaction, row).require();
//
// Thread-safety: belongs to one thread. Must not outlive its database.
// An encoder is made for the table's columns at that time: a table with other columns refuses its
// rows.
// Failure: Error invalid_argument for values that do not fit the schema, naming table, column and
//          limit; for a closed database; and for a moved-from encoder. not_found for a table that
//          does not exist.
#pragma once

#include <memory>

#include "palimpsest/row.h"
#include "palimpsest/table.h"

namespace palimpsest {

class RowEncoder {
 public:
  /// Encodes rows of this table as it is now; for a table that the calling transaction creates, as
  /// it creates it.
  explicit RowEncoder(const Table& table);
  RowEncoder(RowEncoder&&) noexcept;
  RowEncoder& operator=(RowEncoder&&) noexcept;
  ~RowEncoder();

  /// Encodes a row from the values of all its columns, in declared order. The result is a view,
  /// valid until the next call and as long as the values are.
  [[nodiscard]] EncodedRow operator()(const Values& row);

 private:
  class State;

  std::unique_ptr<State> state_;
};

}  // namespace palimpsest
