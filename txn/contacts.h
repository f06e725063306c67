// What a transaction is in contact with: the thread that uses it, and the transaction it last
// conflicted with.
//
// For conflicts over records, btree/record_change.h notes the other writer in `writer`; for
// conflicts over definitions, the catalog calls note_definer().
// Thread-safety: thread(), from any thread; all other functions belong to the transaction's owner.
#pragma once

#include "txn/conflicting_writer.h"
#include "txn/transaction_thread.h"
#include "versioning/writer.h"

namespace palimpsest::txn {

class Transactions;

class Contacts {
 public:
  /// Both belong to the slot and outlive this.
  Contacts(const Transactions& all, versioning::Writer& writer) noexcept
      : all_(all), writer_(writer) {}
  Contacts(const Contacts&) = delete;
  Contacts& operator=(const Contacts&) = delete;

  /// The thread that uses the transaction, as reported by the API.
  [[nodiscard]] TransactionThread& thread() noexcept { return thread_; }
  [[nodiscard]] const TransactionThread& thread() const noexcept { return thread_; }

  /// The transaction of the last conflict, if it has not ended.
  [[nodiscard]] ConflictingWriter conflicting_writer() const noexcept;
  /// Notes a conflict with `definer`, which changes a table's definition.
  void note_definer(const Transaction& definer) noexcept;
  /// Notes a conflict with a change that is already committed.
  void note_no_conflicting_writer() noexcept {
    writer_.note_conflicting_writer(versioning::kNoWriter);
  }

 protected:
  ~Contacts() = default;
  /// Resets this for the slot's next transaction.
  void begin_contacts() noexcept {
    note_no_conflicting_writer();
    definer_ = {};
    thread_.begin();
  }

 private:
  const Transactions& all_;
  versioning::Writer& writer_;
  ConflictingWriter definer_;  ///< the definer of the last conflict
  TransactionThread thread_;
};

}  // namespace palimpsest::txn
