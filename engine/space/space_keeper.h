// Gives the space of the page file back in the background, without a call of anybody.
//
// What is removed leaves ghosts, which go when their leaf is written to again; nobody may ever do
// that. So it looks now and then
//   - which trees have had so much removed that nothing has been purged of (BTree::dead()) that
//     walking through all of their leaves is worth it: an eighth of the tree, and a MiB at least.
//     When everybody who may have seen what was removed by then has ended, it purges them, some
//     leaves at a time, and pauses three times as long as each step took;
//   - whether a long end of the file is free, and has been at the look before: it cuts it off, but
//     for what the file would grow by at once;
//   - whether most of the file is free, and nothing much has changed for a while: it moves pages
//     down as Database::compact() does, at the same leisure, and does not try again before as much
//     again has become free.
// Rejected: walking all the time, which reads leaves that nobody needs; doing it within the calls
// that remove, which are to be short (decision 049).
//
// Latching: a mutex to sleep on. A thread of its own, if it is started.
// Thread-safety: step() from one thread at a time, and nobody's while the background works.
// Failure: what could not be done is tried again later; what is damaged is left to whoever reads
// it.
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
  /// All outlive it.
  explicit SpaceKeeper(CompactedParts parts) : parts_(std::move(parts)) {}
  /// Stops.
  ~SpaceKeeper();
  SpaceKeeper(const SpaceKeeper&) = delete;
  SpaceKeeper& operator=(const SpaceKeeper&) = delete;

  /// In the background until stop(). May be started again.
  void start();
  void stop() noexcept;
  /// Looks once, and does what there is to do; whether that was anything.
  bool step();

 private:
  void work();
  bool try_step() noexcept;
  void note_ghost_leaf();
  [[nodiscard]] bool purge_ghosts();
  void purge(TreeId id);
  [[nodiscard]] bool cut_tail();
  [[nodiscard]] bool compact();
  void rest_after(std::chrono::steady_clock::time_point begun);
  bool sleep(std::chrono::steady_clock::duration pause);

  const CompactedParts parts_;
  /// Trees to be walked through, and when that was found.
  std::map<TreeId, Gsn> dead_;
  // What the look before has found:
  std::uint64_t tail_before_ = 0;
  std::uint64_t in_use_before_ = 0;
  /// Pages in use when moving them was tried last; 0: it was not.
  std::uint64_t compacted_at_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  ///< protected by mutex_
  std::thread thread_;
};

}  // namespace palimpsest::engine
