// The snapshots in use: how far back readers may still look (I-8).
//
// A slot has a word: free, a snapshot, or a *lower bound* of one that is being taken.
//
//   take     (T1) word = lower bound, marked   (T2) s = clock   (T3) word = s
//   horizon  (H1) c = clock   (H2) n = slots in use
//            (H3) for each of the n: its word, unless that is the snapshot cancelled there
//            horizon = min(c, the words)
//   cancel   cancelled = s, for a slot with the word s; then a horizon as above
//
// Invariant: no snapshot is below a horizon, if it is in use, or if its owner has read the clock
//            and not published it yet. Exception: a cancelled one; then its user learns of that
//            before anything leaves the engine.
// Argument, for a slot that takes s. T1, T2, H1 to H3 are sequentially consistent.
//  - H3 finds s, or the lower bound, which is at most s: the horizon is at most s.
//  - H3 finds the slot as it was before T1: then H1 < H3 < T1 < T2, and c <= s.
//  - The slot is not among the n: it was counted (N1, base/worker_slots.h) after H2, before T1.
//  - H3 finds s, and that s was cancelled: this s, or that of an earlier life of the slot. Either
//    way its owner finds the same. (A flag instead of the number would have to be cleared, and one
//    set late would meet a later life.)
// A collecting thread unlinks after H3; a reader with a cancelled snapshot may then read a state
// that is not the past. So it asks, with acquire, after it has resolved a chain: the number was
// stored before the horizon was read, and that before anything was unlinked, under the chain's
// latch, which the reader took after it.
//
// A second word says whether the slot's transaction has versions that are not decided: none, or its
// *start* or something below it. A transaction that began before all that are still running, and
// has ended, is *stable* for snapshots taken then (I-12):
//
//   change   (W1) started = clock   (W2) b = clock: the start; left with each version
//            (W3) started = none, once all versions are committed and dated, or undone and unlinked
//   look     (L1) c = clock   (L2) n = slots in use   (L3) for each of the n: its started
//            stable = min(c, the starteds); only then a snapshot is taken (T1 to T3) that uses it
//
// Invariant: a transaction of start b < stable has ended (W3) before the snapshot's T2, and the
//            snapshot sees all that it has committed.
// Argument, for b of W2. W1, W2, L1 to L3 and T2 are sequentially consistent.
//  - L3 finds what W1 has stored: that is at most b, so stable <= b.
//  - L3 finds the slot as it was before W1: then L1 < L3 < W1 < W2, and stable <= c <= b. (One
//    reading, taken before W1 and left with the versions, would not do: L1 could lie between.)
//  - The slot is not among the n: it was counted (N1) after L2, before W1: as above.
//  - Otherwise L3 finds what W3 has stored, or later lives: W3 happens before T2. The timestamp was
//    drawn before W3, so the clock was not below it at T2: the snapshot sees the commit. A change
//    that was rolled back was undone, and unlinked, before.
// A transaction that could not be undone never comes to W3.
// A snapshot may use a `stable` that was found long before: it is too small then. So the slot's
// owner looks when it asks for a horizon anyway, or every so many snapshots.
//
// Latching: none; nothing blocks. Memory: a cache line per slot.
// Thread-safety: functions marked "Owner", by the slot's owner; the rest, from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/worker_slots.h"

namespace palimpsest::versioning {

/// The start of a transaction of which nothing is known.
inline constexpr Gsn kUnknownStart{std::numeric_limits<std::uint64_t>::max()};

class Snapshots {
 public:
  /// Both outlive it.
  Snapshots(const Clock& clock, const WorkerSlots& slots);
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  /// What a snapshot is used for.
  enum class Use : std::uint8_t {
    reads_and_writes = 1,
    reads,  ///< its transaction writes nothing that could be in conflict
  };
  /// Owner: takes a snapshot, or a newer one: it sees all commits with timestamps up to it.
  Gsn take(SlotId slot, Use use = Use::reads_and_writes) noexcept;
  /// Owner: drops the snapshot; all reads from it are done.
  void drop(SlotId slot) noexcept {
    places_[raw(slot)].word.store(kFree, std::memory_order_release);
  }
  /// Owner: the last snapshot sees the newest versions of all transactions with starts below this.
  [[nodiscard]] Gsn stable(SlotId slot) const noexcept { return places_[raw(slot)].stable; }

  /// Owner, once, before its transaction leaves its first version: returns its start (W1, W2).
  [[nodiscard]] Gsn begin_changes(SlotId slot) noexcept;
  /// Owner: all its versions are decided, and dated or gone (W3).
  void end_changes(SlotId slot) noexcept {
    places_[raw(slot)].started.store(kFree, std::memory_order_release);
  }

  /// Whether this snapshot of the slot was cancelled.
  [[nodiscard]] bool is_cancelled(SlotId slot, Gsn snapshot) const noexcept {
    return places_[raw(slot)].cancelled.load(std::memory_order_acquire) == raw(snapshot);
  }
  /// Cancels the slot's snapshot if it is still this one; not while one is being taken.
  bool cancel(SlotId slot, Gsn snapshot) noexcept;

  /// No thread reads states that only snapshots below this could tell from what follows. `except`:
  /// a slot that is left out; its own commit is decided.
  [[nodiscard]] Gsn horizon(SlotId except = kNoSlot) const noexcept;
  /// Owner: as horizon(); also finds out what is stable for the slot's next snapshots.
  Gsn look(SlotId slot) noexcept;

  /// The snapshots that pruning must respect.
  struct Scan {
    Gsn clock;                ///< read before the rest; nothing is known of commits above it
    std::vector<Gsn> in_use;  ///< ascending
    Gsn being_taken;          ///< any snapshot from here on may be in use; the largest GSN if none
    Gsn oldest_writer;  ///< oldest snapshot that is not for reading only; the largest GSN if none
  };
  /// Throws std::bad_alloc.
  void scan(Scan& into) const;

  /// The oldest snapshot in use and its slot; nothing if there is none but those being taken.
  struct Oldest {
    SlotId slot;
    Gsn snapshot;
  };
  [[nodiscard]] std::optional<Oldest> oldest() const noexcept;
  /// The oldest snapshot of a transaction that may write.
  [[nodiscard]] std::optional<Oldest> oldest_writer() const noexcept;

 private:
  template <class Counts>
  [[nodiscard]] std::optional<Oldest> oldest_of(Counts&& counts) const noexcept;

  static constexpr std::uint64_t kFree = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t kLowerBound = 1;
  static constexpr std::uint64_t kReads = 2;
  static constexpr unsigned kMarkBits = 2;
  static constexpr SlotId kNoSlot{std::numeric_limits<std::uint32_t>::max()};

  struct alignas(64) Place {
    std::atomic<std::uint64_t> word{kFree};   ///< GSN << kMarkBits | marks
    std::atomic<std::uint64_t> cancelled{0};  ///< the snapshot that was cancelled last
    std::atomic<std::uint64_t> started{kFree};
    // The owner's:
    Gsn stable{0};
    std::uint32_t takes = std::numeric_limits<std::uint32_t>::max();  ///< since the last look
  };

  void note_cancelled(SlotId slot, Gsn snapshot) noexcept;

  /// (H1) to (H3): visit(slot, its place, word); the word is kFree if it is cancelled. Returns c.
  template <class Visit>
  Gsn for_each_place(Visit&& visit) const;
  /// As for_each_place(), visit(slot, word), for words that are not free.
  template <class Visit>
  Gsn for_each(Visit&& visit) const;

  const Clock& clock_;
  const WorkerSlots& slots_;
  std::unique_ptr<Place[]> places_;
};

}  // namespace palimpsest::versioning
