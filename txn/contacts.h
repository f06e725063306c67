// Whom a transaction has to do with: the thread that uses it, and the transaction that it was in
// conflict with last.
//
// Records tell the writer which other one had them (btree/record_change.h); definitions tell here.
// Thread-safety: thread(), from any thread; all others belong to the transaction's owner.
#pragma once

#include "txn/conflicting_writer.h"
#include "txn/transaction_thread.h"
#include "versioning/writer.h"

namespace palimpsest::txn {

class Transactions;

class Contacts {
 public:
  /// Of a slot's transactions; all outlive it.
  Contacts(const Transactions& all, versioning::Writer& writer) noexcept
      : all_(all), writer_(writer) {}
  Contacts(const Contacts&) = delete;
  Contacts& operator=(const Contacts&) = delete;

  /// The thread that uses it: told by the API.
  [[nodiscard]] TransactionThread& thread() noexcept { return thread_; }
  [[nodiscard]] const TransactionThread& thread() const noexcept { return thread_; }

  /// What the last conflict was with, if that has not ended.
  [[nodiscard]] ConflictingWriter conflicting_writer() const noexcept;
  /// It is in conflict with this one, which changes a table's definition.
  void note_definer(const Transaction& definer) noexcept;
  /// It is in conflict with what was committed already.
  void note_no_conflicting_writer() noexcept {
    writer_.note_conflicting_writer(versioning::kNoWriter);
  }

 protected:
  ~Contacts() = default;
  /// The slot's next transaction.
  void begin_contacts() noexcept {
    note_no_conflicting_writer();
    definer_ = {};
    thread_.begin();
  }

 private:
  const Transactions& all_;
  versioning::Writer& writer_;
  ConflictingWriter definer_;  ///< the last one that it was in conflict with
  TransactionThread thread_;
};

}  // namespace palimpsest::txn
