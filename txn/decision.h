// What the commit of a transaction decides: the fate of its own changes, those of definitions that
// it has made and of a bulk; and who is told of its end.
//
// All its fates take each step together, before the next step is taken by any (versioning/fate.h).
// From the moment they are committed until whoever is told has published the definitions, the
// transactions know of it (Transactions::has_bulk_since()).
// Latching: none but the listener's. Thread-safety: belongs to its transaction's owner.
#pragma once

#include <array>

#include "base/ids.h"
#include "txn/end_listener.h"
#include "versioning/fate.h"

namespace palimpsest::txn {

class Transactions;

class Decision {
 public:
  /// Of a slot's transactions, whose own fate this is. Both outlive it.
  Decision(Transactions& all, versioning::Fate& own) noexcept : all_(all), own_(own) {}

  /// This one, which lives until the transaction is told to have ended, is decided with it.
  void add(versioning::Fate& fate) noexcept;
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
  /// The transaction has ended: what was not committed is aborted, but for its own fate.
  void end(const Transaction& transaction, bool committed) noexcept;

 private:
  template <class Use>
  void for_each(Use&& use) noexcept;

  Transactions& all_;
  versioning::Fate& own_;
  EndListener* listener_ = nullptr;
  std::array<versioning::Fate*, 2> others_{};  ///< filled from the front; unused are null
  bool publishes_ = false;                     ///< from commit() to end()
};

}  // namespace palimpsest::txn
