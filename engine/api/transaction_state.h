// The implementation of the public API's Transaction.
#pragma once

#include <memory>
#include <mutex>

#include "base/process_mark.h"
#include "base/turn_latch.h"
#include "engine/api/bulk_rows.h"
#include "engine/api/database_state.h"
#include "txn/transactions.h"

namespace palimpsest::detail {

/// Calls run one after another, under `turn`: when a transaction has ended its slot is reused at
/// once, and a call that waited meanwhile must not run in the slot's next transaction.
class TransactionState {
 public:
  ProcessMark owner;
  DatabaseState* database = nullptr;
  bool read_only = false;
  RecursiveTurnLatch turn;  ///< recursive: functions of the caller may use the transaction, or get
                            ///< an error
  bool is_converting = false;          ///< of a table: other calls are refused; protected by turn
  txn::TransactionPtr transaction;     ///< null once it has ended; protected by turn
  std::unique_ptr<engine::Bulk> bulk;  ///< null if it is no bulk
};

/// The scope of a call within a transaction, or without one.
class InTransaction {
 public:
  /// Without a transaction.
  InTransaction() = default;
  /// Throws invalid_argument if it has ended, or is converting rows.
  explicit InTransaction(TransactionState& state);

  /// Null if it is no bulk.
  [[nodiscard]] engine::Bulk* bulk() const noexcept { return bulk_; }
  /// The state of a bulk, else null; valid until the transaction has ended.
  [[nodiscard]] TransactionState* bulk_state() const noexcept {
    return bulk_ == nullptr ? nullptr : state_;
  }

  /// Null: without a transaction.
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
/// For a write: also throws invalid_argument if the transaction or the database is read-only.
[[nodiscard]] InTransaction writing(TransactionState& state);
/// For dropping a definition: also throws invalid_argument for a bulk.
[[nodiscard]] InTransaction dropping(TransactionState& state);

}  // namespace palimpsest::detail
