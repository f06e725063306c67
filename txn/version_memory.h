// What versions, entries and mapping tables of a database may take together, and who has to go when
// they take more.
//
// A transaction that needs another piece of memory asks here. In this order: what no snapshot needs
// is freed, also of slots that are idle, and with them the memory they keep; mapping tables are
// pruned, of pages in memory and of others, and versions of those in memory folded
// (versioning/spans.h); the oldest snapshots are cancelled, as long as that
// frees something: whoever has one gets snapshot_too_old at its next call. If changes of
// transactions that have not ended take it all, and for one that takes half of it by itself, the
// asking one gets version_budget_exceeded.
// Who has made room goes on, also if others have taken it by then: what is over the limit is a
// piece of memory a thread.
// What is younger than the snapshot of a transaction that may write is not folded. Mostly that is
// one that will end soon, but whose thread waits, here or for a processor. So before a reader is
// cancelled that is older than it, it is waited for, and it gets a little more than there is, so
// that it does not wait for what itself is in the way of. Who writes for longer costs the readers
// that are older than it, once each, that wait and then the snapshot.
// Snapshots that are being taken hold versions back and cannot be cancelled, and the oldest one may
// have ended when it is to be: that is tried again for a moment.
//
// Latching: one mutex, taken only when there is not enough, under an owner latch; under it buffers'
//           and chains' latches, page latches, which are tried, and orphans' shards.
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
  /// Both outlive it.
  VersionMemory(Transactions& transactions, versioning::EntryMemory& memory,
                std::uint64_t bytes_max) noexcept
      : transactions_(transactions), memory_(memory), bytes_max_(bytes_max) {}

  void require_room(const versioning::VersionBuffer& asking) override;

  /// Now and then, in the background, by one thread at a time: versions go that nobody needs. What
  /// nobody needs any more of mapping tables goes, a little each time, because what has been
  /// changed before is read more slowly as long as its table is there; when they fill half of the
  /// memory all, once for each horizon, and whenever more has come. Memory that has not been used
  /// for some time goes back to the system.
  void keep_room() noexcept;

  [[nodiscard]] std::uint64_t bytes_max() const noexcept { return bytes_max_; }
  /// Snapshots cancelled so far.
  [[nodiscard]] std::uint64_t cancelled() const noexcept {
    return cancelled_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] bool is_full() const noexcept { return memory_.bytes_in_use() >= bytes_max_; }
  [[nodiscard]] bool make_room(const versioning::VersionBuffer& asking);
  /// Whether this one goes on beyond the limit.
  [[nodiscard]] bool may_overdraw(const versioning::VersionBuffer& asking) const noexcept;
  [[nodiscard]] bool prune_for_horizon() noexcept;

  Transactions& transactions_;
  versioning::EntryMemory& memory_;
  const std::uint64_t bytes_max_;
  std::timed_mutex mutex_;
  std::atomic<std::uint64_t> cancelled_{0};
  // Of keep_room():
  Gsn collected_for_{0};               ///< the horizon up to which hardly any versions were left
  int tries_ = 0;                      ///< since then
  Gsn pruned_for_{0};                  ///< the horizon for which tables were gone through last
  std::uint64_t tables_left_ = 0;      ///< of them, not yet
  std::uint64_t pruned_to_bytes_ = 0;  ///< what was in use after that
  std::chrono::steady_clock::time_point next_look_{};
  std::chrono::steady_clock::time_point next_give_back_{};
  std::chrono::milliseconds pause_{0};  ///< before that: longer and longer while it finds nothing
};

}  // namespace palimpsest::txn
