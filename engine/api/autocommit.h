// A write without a transaction: one of its own, tried again while others are in the way.
#pragma once

#include <chrono>

#include "palimpsest/database.h"
#include "palimpsest/outcome.h"

#include "engine/api/database_state.h"
#include "engine/rows/refused.h"

namespace palimpsest::detail {

/// False if it is not serializable, unless it was the last attempt: then that is thrown. It was
/// rolled back.
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

/// Calls write(txn::Transaction&) and commits what is done; what is in conflict is tried again
/// until the time is over. Returns the last outcome. Throws invalid_argument if the database was
/// opened to be read.
/// `wanted`: read_committed for one write onto the newest committed state, since there is no older
/// one that it could have seen.
template <class Write>
Outcome autocommit(const DatabaseState& database, Write&& write,
                   txn::Isolation wanted = txn::Isolation::read_committed) {
  require_writable(database);
  const txn::Isolation isolation =
      database.isolation == txn::Isolation::none ? txn::Isolation::none : wanted;
  const auto until = std::chrono::steady_clock::now() + database.autocommit_patience;
  for (Backoff backoff(0);; backoff.wait()) {
    const txn::TransactionPtr transaction = database.begin(Durability::by_default, isolation);
    Outcome outcome = write(*transaction);
    const bool is_over = std::chrono::steady_clock::now() >= until;
    if (!outcome) {
      transaction->rollback();
      if (!outcome.is_conflict() || is_over) {
        return outcome;
      }
    } else if (commits(database, *transaction, is_over)) {
      return outcome;
    }
  }
}

}  // namespace palimpsest::detail
