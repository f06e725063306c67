// Where replay starts, and from where on the log's segments are kept: for replay, and for who
// copies the log while it is written.
//
// Invariants: (1) a segment is given back only when the control file durably says that replay
//                 starts in a later one;
//             (2) while it is pinned, none is that the pin's segment does not come behind. A pin
//                 that holds back more than half of what may be used of the log is broken instead:
//                 whoever copies fails, not who writes.
// Latching: a mutex, across the writing of the control file; the segments' tables are latched under
//           it.
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

  /// Both outlive it.
  ReplayStart(LogStore& store, LogSpace& space) noexcept;

  [[nodiscard]] std::uint64_t position() const noexcept {
    return position_.load(std::memory_order_acquire);
  }
  /// Says it durably, with this note, and gives back what is kept no longer; nothing if it starts
  /// later already. Whether that gave space, or will as soon as who copies the log has gone on.
  /// Throws what LogControl::write() throws.
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

/// Keeps all that a replay would read that started now. One at a time.
class ReplayStart::Pin {
 public:
  explicit Pin(ReplayStart& start);
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  ~Pin();

  /// What the control file said when it was pinned: where the stream begins that is kept.
  [[nodiscard]] const ControlState& state() const noexcept { return state_; }
  /// What lies in segments before this place is needed no longer.
  void move(StreamPosition to);
  /// False once what it kept was given back: what was read since it was last asked may be anything.
  [[nodiscard]] bool holds() const;

 private:
  ReplayStart& start_;
  ControlState state_;
};

}  // namespace palimpsest::wal
