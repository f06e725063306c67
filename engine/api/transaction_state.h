// What a Transaction of the public API is.
#pragma once

#include "engine/api/database_state.h"
#include "txn/transactions.h"

namespace palimpsest::detail {

class TransactionState {
 public:
  DatabaseState* database = nullptr;
  txn::TransactionPtr transaction;  ///< null once commit() or rollback() has ended it
  bool read_only = false;

  /// Throws invalid_argument if it has ended.
  [[nodiscard]] txn::Transaction& active() const;
  /// For a write: also throws invalid_argument if it was begun to read.
  [[nodiscard]] txn::Transaction& writing() const;
};

}  // namespace palimpsest::detail
