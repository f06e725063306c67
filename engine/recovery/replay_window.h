// A window: a piece of the log on its way to the pages, with records read from the stream and
// distributed to the workers that own their pages; and the queue in which windows wait.
//
// Why windows: records of different slots are not sorted in the stream, and a page's records must
// be redone in the order of their GSNs. When a batch states the durable GSN g, every record of its
// incarnation up to g has been read by the end of that batch. So a window is submitted with the
// records at or below the last such g, and the rest moves to the next window. Then no later window
// contains anything older, and only the records within one window have to be sorted, by page. Large
// windows bring many records of a page together, which makes redo fast: the page stays in the
// processor's cache.
//
// Why threads and no task library: each page belongs to one worker for good, each worker takes the
// windows in order, and nothing is handed over; there is nothing to schedule (decision 060).
// Invariants: (1) all records of a page go to one worker, window after window in rising GSNs; (2)
// at most kWindows windows exist, so that memory is bounded.
// Thread-safety: the queue's functions as named, one reader and the workers. A window belongs to
// the reader until it is submitted; until all workers are done with it, it is only read.
// Failure: the first exception of any worker ends the queue, and is thrown to the reader.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <mutex>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/bytes.h"
#include "base/ids.h"
#include "wal/log_format.h"

namespace palimpsest::engine {

/// A record in a window, for one of its pages. Small, because there are many, and each is moved.
struct ReplayRecord {
  Gsn gsn{};
  std::uint32_t offset = 0;           ///< of the body, in the window
  std::uint32_t bytes : 31 = 0;       ///< of the body
  std::uint32_t formats : 1 = false;  ///< the page gets new content and is not read
};

/// One record for one of its pages.
struct ReplayItem {
  PageId page{};
  ReplayRecord record;
};
static_assert(sizeof(ReplayRecord) == 16 && sizeof(ReplayItem) == 24);
static_assert(wal::kPayloadBytesMax < std::size_t{1} << 31U, "a body's length has 31 bits");

class ReplayWindow {
 public:
  explicit ReplayWindow(std::size_t workers) : items_(workers) {}

  /// Copies a body; returns its offset for items of this window. Throws out_of_memory beyond 4 GiB,
  /// which means that the log's stated GSNs do not rise.
  [[nodiscard]] std::uint32_t add_body(ConstBytes body) {
    if (body.size() > bodies_.size() - used_) [[unlikely]] {
      make_room(body.size());
    }
    std::byte* into = bodies_.data() + used_;
    const auto offset = static_cast<std::uint32_t>(used_);
    used_ += body.size();
    copy_bytes(into, body);
    return offset;
  }
  void add_item(std::size_t worker, const ReplayItem& item) {
    items_[worker].push_back(item);
    newest_gsn_ = std::max(newest_gsn_, item.record.gsn);
  }
  /// Moves records above `gsn` to `next`.
  void move_above(Gsn gsn, ReplayWindow& next);
  void clear() noexcept;

  [[nodiscard]] std::size_t bytes() const noexcept { return used_; }
  [[nodiscard]] const std::vector<ReplayItem>& items(std::size_t worker) const noexcept {
    return items_[worker];
  }
  [[nodiscard]] ConstBytes body_of(const ReplayRecord& record) const noexcept {
    return {bodies_.data() + record.offset, record.bytes};
  }

 private:
  /// memcpy, inlined for the lengths that most bodies have.
  static void copy_bytes(std::byte* into, ConstBytes bytes) noexcept {
    const std::byte* from = bytes.data();
    const std::size_t size = bytes.size();
    if (size < 16 || size > 32) {
      std::memcpy(into, from, size);
      return;
    }
    std::memcpy(into, from, 16);
    std::memcpy(into + size - 16, from + size - 16, 16);
  }
  void make_room(std::size_t bytes);

  std::vector<std::byte> bodies_;  ///< the first used_ bytes
  std::size_t used_ = 0;
  std::vector<std::vector<ReplayItem>> items_;  ///< by worker
  Gsn newest_gsn_{};
};

class WindowQueue {
 public:
  static constexpr std::size_t kWindows = 3;  ///< read, replayed, and one in between

  explicit WindowQueue(std::size_t workers);

  // Called by the reader:

  /// Waits for an empty window; meanwhile calls waiting() periodically. Throws what a worker threw.
  [[nodiscard]] ReplayWindow& take_free(FunctionRef<void()> waiting);
  /// Passes the window taken last to the workers. `log_position`: the end of what was read of the
  /// log.
  void submit(std::uint64_t log_position);
  /// The log has ended: there are no more windows.
  void close();
  /// Waits until all workers have called finished(). Throws what a worker threw.
  void wait_finished(FunctionRef<void()> waiting);
  /// The log is replayed up to here.
  [[nodiscard]] std::uint64_t replayed() const;

  // Called by worker `worker`:

  /// The next window; nullptr at the end or after a failure.
  [[nodiscard]] const ReplayWindow* next(std::size_t worker);
  /// The worker is done with the window it got last.
  void done(std::size_t worker);
  /// The worker has nothing left to do.
  void finished();

  /// Whether a failure has ended the queue.
  [[nodiscard]] bool failed() const;
  /// Called by any thread: ends the queue.
  void fail(std::exception_ptr failure) noexcept;

 private:
  [[nodiscard]] std::uint64_t done_by_all() const noexcept;  // mutex_ is held
  /// Waits until `ready()`; calls waiting() without the mutex.
  template <class Ready>
  void wait_until(const Ready& ready, FunctionRef<void()> waiting);

  mutable std::mutex mutex_;
  std::condition_variable submitted_changed_;  ///< workers wait
  std::condition_variable done_changed_;       ///< the reader waits
  // Protected by mutex_; the windows as described above:
  std::vector<ReplayWindow> windows_;
  std::array<std::uint64_t, kWindows> positions_{};  ///< of submitted windows
  std::uint64_t replayed_ = 0;
  std::uint64_t submitted_ = 0;      ///< windows so far
  std::vector<std::uint64_t> done_;  ///< by worker, windows so far
  std::size_t finished_ = 0;         ///< workers
  bool closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace palimpsest::engine
