// Decides a transaction's commit: moves the commit statuses of its own changes, of the definitions
// it made and of its bulk forward together, and tells a listener of its end.
//
// All of a transaction's commit statuses take each step together: none takes the next step before
// all have taken this one (versioning/commit_status.h). From commit() until end(), while the
// listener publishes the new definitions, Transactions::has_bulk_since() reports the transaction.
// Latching: none but the listener's. Thread-safety: belongs to its transaction's owner.
#pragma once

#include <array>

#include "base/ids.h"
#include "txn/end_listener.h"
#include "versioning/commit_status.h"

namespace palimpsest::txn {

class Transactions;

class CommitDecision {
 public:
  /// `own`: the commit status of a slot's transactions. Both arguments outlive this.
  CommitDecision(Transactions& all, versioning::CommitStatus& own) noexcept
      : all_(all), own_(own) {}

  /// Decides this commit status along with the transaction's own. It lives until end().
  void add(versioning::CommitStatus& commit_status) noexcept;
  void tell(EndListener& listener) noexcept { listener_ = &listener; }
  /// Whether the transaction changes definitions or is a bulk.
  [[nodiscard]] bool redefines() const noexcept {
    return others_.front() != nullptr || listener_ != nullptr;
  }

  void announce() noexcept;
  void date(Gsn timestamp) noexcept;
  /// `date`: as given to date().
  void commit(Gsn date) noexcept;
  /// After announce(), in place of commit().
  void abort() noexcept;
  /// The transaction has ended. Aborts what was not committed, except the transaction's own commit
  /// status.
  void end(const Transaction& transaction, bool committed) noexcept;

 private:
  template <class Use>
  void for_each(Use&& use) noexcept;

  Transactions& all_;
  versioning::CommitStatus& own_;
  EndListener* listener_ = nullptr;
  std::array<versioning::CommitStatus*, 2> others_{};  ///< filled from the front; unused ones are
                                                       ///< null
  bool publishes_ = false;                             ///< from commit() to end()
};

}  // namespace palimpsest::txn
