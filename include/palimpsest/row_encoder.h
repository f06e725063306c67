// Rows as a table stores them, from the values of their columns: for who has them stored later,
// many at once, or in another order (row_sort.h).
//
//   RowEncoder encode(accounts);
//   const EncodedRow row = encode({7, "Ada", Decimal::of(0, 2)});
//   accounts.insert(transaction, row).require();
//
// Thread-safety: belongs to one thread. Must not outlive its database.
// Made for the columns that the table has then: its rows are refused by a table of others.
// Failure: Error invalid_argument for values that do not fit the schema, naming table, column and
//          limit, for a database that was closed, and for an encoder that was moved from; not_found
//          for a table that is not there.
#pragma once

#include <memory>

#include "palimpsest/row.h"
#include "palimpsest/table.h"

namespace palimpsest {

class RowEncoder {
 public:
  /// Of rows of this table as it is now; of a table that a transaction makes, as it makes it.
  explicit RowEncoder(const Table& table);
  RowEncoder(RowEncoder&&) noexcept;
  RowEncoder& operator=(RowEncoder&&) noexcept;
  ~RowEncoder();

  /// The row by the values of all its columns, in declared order. A view, valid until the next call
  /// and as long as the values are.
  [[nodiscard]] EncodedRow operator()(const Values& row);

 private:
  class State;

  std::unique_ptr<State> state_;
};

}  // namespace palimpsest
