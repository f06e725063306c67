// Pages that are freed but may not be handed out before the record that frees them is durable.
//
// Why not hand them out at once, with a later GSN on the new use: the new use may become durable
// first (an extent is written without the log), and a crash then brings back a page with the
// bytes of another user.
// Entries stand in shards, so that threads that free many pages seldom meet. A shard is swept when
// it has grown to twice what the last sweep left: a few looks an entry, however long it waits.
// Memory: 24 bytes an entry, and as much again where vectors grow.
// Latching: shard mutexes are leaves of the latch order; page latches may be held.
// Thread-safety: all functions, from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/ids.h"
#include "buffer/page_run.h"

namespace palimpsest::buffer {

class PendingFrees {
 public:
  using GiveBack = FunctionRef<void(PageRun)>;

  /// Reserves memory for some entries, so that few calls of add() allocate. Throws std::bad_alloc.
  PendingFrees();
  PendingFrees(const PendingFrees&) = delete;
  PendingFrees& operator=(const PendingFrees&) = delete;

  /// Keeps `run` until everything up to `gsn` is durable, and calls give_back() for some runs with
  /// a GSN of at most `durable`. Without memory the run is forgotten: its pages stay in use until
  /// the map is loaded the next time.
  void add(std::uint32_t stripe, PageRun run, Gsn gsn, Gsn durable, GiveBack give_back) noexcept;

  /// Calls give_back() for all runs with a GSN of at most `durable`.
  void take_durable(Gsn durable, GiveBack give_back) noexcept;

  /// The highest GSN that some run waits for; 0 if none waits.
  [[nodiscard]] Gsn newest() noexcept;

 private:
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kSweepMin = 64;

  struct Entry {
    PageRun run;
    Gsn gsn{};
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    std::vector<Entry> entries;
    std::size_t sweep_at = kSweepMin;
  };

  void sweep(Shard& shard, Gsn durable, GiveBack give_back) noexcept;

  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> count_{0};  ///< of all shards
};

}  // namespace palimpsest::buffer
