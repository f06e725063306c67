// The hybrid latch of every page: optimistic, shared and exclusive modes in 16 bytes.
//
// Why this design: Böttcher et al., DaMoN 2020. A version word makes reads free of writes to shared
// memory; a shared/exclusive lock that parks serves where there are more threads than cores. All
// state is in one word, so every change of it is one atomic read-modify-write.
//
// The word, from the lowest bit:
//    0 15  shared count
//   15  1  writer waiting  a writer sleeps or is about to: no new shared holder enters
//   16  1  exclusive
//   17  1  parked          somebody sleeps on the wake sequence
//   18 46  version         raised when exclusive is given up after a change
// A "version" in the interface is that word with the low 18 bits cleared.
//
// Invariants:
//  (1) exclusive excludes a shared count above 0; both are entered by compare-and-swap only.
//  (2) The version changes only in the step that gives up exclusive. A writer's accesses lie
//  between
//      two steps: setting exclusive and raising the version.
//  (3) Who clears parked raises the wake sequence after it, and then wakes all.
//  (4) Who sleeps has read the sequence first and seen parked set after it, while it was blocked.
//  (5) writer waiting is set only by a writer in lock_exclusive, and cleared by the step in which a
//      writer that waited acquires. So while it is set, its last setter has not acquired yet.
//  (6) The latch is never released by clearing parked first: exclusive or the last shared hold is
//      given up, and the value replaced says whether to wake.
//
// Why no interleaving breaks them (all read-modify-writes continue the release sequences before
// them, so every acquire below synchronises with all earlier releases):
//  - Reader against writer. The writer sets exclusive, then a release fence, then stores. A reader
//    that saw any of these stores runs an acquire fence in validate() and then loads the word:
//    fence synchronises with fence, so it sees exclusive or a later value, and by (2) no later
//    value carries its version. A seq_cst load in place of the fence would not do: nothing would
//    keep the data loads before it from being delayed past it. A reader that started after the
//    unlock acquired it.
//  - Upgrade. try_upgrade's compare-and-swap replaces a word with the version remembered, so by (2)
//    no writer came in between. Loads made before it may be delayed past it: exclusive keeps the
//    data unchanged, and the release of our unlock keeps them before the next writer's stores.
//  - Upgrade against shared. Both change the same word by compare-and-swap: whichever comes second
//    sees the first and, by (1), fails or waits.
//  - Lost wake-up. A waiter's step that sets parked or sees it set comes, in the order of the
//  word's
//    changes, before or after the releasing step. After: the waiter sees the latch released and
//    does not sleep. Before: the releaser sees parked, clears it and raises the sequence (3). The
//    waiter read the sequence before that raise, for had it read it after, it would have seen
//    parked cleared (4); so the kernel either finds the sequence changed or wakes it. If several
//    releasers see the same parked bit, each clears and raises: a spurious wake-up, never a lost
//    one.
//  - Sleeping on a free latch. A reader may sleep because of writer waiting while nobody holds the
//    latch. By (5) that writer is yet to acquire: it was woken by (3) or has not slept. It keeps
//    parked when it acquires, and its unlock wakes the reader.
//
// Fairness: shared holders cannot starve a writer: once it has waited, no new shared holder enters
// until a waiting writer has been served. Writers cannot starve a reader: one that saw
// kReaderPatience changes pass ignores writer waiting. Between writers there is no order; a waiting
// one may be overtaken. Shared mode is NOT recursive: a writer that arrives between two shared
// acquisitions of one thread blocks the second one forever. debug_checks notice a release without a
// hold, not a foreign one.
//
// Latching: callers of the blocking functions follow docs/latch-order.md. An unlocking thread
// touches the latch after another may have acquired it, so its memory must outlive every release
// (frames are never unmapped; other memory is reclaimed by epochs). ThreadSanitizer knows no
// fences: under PALIMPSEST_TSAN guards take the shared mode for optimistic reads, fences are left
// out, and validate() is an acquire load.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/thread_annotations.h"

namespace palimpsest {

/// Whether a blocking acquisition met contention; for statistics and contention splits.
enum class Waited : bool { no, yes };

class PALIMPSEST_CAPABILITY("hybrid latch") HybridLatch {
 public:
  /// Concurrent shared holders at most; one more aborts the program.
  static constexpr std::uint64_t kSharedMax = (std::uint64_t{1} << 15) - 1;
  /// Changes a waiting reader lets pass before it ignores waiting writers.
  static constexpr std::uint64_t kReaderPatience = 8;

  HybridLatch() noexcept = default;
  HybridLatch(const HybridLatch&) = delete;
  HybridLatch& operator=(const HybridLatch&) = delete;
  ~HybridLatch() { debug_check(!is_held(), "latch destroyed while held"); }

  // Optimistic mode: remember a version, read, validate.

  /// The version to validate against. Waits while the latch is exclusive: spins briefly, then
  /// parks.
  [[nodiscard]] std::uint64_t optimistic() noexcept {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    if (word & kExclusive) [[unlikely]] {
      return optimistic_slow();
    }
    return word & kVersionMask;
  }

  /// The same without waiting; nothing while the latch is exclusive.
  [[nodiscard]] std::optional<std::uint64_t> try_optimistic() const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    if (word & kExclusive) [[unlikely]] {
      return std::nullopt;
    }
    return word & kVersionMask;
  }

  /// True if everything read since `version` was remembered is unchanged: no exclusive holder then
  /// or now raised or may yet raise the version. Shared holders and waiters do not matter.
  [[nodiscard]] bool validate(std::uint64_t version) const noexcept {
#ifdef PALIMPSEST_TSAN
    const std::uint64_t word = word_.load(std::memory_order_acquire);
#else
    std::atomic_thread_fence(std::memory_order_acquire);
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
#endif
    return (word & (kVersionMask | kExclusive)) == version;
  }

  // Shared mode. Not recursive.

  /// Waits while the latch is exclusive or a writer waits.
  Waited lock_shared() noexcept PALIMPSEST_ACQUIRE_SHARED() {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    if (admits_shared(word) && enter(word, word + 1)) [[likely]] {
      return Waited::no;
    }
    return lock_shared_slow();
  }

  /// False if the latch is exclusive or a writer waits.
  [[nodiscard]] bool try_lock_shared() noexcept PALIMPSEST_TRY_ACQUIRE_SHARED(true) {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while (admits_shared(word)) {
      if (enter(word, word + 1)) {
        return true;
      }
    }
    return false;
  }

  /// Optimistic to shared: true, and held, if `version` is still valid and no writer waits. Success
  /// validates everything read since `version` was remembered.
  [[nodiscard]] bool try_shared_at(std::uint64_t version) noexcept
      PALIMPSEST_TRY_ACQUIRE_SHARED(true) {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while (admits_shared(word) && (word & kVersionMask) == version) {
      if (enter(word, word + 1)) {
        return true;
      }
    }
    return false;
  }

  void unlock_shared() noexcept PALIMPSEST_RELEASE_SHARED() {
    const std::uint64_t before = word_.fetch_sub(1, std::memory_order_release);
    debug_check((before & kSharedMask) != 0, "unlock_shared without a shared holder");
    if ((before & (kSharedMask | kParked)) == (1 | kParked)) [[unlikely]] {
      wake();
    }
  }

  // Exclusive mode.

  Waited lock_exclusive() noexcept PALIMPSEST_ACQUIRE() {
    if (try_lock_exclusive()) [[likely]] {
      return Waited::no;
    }
    return lock_exclusive_slow();
  }

  /// False if anyone holds the latch. Waiting writers are overtaken.
  [[nodiscard]] bool try_lock_exclusive() noexcept PALIMPSEST_TRY_ACQUIRE(true) {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while (!(word & kHeld)) {
      if (enter(word, word | kExclusive)) {
        publish_exclusive();
        return true;
      }
    }
    return false;
  }

  /// Optimistic to exclusive: true, and held, if `version` is still valid and nobody holds the
  /// latch. Success validates everything read since `version` was remembered.
  [[nodiscard]] bool try_upgrade(std::uint64_t version) noexcept PALIMPSEST_TRY_ACQUIRE(true) {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & (kVersionMask | kHeld)) == version) {
      if (enter(word, word | kExclusive)) {
        publish_exclusive();
        return true;
      }
    }
    return false;
  }

  /// Releases and raises the version: optimistic readers of before fail to validate.
  void unlock_exclusive() noexcept PALIMPSEST_RELEASE() {
    leave_exclusive(kVersionStep - kExclusive);
  }

  /// Releases with the version as before: for changes that optimistic readers need not notice,
  /// because they read none of the bytes changed or are right with either value.
  void unlock_exclusive_unchanged() noexcept PALIMPSEST_RELEASE() {
    leave_exclusive(std::uint64_t{0} - kExclusive);
  }

  /// Exclusive to shared without a gap; raises the version.
  void downgrade_to_shared() noexcept PALIMPSEST_NO_ANALYSIS {
    leave_exclusive(kVersionStep - kExclusive + 1);
  }

  /// The version that optimistic() returns once the exclusive holder, which is the caller, has
  /// called unlock_exclusive() or downgrade_to_shared().
  [[nodiscard]] std::uint64_t version_after_unlock() const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    debug_check((word & kExclusive) != 0, "version_after_unlock without exclusive");
    return (word & kVersionMask) + kVersionStep;
  }

  /// For the exclusive holder: whether the version is still the one remembered, that is, whether it
  /// stands where a successful try_upgrade(version) would have put it.
  [[nodiscard]] bool exclusive_at(std::uint64_t version) const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    debug_check((word & kExclusive) != 0, "exclusive_at without exclusive");
    return (word & kVersionMask) == version;
  }

  // What others may ask; only the holder can rely on the answer.

  [[nodiscard]] bool is_exclusive() const noexcept {
    return (word_.load(std::memory_order_relaxed) & kExclusive) != 0;
  }

  /// Held in shared or exclusive mode.
  [[nodiscard]] bool is_held() const noexcept {
    return (word_.load(std::memory_order_relaxed) & kHeld) != 0;
  }

 private:
  static constexpr std::uint64_t kSharedMask = kSharedMax;
  static constexpr std::uint64_t kWriterWaiting = std::uint64_t{1} << 15;
  static constexpr std::uint64_t kExclusive = std::uint64_t{1} << 16;
  static constexpr std::uint64_t kParked = std::uint64_t{1} << 17;
  static constexpr std::uint64_t kVersionStep = std::uint64_t{1} << 18;
  static constexpr std::uint64_t kVersionMask = ~(kVersionStep - 1);
  static constexpr std::uint64_t kHeld = kExclusive | kSharedMask;

  /// One more shared holder may enter. A full shared count carries into writer waiting, so that the
  /// slow path meets it.
  static bool admits_shared(std::uint64_t word) noexcept {
    return ((word + 1) & (kExclusive | kWriterWaiting)) == 0;
  }

  /// The step into a held state; on failure `word` is what is there now.
  bool enter(std::uint64_t& word, std::uint64_t desired) noexcept {
    return word_.compare_exchange_weak(word, desired, std::memory_order_acquire,
                                       std::memory_order_relaxed);
  }

  /// Keeps the holder's stores behind the step that set exclusive.
  static void publish_exclusive() noexcept {
#ifndef PALIMPSEST_TSAN
    std::atomic_thread_fence(std::memory_order_release);
#endif
  }

  void leave_exclusive(std::uint64_t difference) noexcept {
    const std::uint64_t before = word_.fetch_add(difference, std::memory_order_release);
    debug_check((before & kHeld) == kExclusive, "exclusive released without being held");
    if (before & kParked) [[unlikely]] {
      wake();
    }
  }

  std::uint64_t optimistic_slow() noexcept;
  Waited lock_shared_slow() noexcept;
  Waited lock_exclusive_slow() noexcept;
  void park_while(std::uint64_t blockers, std::uint64_t marks) noexcept;
  void wake() noexcept;

  std::atomic<std::uint64_t> word_{kVersionStep};  ///< see the table above
  std::atomic<std::uint32_t> wake_sequence_{0};    ///< futex: raised whenever sleepers are woken
  [[maybe_unused]] std::uint32_t reserved_{0};
};

static_assert(sizeof(HybridLatch) == 16);

}  // namespace palimpsest
