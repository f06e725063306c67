// Returns unused space of the page file in the background, without any call.
//
// A removed record leaves a ghost, which is purged when its leaf is written to again; that may
// never happen. So the keeper looks periodically:
// - which trees have had so much removed, and not purged (BTree::dead()), that walking through all
//   of their leaves is worth it: an eighth of the tree, and at least 1 MiB. When every transaction
//   that may have seen the removed records has ended, it purges them, some leaves at a time, and
//   pauses three times as long as each step took;
// - whether a long end of the file is free, and was at the previous look: it cuts the end off,
//   except what the file would grow by at once;
// - whether most of the file is free, and little has changed for a while: it moves pages down as
//   Database::compact() does, at the same pace, and does not try again before as much again has
//   become free.
// Rejected: walking all the time, which reads leaves that are not needed; purging within the calls
// that remove records, which are to be short (decision 049).
//
// Latching: a mutex to sleep on. A thread of its own, if it is started.
// Thread-safety: step() from one thread at a time, and not while the background thread works.
// Failure: what failed is tried again later; the keeper passes over damaged pages, which the next
// reader reports.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>

#include "engine/space/compaction.h"

namespace palimpsest::engine {

class SpaceKeeper {
 public:
  /// All references outlive this.
  explicit SpaceKeeper(CompactedParts parts) : parts_(std::move(parts)) {}
  /// Stops the thread.
  ~SpaceKeeper();
  SpaceKeeper(const SpaceKeeper&) = delete;
  SpaceKeeper& operator=(const SpaceKeeper&) = delete;

  /// Runs in the background until stop(). May be started again.
  void start();
  void stop() noexcept;
  /// Looks once, and does what is due; returns whether anything was.
  bool step();

 private:
  void work();
  bool try_step() noexcept;
  void report_failure(const char* cause) noexcept;
  void note_ghost_leaf();
  [[nodiscard]] bool purge_ghosts();
  void purge(TreeId id);
  [[nodiscard]] bool cut_tail();
  [[nodiscard]] bool compact();
  void rest_after(std::chrono::steady_clock::time_point begun);
  bool sleep(std::chrono::steady_clock::duration pause);

  const CompactedParts parts_;
  /// Trees to be walked through, and the clock when that was found.
  std::map<TreeId, Gsn> dead_;
  // Findings of the previous look:
  std::uint64_t tail_before_ = 0;
  std::uint64_t in_use_before_ = 0;
  /// Pages in use when moving pages was last tried; 0: never.
  std::uint64_t compacted_at_ = 0;
  bool has_failed_ = false;  ///< in its last step; used by the thread
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  ///< protected by mutex_
  std::thread thread_;
};

}  // namespace palimpsest::engine
