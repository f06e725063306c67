// The hybrid latch of every page: optimistic, shared and exclusive modes in 16 bytes.
//
// Why this design: Böttcher et al., DaMoN 2020. With a version word, reads write no shared memory;
// a shared/exclusive lock that parks works where there are more threads than cores.
//
// All state is one word, changed by one atomic read-modify-write at a time. From the lowest bit:
//    0 15  shared count
//   15  1  writer waiting  a writer sleeps or is about to: no new shared holder enters
//   16  1  exclusive
//   17  1  parked          a thread sleeps on the wake sequence
//   18 46  version         raised when exclusive is released after a change
// A "version" in the interface is that word with the low 18 bits cleared.
//
// Invariants:
//  (1) exclusive excludes a shared count above 0; both are entered by compare-and-swap only.
//  (2) The version changes only in the step that releases exclusive. A writer makes its changes
//      between two steps: the one that sets exclusive and the one that raises the version.
//  (3) A thread that clears parked then raises the wake sequence, and then wakes all sleepers.
//  (4) A thread that sleeps has read the sequence, and after it has seen parked set while blocked.
//  (5) writer waiting is set only in lock_exclusive; a writer that has waited clears it in the step
//      in which it acquires. While the bit is set, the writer that set it last has not acquired
//      yet.
//  (6) Releasing exclusive or the last shared hold is one step; the value it replaced says whether
//      to wake. Parked is cleared after it, never before.
//
// Why no interleaving breaks them. (Read-modify-writes continue the release sequences before them,
// so each acquire here synchronises with all earlier releases.)
//  - Reader against writer: the writer sets exclusive, then a release fence, then stores. A reader
//    that saw one of these stores runs an acquire fence in validate(), then loads the word: the
//    fences synchronise, so it sees exclusive or a later value, and by (2) none of these equals its
//    version (but for unlock_exclusive_unchanged, whose changes it need not notice). A seq_cst load
//    in place of the fence is not enough: data loads before it may be delayed past it.
//  - Upgrade: the compare-and-swap replaces a word that has the version remembered, so by (2) no
//    writer came in between. Loads before it may be delayed past it: until our unlock no thread
//    changes the data, and its release keeps them before the next writer's stores.
//  - Upgrade against shared: both change the same word; the second sees the first, fails or waits.
//  - Parking loses no wake-up: see hybrid_latch.cc.
//
// Fairness: readers cannot starve a writer: once one waits, no new shared holder enters before a
// waiting writer was served. Writers cannot starve a reader: one that was woken kReaderPatience
// times in vain ignores writer waiting. Waiting writers are unordered and may be overtaken. Shared
// mode is NOT recursive: if a writer comes between two shared acquisitions of one thread, the
// second blocks for ever. Debug checks notice a release without a holder, not a release by another
// thread.
//
// Latching: docs/latch-order.md. An unlocking thread may touch the latch after the next holder has
// acquired it, so its memory outlives every release: frames are never unmapped, and other owners
// outlive the threads that use them.
// ThreadSanitizer knows no fences: under PALIMPSEST_TSAN guards take shared mode for optimistic
// reads, the fences are left out, and validate() is an acquire load.
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
  /// How often a reader wakes in vain before it ignores waiting writers.
  static constexpr int kReaderPatience = 8;
  static constexpr unsigned kVersionShift = 18;  ///< versions differ from this bit upwards

  HybridLatch() noexcept = default;
  HybridLatch(const HybridLatch&) = delete;
  HybridLatch& operator=(const HybridLatch&) = delete;
  ~HybridLatch() { PALIMPSEST_DEBUG_CHECK(!is_held(), "latch destroyed while held"); }

  // Optimistic mode: remember a version, read, validate.

  /// The version to validate against. Waits while the latch is exclusive: spins, then parks.
  [[nodiscard]] std::uint64_t optimistic() noexcept {
    const auto version = try_optimistic();
    return version ? *version : optimistic_slow();
  }

  /// As optimistic(), without waiting; empty while the latch is exclusive.
  [[nodiscard]] std::optional<std::uint64_t> try_optimistic() const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    if (word & kExclusive) [[unlikely]] {
      return std::nullopt;
    }
    return word & kVersionMask;
  }

  /// True if everything read since `version` was remembered is unchanged: no exclusive holder has
  /// raised the version since, or may yet raise it. Shared holders and waiting threads do not
  /// matter.
  [[nodiscard]] bool validate(std::uint64_t version) const noexcept {
#ifndef PALIMPSEST_TSAN
    std::atomic_thread_fence(std::memory_order_acquire);
#endif
    return (word_.load(std::memory_order_acquire) & (kVersionMask | kExclusive)) == version;
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
    return try_enter(1, admits_shared);
  }

  /// Optimistic to shared: true, and held, if `version` is still valid and no writer waits. Success
  /// validates everything read since `version` was remembered.
  [[nodiscard]] bool try_shared_at(std::uint64_t version) noexcept
      PALIMPSEST_TRY_ACQUIRE_SHARED(true) {
    return try_enter(1, [version](std::uint64_t word) {
      return admits_shared(word) && (word & kVersionMask) == version;
    });
  }

  void unlock_shared() noexcept PALIMPSEST_RELEASE_SHARED() {
    const std::uint64_t before = word_.fetch_sub(1, std::memory_order_release);
    PALIMPSEST_DEBUG_CHECK((before & kSharedMask) != 0, "unlock_shared without a shared holder");
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

  /// False if a thread holds the latch. Overtakes waiting writers.
  [[nodiscard]] bool try_lock_exclusive() noexcept PALIMPSEST_TRY_ACQUIRE(true) {
    return try_enter(kExclusive, [](std::uint64_t word) { return (word & kHeld) == 0; });
  }

  /// Optimistic to exclusive: true, and held, if `version` is still valid and the latch is free.
  /// Success validates everything read since `version` was remembered.
  [[nodiscard]] bool try_upgrade(std::uint64_t version) noexcept PALIMPSEST_TRY_ACQUIRE(true) {
    return try_enter(kExclusive, [version](std::uint64_t word) {
      return (word & (kVersionMask | kHeld)) == version;
    });
  }

  /// Releases and raises the version: earlier optimistic readers fail to validate.
  void unlock_exclusive() noexcept PALIMPSEST_RELEASE() {
    leave_exclusive(kVersionStep - kExclusive);
  }

  /// Releases without raising the version: for changes that optimistic readers need not notice,
  /// because they read none of the changed bytes or are correct with either value.
  void unlock_exclusive_unchanged() noexcept PALIMPSEST_RELEASE() {
    leave_exclusive(std::uint64_t{0} - kExclusive);
  }

  /// For the exclusive holder: the version that optimistic() returns after unlock_exclusive().
  [[nodiscard]] std::uint64_t version_after_unlock() const noexcept {
    PALIMPSEST_DEBUG_CHECK(is_exclusive(), "version_after_unlock needs the exclusive latch");
    return (word_.load(std::memory_order_relaxed) & kVersionMask) + kVersionStep;
  }

  /// For the exclusive holder: whether the version is still the one remembered.
  [[nodiscard]] bool exclusive_at(std::uint64_t version) const noexcept {
    PALIMPSEST_DEBUG_CHECK(is_exclusive(), "exclusive_at needs the exclusive latch");
    return (word_.load(std::memory_order_relaxed) & kVersionMask) == version;
  }

  // Queries; only the holder can rely on the answer.
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
  static constexpr std::uint64_t kVersionStep = std::uint64_t{1} << kVersionShift;
  static constexpr std::uint64_t kVersionMask = ~(kVersionStep - 1);
  static constexpr std::uint64_t kHeld = kExclusive | kSharedMask;

  /// Whether one more shared holder may enter. A full count carries into writer waiting.
  static bool admits_shared(std::uint64_t word) noexcept {
    return ((word + 1) & (kExclusive | kWriterWaiting)) == 0;
  }

  /// The step into a held state, before all of the holder's stores; reloads `word` on failure.
  bool enter(std::uint64_t& word, std::uint64_t desired) noexcept {
    const bool entered = word_.compare_exchange_weak(word, desired, std::memory_order_acquire,
                                                     std::memory_order_relaxed);
#ifndef PALIMPSEST_TSAN
    std::atomic_thread_fence(std::memory_order_release);
#endif
    return entered;
  }

  /// Adds `mode`, 1 or kExclusive, if `admits` accepts the current word.
  template <class Admits>
  bool try_enter(std::uint64_t mode, Admits admits) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while (admits(word)) {
      if (enter(word, word + mode)) {
        return true;
      }
    }
    return false;
  }

  void leave_exclusive(std::uint64_t difference) noexcept {
    const std::uint64_t before = word_.fetch_add(difference, std::memory_order_release);
    PALIMPSEST_DEBUG_CHECK((before & kHeld) == kExclusive, "exclusive released without being held");
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
};

static_assert(sizeof(HybridLatch) == 16);

}  // namespace palimpsest
