// How a transaction is begun: its isolation level, and when its commit returns.
#pragma once

#include <cstdint>
#include <string_view>

#include "versioning/snapshots.h"

namespace palimpsest::txn {

/// What a transaction sees of other transactions, and which of their changes it may overwrite.
enum class Isolation : std::uint8_t {
  none = 1,        ///< the newest state, committed or not; changes leave no versions
  read_committed,  ///< each read() sees what had been committed when the call began
  snapshot,        ///< sees what had been committed when the transaction began; first updater wins
  serializable,    ///< as snapshot; and what it read is unchanged at commit (validation.h)
};
[[nodiscard]] std::string_view name_of(Isolation isolation) noexcept;
/// Whether the transaction has one snapshot from its beginning to its end.
[[nodiscard]] constexpr bool has_one_snapshot(Isolation isolation) noexcept {
  return isolation == Isolation::snapshot || isolation == Isolation::serializable;
}

/// Whether the transaction will write.
using SnapshotUse = versioning::Snapshots::Use;

/// When commit() returns.
enum class Durability : std::uint8_t {
  synchronous = 1,  ///< when the transaction survives any crash
  asynchronous,     ///< at once; the transaction survives crashes after a stated time
};

}  // namespace palimpsest::txn
