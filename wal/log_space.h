// Room for the log on disk when its budget has none left: where that comes from, and who waits.
//
// It comes from new segments, or from replay starting later; the latter is somebody else's work,
// who is asked for it (LogOptions::on_filling). When the disk takes no further segment the log is
// as long as it is, whatever its bound says. Who waits is told so after a while, for replay may
// start later meanwhile. Who has to end because he holds the log back is told to try again, unless
// he has used so much of it himself that he would come to the same end: then the disk is too full
// for him.
//
// Latching: a mutex while a segment is made, across I/O; who gives segments back waits for it, who
//           waits for space holds no latch.
// Thread-safety: all functions, from any thread.
// Failure: no_space, naming directory, length and bound of the log; io_error for a segment that
//          could not be made. Nothing has changed.
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
  /// When the disk was found to be full, by one who waits; nothing: it was not.
  using FullSince = std::optional<std::chrono::steady_clock::time_point>;

  /// All references outlive it. `on_filling` may be empty.
  LogSpace(Segments& segments, LogBudget& budget, const std::function<void()>& on_filling) noexcept
      : segments_(segments), budget_(budget), on_filling_(on_filling), counted_(segments.bytes()) {}

  /// What may be used of the segments that there are, and of those that there may be: without what
  /// may be lost to padding and half-filled segment ends before credit is wrong.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return usable(segments_.bytes()); }
  [[nodiscard]] std::uint64_t bytes_max() const noexcept { return usable(segments_.bytes_max()); }

  /// Waits a little for so many bytes; the caller looks himself whether they are there, and calls
  /// again with the same `full_since`, at first nothing. Asks give_up() before it sleeps: false
  /// when told so.
  [[nodiscard]] bool wait_for(FullSince& full_since, std::int64_t bytes,
                              FunctionRef<bool()> give_up);
  /// For a transaction that has to end because it holds the log back, and takes so many bytes of
  /// it itself: throws no_space if it would have to again, since it takes much of what there is and
  /// the disk has no room for more.
  void require_for_one(std::uint64_t bytes);

  /// Segments of so many bytes are spare again, and perhaps some were removed: who waits looks
  /// again. Whether there is more space.
  bool give(std::uint64_t segment_bytes) noexcept;
  /// Somebody sleeps, and nothing has been given since he looked. Who has been woken counts no
  /// longer, also if he has not come to run yet.
  [[nodiscard]] bool is_waited_for() const noexcept {
    return waiters_.load() > waiters_of(given_.load(), 0);
  }

 private:
  /// Of files that have so many bytes together. The margin is two segments; of a log that begins
  /// with smaller ones a quarter, but at least two of these: what is lost at the end of a segment
  /// is less than half of the smallest.
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
  /// Bytes of the files of the budget: all, but for those that the stream made when it had
  /// overdrawn it, until segments are given back. Protected by making_.
  std::uint64_t counted_;
  std::atomic<std::uint32_t> given_{0};  ///< who waits sleeps on it
  /// How many sleep, below the value of given_ that they have seen: waiters_of().
  std::atomic<std::uint64_t> waiters_{0};
};

}  // namespace palimpsest::wal
