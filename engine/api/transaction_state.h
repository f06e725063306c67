// What a Transaction of the public API is.
#pragma once

#include "engine/api/database_state.h"
#include "txn/transactions.h"

namespace palimpsest::detail {

class TransactionState {
 public:
  DatabaseState* database = nullptr;
  txn::TransactionPtr transaction;
  bool read_only = false;
};

/// The engine's transaction for a write to that database. Throws invalid_argument if it is another
/// database's, or reads only.
[[nodiscard]] txn::Transaction& writing(TransactionState& state, const DatabaseState& database);
/// The same for a read.
[[nodiscard]] txn::Transaction& reading(const TransactionState& state,
                                        const DatabaseState& database);

}  // namespace palimpsest::detail
