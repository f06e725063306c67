// Which pages are written past the log, for who copies the page file while it is in use.
//
// What the log says, a copy gets from the log. Fresh pages (page_writer.h) are in no log: whoever
// copies has to copy again those that were written since. Each such write marks its pages when it
// has ended, if it is being watched; who copies takes marks away before he reads the pages.
//
// Invariants: (1) a page whose write ends after watch() has returned is marked then, or taken after
//                 that, or forget() was called; also if the write began before, or failed;
//             (2) while a Pause lasts no write is under way, and all that were are marked.
// Latching: the gate is held shared across a write's I/O, and exclusively by who pauses; whoever
//           waits for it holds no page latch. A mutex over the marks, briefly.
// Thread-safety: writes from any thread; watching, taking and pausing by one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <vector>

#include "base/ids.h"
#include "buffer/page_image.h"
#include "buffer/page_run.h"

namespace palimpsest::buffer {

class UnloggedWrites {
 public:
  class Write;
  class Pause;

  /// From now on writes mark their pages; none is marked. Memory: a bit a page, up to the highest
  /// that was written. Marks for which there is no memory make it fail (take()).
  void watch();
  /// They mark nothing any more.
  void forget() noexcept;

  /// Takes away the lowest marks from `from` on that follow each other, `most` at most; nothing if
  /// there are none. Throws std::bad_alloc if some could not be made.
  [[nodiscard]] std::optional<PageRun> take(PageId from, std::uint32_t most);
  /// Pages marked.
  [[nodiscard]] std::uint64_t count() const;

 private:
  void mark(std::span<const PageImage> pages) noexcept;
  [[nodiscard]] bool is_marked(std::uint64_t page) const noexcept;

  std::mutex door_;         ///< who pauses comes before writes that begin later
  std::shared_mutex gate_;  ///< taken through the door
  std::atomic<bool> watched_{false};
  mutable std::mutex mutex_;
  // Protected by mutex_:
  std::vector<std::uint64_t> marks_;  ///< a bit a page
  std::uint64_t count_ = 0;
  bool failed_ = false;
};

/// Exists while pages are being written.
class UnloggedWrites::Write {
 public:
  Write(UnloggedWrites& writes, std::span<const PageImage> pages);
  Write(const Write&) = delete;
  Write& operator=(const Write&) = delete;
  ~Write();

 private:
  UnloggedWrites& writes_;
  std::span<const PageImage> pages_;
  std::shared_lock<std::shared_mutex> gate_;
};

/// While it exists, nothing is written past the log. Making it waits for those under way.
class UnloggedWrites::Pause {
 public:
  explicit Pause(UnloggedWrites& writes) : door_(writes.door_), gate_(writes.gate_) {}

 private:
  std::unique_lock<std::mutex> door_;
  std::unique_lock<std::shared_mutex> gate_;
};

}  // namespace palimpsest::buffer
