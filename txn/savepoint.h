// A transaction's state when a statement began: if the statement fails, everything after it is
// undone.
//
// A statement is a group of changes within a transaction, of which all or none take effect. A
// failed statement is undone from the log, as a rollback is; so winners' logs contain compensation
// records, too (engine/recovery/transaction_table.h).
// Thread-safety: a value.
#pragma once

#include <cstddef>

#include "base/ids.h"
#include "versioning/version_chunk.h"

namespace palimpsest::txn {

struct Savepoint {
  Lsn change{};              ///< the next change to undo
  std::size_t given_up = 0;  ///< large values released
  std::size_t claims = 0;    ///< records claimed
  versioning::VersionMark versions{};
};

}  // namespace palimpsest::txn
