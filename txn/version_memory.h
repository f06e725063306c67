// The bound on the memory that versions, entries and mapping tables of a database take together,
// and what is reclaimed or refused when they reach it.
//
// A transaction that needs another piece of memory calls require_room(). If there is none left, in
// this order:
// (1) Versions that no snapshot needs are freed, also those of idle slots, along with the memory
//     that idle slots retain.
// (2) Mapping tables are pruned, of pages in memory and of others, and versions of pages in memory
//     are folded (versioning/spans.h).
// (3) The oldest snapshots are cancelled, as long as that frees something; their transactions get
//     snapshot_too_old at their next call.
// (4) The asking transaction gets version_budget_exceeded: changes of open transactions take all
//     the memory. So does, at once, a transaction that takes half of the memory by itself.
//
// A transaction that has made room continues, even if other transactions have taken it by then: the
// excess is at most one piece of memory per thread.
// Versions younger than the snapshot of a transaction that may write are not folded. Mostly that
// transaction will end soon, but its thread waits, here or for a processor. So before step (3)
// cancels a reader older than it, the asking thread waits for it, and lets it exceed the bound a
// little, so that it does not wait for what it obstructs itself. A transaction that writes for
// longer costs each reader older than it one such wait, and then the snapshot.
// Snapshots being taken hold versions back and cannot be cancelled, and the oldest one may end just
// before it is cancelled: step (3) is retried for a moment.
//
// Latching: one mutex, taken only when memory is short, under an owner latch; under it the latches
// of buffers and chains, page latches (tried only), and shards of orphans.
// Thread-safety: all functions, from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "base/ids.h"
#include "versioning/entry_memory.h"
#include "versioning/version_buffer.h"

namespace palimpsest::txn {

class Transactions;

class VersionMemory final : public versioning::VersionBudget {
 public:
  /// Both references outlive this.
  VersionMemory(Transactions& transactions, versioning::EntryMemory& memory,
                std::uint64_t bytes_max) noexcept
      : transactions_(transactions), memory_(memory), bytes_max_(bytes_max) {}

  void require_room(const versioning::VersionBuffer& asking) override;

  /// Called now and then, in the background, by one thread at a time. Frees versions that no
  /// snapshot needs. Prunes mapping tables: a few each time, because changed records are read more
  /// slowly as long as their page's table exists; when tables fill half of the memory all of them,
  /// once per horizon, and again whenever more have come. Returns memory that has been idle for
  /// some time to the system.
  void keep_room() noexcept;

  [[nodiscard]] std::uint64_t bytes_max() const noexcept { return bytes_max_; }
  /// Snapshots cancelled so far.
  [[nodiscard]] std::uint64_t cancelled() const noexcept {
    return cancelled_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] bool is_full() const noexcept { return memory_.bytes_in_use() >= bytes_max_; }
  [[nodiscard]] bool make_room(const versioning::VersionBuffer& asking);
  /// Whether this transaction may exceed the bound.
  [[nodiscard]] bool may_overdraw(const versioning::VersionBuffer& asking) const noexcept;
  [[nodiscard]] bool prune_for_horizon() noexcept;

  Transactions& transactions_;
  versioning::EntryMemory& memory_;
  const std::uint64_t bytes_max_;
  std::timed_mutex mutex_;
  std::atomic<std::uint64_t> cancelled_{0};
  // Used by keep_room():
  Gsn collected_for_{0};               ///< the horizon up to which hardly any versions were left
  int tries_ = 0;                      ///< at collecting, since then
  Gsn pruned_for_{0};                  ///< the horizon for which all tables were visited last
  std::uint64_t tables_left_ = 0;      ///< tables still to be visited for it
  std::uint64_t pruned_to_bytes_ = 0;  ///< bytes in use after that
  std::chrono::steady_clock::time_point next_look_{};
  std::chrono::steady_clock::time_point next_give_back_{};
  std::chrono::milliseconds pause_{0};  ///< before next_look_; grows while looking finds nothing
};

}  // namespace palimpsest::txn
