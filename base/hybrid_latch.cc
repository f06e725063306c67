// Waiting and waking. The invariants are those of the header.
//
//  - No wake-up is lost. In the order of the word's changes, the waiter's look at parked in (4)
//    comes either after the releasing step or before it. After it: the waiter sees the latch
//    released and does not sleep. Before it: the releaser sees parked (6) and acts by (3). The
//    waiter read the sequence before that raise, or it would have seen parked cleared; so the
//    kernel finds the sequence changed, or wakes the waiter. Several releasers that see the same
//    parked bit all wake: superfluous, never lost.
//  - A reader may sleep on a free latch because of writer waiting. By (5) that writer is yet to
//    acquire: it was woken by (3) or has not slept. It leaves parked set, and its unlock wakes.
#include "base/hybrid_latch.h"

#include "base/futex.h"
#include "base/sync_point.h"

namespace palimpsest {
namespace {

/// Spins a little longer each round, then says to park. Kept short: with more threads than cores
/// the holder may need this core.
class BriefSpin {
 public:
  /// False once spinning is no longer worthwhile.
  bool once() noexcept {
    if (pauses_ > kPausesMax) {
      return false;
    }
    for (int i = 0; i < pauses_; ++i) {
      spin_pause();
    }
    pauses_ *= 2;
    return true;
  }

 private:
  static constexpr int kPausesMax = 32;
  int pauses_ = 1;
};

}  // namespace

std::uint64_t HybridLatch::optimistic_slow() noexcept {
  BriefSpin spin;
  for (;;) {
    if (const auto version = try_optimistic()) {
      return *version;
    }
    if (!spin.once()) {
      park_while(kExclusive, kParked);
    }
  }
}

Waited HybridLatch::lock_shared_slow() noexcept {
  BriefSpin spin;
  Waited waited = Waited::no;
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  for (int woken = 0;;) {
    const std::uint64_t blockers =
        woken < kReaderPatience ? kExclusive | kWriterWaiting : kExclusive;
    if (!(word & blockers)) {
      check((word & kSharedMask) < kSharedMax, "too many shared holders of one latch");
      if (enter(word, word + 1)) {
        return waited;
      }
      continue;
    }
    waited = Waited::yes;
    if (!spin.once()) {
      park_while(blockers, kParked);
      ++woken;
    }
    word = word_.load(std::memory_order_relaxed);
  }
}

Waited HybridLatch::lock_exclusive_slow() noexcept {
  BriefSpin spin;
  std::uint64_t marked =
      0;  // writer waiting, once we have set it: cleared as we acquire (invariant 5)
  for (;;) {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while (!(word & kHeld)) {
      if (enter(word, (word & ~marked) | kExclusive)) {
        return Waited::yes;
      }
    }
    if (!spin.once()) {
      marked = kWriterWaiting;
      park_while(kHeld, kParked | kWriterWaiting);
    }
  }
}

/// Sets `marks` and sleeps, unless none of `blockers` is set any more.
void HybridLatch::park_while(std::uint64_t blockers, std::uint64_t marks) noexcept {
  const std::uint32_t sequence = wake_sequence_.load(std::memory_order_acquire);
  PALIMPSEST_SYNC_POINT("latch.park.sequence_read");
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  while (word & blockers) {
    if ((word & marks) == marks ||
        word_.compare_exchange_weak(word, word | marks, std::memory_order_relaxed)) {
      PALIMPSEST_SYNC_POINT("latch.park.marked");
      futex_wait(wake_sequence_, sequence);
      return;
    }
  }
}

void HybridLatch::wake() noexcept {
  PALIMPSEST_SYNC_POINT("latch.wake.released");
  word_.fetch_and(~kParked, std::memory_order_relaxed);
  wake_sequence_.fetch_add(1, std::memory_order_release);
  futex_wake_all(wake_sequence_);
}

}  // namespace palimpsest
