// What a Cursor of the public API is: the engine's, and what it must not outlive.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "palimpsest/table.h"

#include "base/process_mark.h"
#include "engine/api/reading.h"
#include "engine/api/table_handle.h"
#include "engine/api/transaction_state.h"
#include "engine/table/row_cursor.h"

namespace palimpsest::detail {

class CursorState {
 public:
  ProcessMark owner;

  /// Over a table, or over the index of that name if it is not empty. Null `in`: in no transaction.
  CursorState(std::shared_ptr<const TableHandle> table, const Transaction* in,
              std::string_view index, const Range& range, std::size_t rows_hint);

  /// Throws invalid_argument in a child of the process that opened it.
  void require_own_process() const;
  [[nodiscard]] const engine::RowCursor& rows() const noexcept { return *rows_; }
  /// For a step, which throws invalid_argument if the transaction it was opened in has ended.
  [[nodiscard]] engine::RowCursor& active();

 private:
  std::shared_ptr<const TableHandle> table_;
  TransactionState* bulk_ = nullptr;  ///< if that is one: there as long as it is active
  txn::TransactionPtr view_;          ///< a snapshot of its own, or null
  std::unique_ptr<engine::RowCursor> rows_;
};

}  // namespace palimpsest::detail
