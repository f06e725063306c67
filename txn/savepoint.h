// What a transaction had done when a statement began: what is behind it goes if that is not done.
//
// A statement is changes that count together within the transaction. One that is not done is undone
// by the log, as in a rollback: winners' logs have compensation, too
// (engine/recovery/transaction_table.h).
// Thread-safety: a value.
#pragma once

#include <cstddef>

#include "base/ids.h"
#include "versioning/version_chunk.h"

namespace palimpsest::txn {

struct Savepoint {
  Lsn change{};              ///< to be undone next
  std::size_t given_up = 0;  ///< large values
  std::size_t claims = 0;    ///< records
  versioning::VersionMark versions{};
};

}  // namespace palimpsest::txn
