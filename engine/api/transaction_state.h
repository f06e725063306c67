// What a Transaction of the public API is.
#pragma once

#include <memory>
#include <mutex>

#include "base/process_mark.h"
#include "base/turn_latch.h"
#include "engine/api/bulk_rows.h"
#include "engine/api/database_state.h"
#include "txn/transactions.h"

namespace palimpsest::detail {

/// Calls take turns: the slot of a transaction that has ended is the next one's at once, and a call
/// that waited meanwhile must not run within that.
class TransactionState {
 public:
  ProcessMark owner;
  DatabaseState* database = nullptr;
  bool read_only = false;
  RecursiveTurnLatch turn;     ///< recursive: what a call calls may use the transaction, or is told
  bool is_converting = false;  ///< rows of a table: no other call; protected by turn
  txn::TransactionPtr transaction;     ///< null once it has ended; protected by turn
  std::unique_ptr<engine::Bulk> bulk;  ///< null if it is none
};

/// A call within a transaction, or within none.
class InTransaction {
 public:
  /// In none.
  InTransaction() = default;
  /// Throws invalid_argument if it has ended, or is converting rows.
  explicit InTransaction(TransactionState& state);

  /// Null: it is none.
  [[nodiscard]] engine::Bulk* bulk() const noexcept { return bulk_; }
  /// Of a bulk, else null: it lives until the transaction has ended.
  [[nodiscard]] TransactionState* bulk_state() const noexcept {
    return bulk_ == nullptr ? nullptr : state_;
  }

  /// Null: in none.
  [[nodiscard]] txn::Transaction* get() const noexcept { return transaction_; }
  [[nodiscard]] txn::Transaction& operator*() const noexcept { return *transaction_; }

 private:
  std::unique_lock<RecursiveTurnLatch> turn_;
  TransactionState* state_ = nullptr;
  txn::Transaction* transaction_ = nullptr;
  engine::Bulk* bulk_ = nullptr;
};

/// For a read.
[[nodiscard]] InTransaction reading(TransactionState& state);
/// For a write: also throws invalid_argument if it was begun to read, or the database opened so.
[[nodiscard]] InTransaction writing(TransactionState& state);
/// For dropping a definition: also throws it if it is a bulk.
[[nodiscard]] InTransaction dropping(TransactionState& state);

}  // namespace palimpsest::detail
