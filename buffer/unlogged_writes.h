// Which pages are written without the log, for a thread that copies the page file while it is in
// use.
//
// A copy gets logged changes from the log. Fresh pages (page_writer.h) are in no log: the copier
// has to copy those again that were written since. While it watches, each such write marks its
// pages when it has ended; the copier clears marks before it reads the pages.
//
// Invariants: (1) a page whose write ends after watch() has returned is then marked, unless the
//                 mark was taken after that or forget() was called; also if the write began before
//                 watch(), or failed;
//             (2) while a Pause lasts no write is under way, and all earlier ones are marked.
// Latching: the gate is held shared across a write's I/O, and exclusively by a Pause; a thread that
//           waits for it holds no page latch. A mutex over the marks, held briefly.
// Thread-safety: writes from any thread; watching, taking and pausing by one thread at a time.
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

  /// From now on writes mark their pages; no page is marked at first. Memory: a bit a page, up to
  /// the highest page written. If memory for a mark is missing, take() fails.
  void watch();
  /// Writes mark nothing any more.
  void forget() noexcept;

  /// Clears the lowest marks from `from` on that follow each other, `most` at most; nothing if
  /// there are none. Throws std::bad_alloc if some mark could not be made.
  [[nodiscard]] std::optional<PageRun> take(PageId from, std::uint32_t most);
  /// Pages marked.
  [[nodiscard]] std::uint64_t count() const;

 private:
  void mark(std::span<const PageImage> pages) noexcept;
  [[nodiscard]] bool is_marked(std::uint64_t page) const noexcept;

  std::mutex door_;         ///< gives a Pause precedence over writes that begin later
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

/// While it exists, no page is written without the log. The constructor waits for writes under way.
class UnloggedWrites::Pause {
 public:
  explicit Pause(UnloggedWrites& writes) : door_(writes.door_), gate_(writes.gate_) {}

 private:
  std::unique_lock<std::mutex> door_;
  std::unique_lock<std::shared_mutex> gate_;
};

}  // namespace palimpsest::buffer
