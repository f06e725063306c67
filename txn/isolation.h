// How a transaction is begun: what it sees of others, and when its commit returns.
#pragma once

#include <cstdint>
#include <string_view>

#include "versioning/snapshots.h"

namespace palimpsest::txn {

/// What a transaction sees of others, and which of their changes it may write over.
enum class Isolation : std::uint8_t {
  none = 1,        ///< the newest of everything, committed or not; changes leave no versions
  read_committed,  ///< in each call of read(), what had been committed when that began
  snapshot,        ///< what had been committed when it began; first updater wins
  serializable,    ///< the same; and what it has read is still so when it commits (validation.h)
};
[[nodiscard]] std::string_view name_of(Isolation isolation) noexcept;
/// Whether it has one snapshot from its beginning to its end.
[[nodiscard]] constexpr bool has_one_snapshot(Isolation isolation) noexcept {
  return isolation == Isolation::snapshot || isolation == Isolation::serializable;
}

/// Whether it will write anything.
using SnapshotUse = versioning::Snapshots::Use;

/// When commit() returns.
enum class Durability : std::uint8_t {
  synchronous = 1,  ///< when the transaction survives any crash
  asynchronous,     ///< at once; it survives crashes after a stated time
};

}  // namespace palimpsest::txn
