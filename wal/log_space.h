// Space for the log on disk when its budget is used up: where it comes from, and how threads wait.
//
// Space comes from new segments, or from moving replay's start; the latter is another component's
// work, requested by LogOptions::on_filling. When the disk has no room for a further segment, the
// log cannot grow, whatever its bound. A waiting thread gets that error only after a while, because
// replay's start may move meanwhile. A transaction that must end because it holds the log back gets
// transaction_too_old; but no_space if it has used so much of the log itself that a retry would end
// the same way.
//
// Latching: a mutex while a segment is made, across I/O. A thread that gives segments back waits
//           for it; a thread that waits for space holds no latch.
// Thread-safety: all functions, from any thread.
// Failure: no_space, naming the log's directory, size and bound; io_error for a segment that could
//          not be made. Nothing has changed then.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>

#include "palimpsest/error.h"
#include "palimpsest/function_ref.h"

#include "wal/log_budget.h"
#include "wal/segments.h"

namespace palimpsest::wal {

class LogSpace {
 public:
  /// When a waiting thread first found the disk full; empty: it did not.
  using FullSince = std::optional<std::chrono::steady_clock::time_point>;

  /// All references outlive it. `on_filling` may be empty.
  LogSpace(Segments& segments, LogBudget& budget, const std::function<void()>& on_filling) noexcept
      : segments_(segments), budget_(budget), on_filling_(on_filling), counted_(segments.bytes()) {}

  /// Usable bytes of the existing segments, and of all that there may be: excludes what padding and
  /// half-filled segment ends may take before credit would be wrong.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return usable(segments_.bytes()); }
  [[nodiscard]] std::uint64_t bytes_max() const noexcept { return usable(segments_.bytes_max()); }

  /// Waits a little for `bytes`. The caller checks itself whether they are there, and calls again
  /// with the same `full_since`, which is empty at first. Calls give_up() before it sleeps, and
  /// returns false once that returns true.
  [[nodiscard]] bool wait_for(FullSince& full_since, std::int64_t bytes,
                              FunctionRef<bool()> give_up);
  /// For a transaction that must end because it holds the log back, and that has `bytes` of log
  /// itself. Throws no_space if a retry would end the same way, because `bytes` are much of the log
  /// and the disk has no room for more.
  void require_for_one(std::uint64_t bytes);

  /// Says that segments of so many bytes are spare again, and that some may have been removed;
  /// waiting threads check again. Returns whether there is more space.
  bool give(std::uint64_t segment_bytes) noexcept;
  /// Whether a thread sleeps for space, with nothing given since it checked. A thread that was
  /// woken no longer counts, even if it has not run yet.
  [[nodiscard]] bool is_waited_for() const noexcept {
    return waiters_.load() > waiters_of(given_.load(), 0);
  }

 private:
  /// Usable part of files with that many bytes. The margin is two segments; in a log that begins
  /// with smaller ones a quarter of the bytes, but at least two of the smallest. (The loss at the
  /// end of a segment is less than half of the smallest.)
  [[nodiscard]] std::uint64_t usable(std::uint64_t bytes) const noexcept {
    const std::uint64_t margin =
        std::clamp(bytes / 4, 2 * segments_.first_segment_bytes(), 2 * segments_.segment_bytes());
    return bytes - std::min(bytes, margin);
  }
  [[nodiscard]] static std::uint64_t waiters_of(std::uint32_t seen, std::uint32_t count) noexcept {
    return std::uint64_t{seen} << 32U | count;
  }
  void sleep(std::uint32_t seen) noexcept;
  [[nodiscard]] bool make_segment(std::int64_t bytes);
  [[nodiscard]] bool grow();
  [[noreturn]] void refuse(std::string_view what, const Error& error) const;

  Segments& segments_;
  LogBudget& budget_;
  const std::function<void()>& on_filling_;
  std::mutex making_;
  /// Bytes of the files that the budget contains: of all files except those that the stream made
  /// when the budget was overdrawn, which count once segments are given back. Protected by making_.
  std::uint64_t counted_;
  std::atomic<std::uint32_t> given_{0};  ///< waiting threads sleep on it
  /// Number of sleeping threads, in the bits below the value of given_ that they saw: waiters_of().
  std::atomic<std::uint64_t> waiters_{0};
};

}  // namespace palimpsest::wal
