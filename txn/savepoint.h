// What a transaction had done when a statement began: what is behind it goes if that is not done.
//
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
