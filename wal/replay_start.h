// Where replay starts, and from where on the log's segments are retained: for replay, and for a
// thread that copies the log while it is written.
//
// Invariants: (1) a segment is given back only when the control file durably says that replay
//                 starts in a later one;
//             (2) while a pin exists, only segments before the pin's segment are given back. A pin
//                 that holds back more than half of the usable log is broken instead: then the copy
//                 fails, not the writers.
// Latching: a mutex, across writing the control file; the segments' tables are latched under it.
// Thread-safety: all functions, from any thread; a Pin belongs to one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "wal/log_control.h"
#include "wal/log_space.h"
#include "wal/log_store.h"

namespace palimpsest::wal {

class ReplayStart {
 public:
  class Pin;

  /// Both references outlive it.
  ReplayStart(LogStore& store, LogSpace& space) noexcept;

  [[nodiscard]] std::uint64_t position() const noexcept {
    return position_.load(std::memory_order_acquire);
  }
  /// Durably moves replay's start, with this note, and gives back segments that are no longer
  /// needed; does nothing if replay starts later already. Returns whether that freed space, or will
  /// as soon as a pin moves on. Throws as LogControl::write().
  bool move(const LogStart& start, const std::string& note, bool clean);

 private:
  // mutex_ held:
  [[nodiscard]] bool is_held_back() const;
  void judge_pin();
  bool release();

  LogStore& store_;
  LogSpace& space_;
  std::mutex mutex_;  ///< protects the control file's state
  std::atomic<std::uint64_t> position_;
  std::optional<std::uint64_t> pinned_;  ///< segment; protected by mutex_
};

/// Retains all segments that a replay starting now would read. At most one pin exists at a time.
class ReplayStart::Pin {
 public:
  explicit Pin(ReplayStart& start);
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  ~Pin();

  /// The control file's state when the pin was made: where the retained stream begins.
  [[nodiscard]] const ControlState& state() const noexcept { return state_; }
  /// Segments before this position are no longer needed.
  void move(StreamPosition to);
  /// False once the pin was broken and its segments given back: anything read since the last check
  /// may be overwritten.
  [[nodiscard]] bool holds() const;

 private:
  ReplayStart& start_;
  ControlState state_;
};

}  // namespace palimpsest::wal
