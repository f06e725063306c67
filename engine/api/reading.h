// The scope of one reading call, or of one cursor: within a transaction, or without one, with the
// snapshot that it needs.
//
//   isolation         in a transaction            without a transaction
//   none              the newest state            the newest state
//   read_committed    the call's own snapshot     as snapshot
//   serializable      the transaction's; adds     as snapshot
//                     to the read set
//   snapshot          the transaction's           a snapshot of its own; a single row is first read
//                                                 without one, which suffices if no transaction
//                                                 has changed it recently
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>

#include "palimpsest/transaction.h"

#include "engine/api/table_handle.h"
#include "engine/api/transaction_state.h"
#include "engine/table/table_access.h"
#include "txn/transactions.h"

namespace palimpsest::detail {

/// What a call reads.
enum class Reads : std::uint8_t {
  one_row = 1,
  range,    ///< in one call
  several,  ///< several rows, or an entry and its row, of one snapshot
  cursor,   ///< in several calls
};

class Reading {
 public:
  /// Throws invalid_argument if the transaction has ended or belongs to another database,
  /// too_many_transactions.
  Reading(const TableHandle& table, const Transaction* in, Reads reads);

  /// Throws not_found if the table does not exist.
  [[nodiscard]] engine::TableAccess access() const {
    using Hint = engine::TableAccess::Hint;
    txn::Transaction* const in = by_.get() != nullptr ? by_.get() : view_.get();
    engine::TableAccess access(in, table_->table(), by_.get() != nullptr ? view_.get() : nullptr,
                               &table_->first(), is_stable_enough_ ? Hint::stable : Hint::none);
    if (is_long_) {
      access.keep();
    }
    return access;
  }
  /// The transaction's state if it is a bulk, else null.
  [[nodiscard]] TransactionState* bulk_state() const noexcept { return by_.bulk_state(); }
  /// Whether the newest states may be read instead, if they are known to be committed.
  [[nodiscard]] bool may_read_stable() const noexcept { return is_stable_enough_; }
  /// Takes a snapshot after all, and reads by it from now on.
  void take_snapshot();

  /// Moves out its own snapshot, for a cursor that continues with it; null if it has none.
  [[nodiscard]] txn::TransactionPtr give_view() noexcept { return std::move(view_); }

 private:
  const TableHandle* table_;
  InTransaction by_;
  txn::TransactionPtr view_;  ///< its own
  bool is_stable_enough_ = false;
  bool is_long_ = false;
};

}  // namespace palimpsest::detail
