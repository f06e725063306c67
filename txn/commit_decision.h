// What the commit of a transaction decides: the commit status of its own changes, those of
// definitions that it has made and of a bulk; and who is told of its end.
//
// All its commit statuses take each step together, before the next step is taken by any
// (versioning/commit_status.h). From the moment they are committed until whoever is told has
// published the definitions, the transactions know of it (Transactions::has_bulk_since()).
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
  /// Of a slot's transactions, whose own commit status this is. Both outlive it.
  CommitDecision(Transactions& all, versioning::CommitStatus& own) noexcept
      : all_(all), own_(own) {}

  /// This one, which lives until the transaction is told to have ended, is decided with it.
  void add(versioning::CommitStatus& commit_status) noexcept;
  void tell(EndListener& listener) noexcept { listener_ = &listener; }
  /// Whether it changes definitions, or is a bulk.
  [[nodiscard]] bool redefines() const noexcept {
    return others_.front() != nullptr || listener_ != nullptr;
  }

  void announce() noexcept;
  void date(Gsn timestamp) noexcept;
  /// `date`: the one that was given.
  void commit(Gsn date) noexcept;
  /// Of a commit that was announced.
  void abort() noexcept;
  /// The transaction has ended: what was not committed is aborted, but for its own commit status.
  void end(const Transaction& transaction, bool committed) noexcept;

 private:
  template <class Use>
  void for_each(Use&& use) noexcept;

  Transactions& all_;
  versioning::CommitStatus& own_;
  EndListener* listener_ = nullptr;
  std::array<versioning::CommitStatus*, 2> others_{};  ///< filled from the front; unused are null
  bool publishes_ = false;                             ///< from commit() to end()
};

}  // namespace palimpsest::txn
