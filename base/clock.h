// The database's one clock. Commit timestamps, snapshots and the GSNs of log records are its
// readings.
//
// Invariants: (1) the clock never falls;
//             (2) each draw() returns a unique reading, above every reading taken before it and
//                 above the GSN it was given.
// All accesses are sequentially consistent: the arguments of worker_slots.h order them with the
// slots' words.
// Thread-safety: all functions, from any thread; none blocks.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/ids.h"

namespace palimpsest {

class Clock {
 public:
  /// After recovery, `start` is above every GSN ever handed out.
  explicit Clock(Gsn start = Gsn{1}) noexcept : now_(raw(start)) {}

  [[nodiscard]] Gsn now() const noexcept { return Gsn{now_.load()}; }

  /// Advances the clock beyond its reading and beyond `own`, and returns the new reading. One
  /// fetch-and-add: if the clock moves after its reading was loaded, a gap may result, never a
  /// duplicate.
  [[nodiscard]] Gsn draw(Gsn own) noexcept {
    const std::uint64_t seen = now_.load();
    const std::uint64_t step = raw(own) >= seen ? raw(own) + 1 - seen : 1;
    return Gsn{now_.fetch_add(step) + step};
  }

  /// Atomic maximum: raises the clock to at least `to`.
  void raise(Gsn to) noexcept {
    std::uint64_t seen = now_.load();
    while (seen < raw(to) && !now_.compare_exchange_weak(seen, raw(to))) {
    }
  }

 private:
  std::atomic<std::uint64_t> now_;
};

}  // namespace palimpsest
