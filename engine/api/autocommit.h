// A write without a transaction: runs in a transaction of its own, and is tried again while other
// transactions are in the way.
//
// What is in the way, and how long the call waits for it:
//   a row that another transaction has changed    autocommit_patience
//   a bulk on the table, or a transaction that    definition_patience, if that is longer; not at
//   changes its definition                        all if it waits for a transaction of this thread
//   a transaction of this thread                  not at all: invalid_argument
//                                                 (txn/conflicting_writer.h)
#pragma once

#include <algorithm>
#include <chrono>

#include "palimpsest/database.h"
#include "palimpsest/outcome.h"

#include "base/sync_point.h"
#include "engine/api/database_state.h"
#include "engine/catalog/refused_commit.h"
#include "txn/conflicting_writer.h"

namespace palimpsest::detail {

/// Commits. False if the transaction was not serializable, and was rolled back; on the last attempt
/// throws that error instead.
inline bool commits(const DatabaseState& database, txn::Transaction& transaction, bool is_last) {
  try {
    transaction.commit();
    return true;
  } catch (const txn::NotSerializable& error) {
    if (is_last) {
      throw engine::named(error, database.engine->tables());
    }
    return false;
  } catch (const Error& error) {
    if (is_last || error.code() != ErrorCode::not_serializable) {
      throw;
    }
    return false;
  }
}

/// Whether the conflicting transaction, a bulk or a change of a definition, waits for a transaction
/// of this thread.
inline bool waits_for_own(const DatabaseState& database,
                          const txn::ConflictingWriter& conflicting_writer,
                          const txn::OwnWait& own) {
  return conflicting_writer.is_definer && conflicting_writer.is_active() &&
         database.engine->transactions().waits_for_own(*conflicting_writer.transaction, own);
}

/// Calls write(txn::Transaction&) and commits; retries conflicts until the time is over. Returns
/// the last outcome. Throws invalid_argument if the database was opened to be read.
/// `wanted`: read_committed suffices for a single write onto the newest committed state, which
/// cannot have seen an older one.
template <class Write>
Outcome autocommit(const DatabaseState& database, Write&& write,
                   txn::Isolation wanted = txn::Isolation::read_committed) {
  require_writable(database);
  const txn::Isolation isolation =
      database.isolation == txn::Isolation::none ? txn::Isolation::none : wanted;
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const auto until = began + database.autocommit_patience;
  const auto until_defined = std::max(until, began + database.definition_patience);
  const txn::OwnWait own(began);
  for (Backoff backoff(0);; backoff.wait()) {
    const txn::TransactionPtr transaction = database.begin(Durability::by_default, isolation);
    Outcome outcome = write(*transaction);
    const bool is_over = Clock::now() >= until;
    if (!outcome) {
      const txn::ConflictingWriter conflicting_writer = transaction->conflicting_writer();
      transaction->rollback();
      if (!outcome.is_conflict()) {
        return outcome;
      }
      if (own.is_in_vain(conflicting_writer)) {
        txn::OwnWait::refuse(outcome.text() + ": a call without a transaction");
      }
      const bool goes_on =
          !is_over || (conflicting_writer.is_definer && Clock::now() < until_defined);
      if (!goes_on || waits_for_own(database, conflicting_writer, own)) {
        return outcome;
      }
      if (conflicting_writer.is_definer) {
        PALIMPSEST_SYNC_POINT("engine.definer.awaited");
      }
    } else if (commits(database, *transaction, is_over)) {
      return outcome;
    }
  }
}

}  // namespace palimpsest::detail
