// A handle of a transaction.
#pragma once

#include <memory>

namespace palimpsest::txn {

class Transaction;
class Transactions;

/// Gives the slot back, after rolling back what has not ended.
struct EndTransaction {
  Transactions* owner = nullptr;
  void operator()(Transaction* transaction) const noexcept;
};
using TransactionPtr = std::unique_ptr<Transaction, EndTransaction>;

}  // namespace palimpsest::txn
