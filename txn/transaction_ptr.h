// The owning handle of a transaction.
#pragma once

#include <memory>

namespace palimpsest::txn {

class Transaction;
class Transactions;

/// Rolls back the transaction if it has not ended, and releases its slot.
struct EndTransaction {
  Transactions* owner = nullptr;
  void operator()(Transaction* transaction) const noexcept;
};
using TransactionPtr = std::unique_ptr<Transaction, EndTransaction>;

}  // namespace palimpsest::txn
