// The implementation of the public API's Cursor: the engine's cursor, and what that must not
// outlive.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "palimpsest/table.h"

#include "base/process_mark.h"
#include "engine/api/table_handle.h"
#include "engine/api/transaction_state.h"
#include "engine/table/row_cursor.h"

namespace palimpsest::detail {

class CursorState {
 public:
  ProcessMark owner;

  /// Over a table, or, if `index` is not empty, over that index. Null `in`: without a transaction.
  CursorState(std::shared_ptr<const TableHandle> table, const Transaction* in,
              std::string_view index, const Range& range, std::size_t rows_hint);

  /// Throws invalid_argument in a child of the process that opened it.
  void require_own_process() const;
  [[nodiscard]] const engine::RowCursor& rows() const noexcept { return *rows_; }
  /// For a step. Throws invalid_argument if the transaction in which it was opened has ended.
  [[nodiscard]] engine::RowCursor& active();

 private:
  std::shared_ptr<const TableHandle> table_;
  TransactionState* bulk_ = nullptr;  ///< of the transaction, if it is a bulk; valid while it is
                                      ///< active
  std::unique_ptr<engine::RowCursor> rows_;
};

}  // namespace palimpsest::detail
