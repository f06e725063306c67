// Receives the outcome of a transaction.
#pragma once

namespace palimpsest::txn {

class Transaction;

class EndListener {
 public:
  virtual ~EndListener() = default;
  EndListener(const EndListener&) = delete;
  EndListener& operator=(const EndListener&) = delete;

  /// The transaction has ended and released its records: committed, or with all its changes undone.
  /// Its owner latch is held: the listener calls no transaction, and does no I/O.
  virtual void ended(const Transaction& transaction, bool committed) noexcept = 0;

 protected:
  EndListener() = default;
};

}  // namespace palimpsest::txn
