// Worker slots: one for each running transaction. A slot has a GSN, and from its first write a log.
//
// The GSN of a slot and its *appending* mark share one word: (GSN << 1) | appending. Every record
// appended through the slot carries a GSN that is above the slot's former one.
//
//   append   (A1) mark: word = (max(slot, at least) + 1, appending)    compare-and-swap
//            (A2) a commit draws its timestamp and stores it into the marked word
//            (A3) the record is written and the end of its log is published
//            (A4) word = (same GSN, not appending)
//   durable  (C1) clock.raise(largest slot GSN)      (C2) c0 = clock      (C3) n = slots in use
//   GSN      (C4) of each of the n: if marked, it contributes its GSN - 1; else it is raised to c0
//            (C5) the ends of all logs are read; everything before them is then written
//            (C6) g = min(c0, contributions)
//   new slot (N1) claimed, counted in "slots in use"   (N2) its owner reads the clock and merges it
//
// Invariants: (1) a slot's GSN never falls, and each record's GSN is above those before it in its
//                 log;
//             (2) the mark is set while a record with the word's GSN, or with one still to be
//                 drawn above it, is not published;
//             (3) every record of every log with GSN <= g lies before the ends read in C5.
// Argument for (3), for one slot's record r. All steps but A3 and A4 are sequentially consistent.
//  - C4 meets the mark of r: the slot contributes the word's GSN - 1, which is below r's GSN (A2
//    only raises it), and all records before r were published before A1.
//  - C4 finds the word after A4 of r: A3 of r happens before C5 (A4 releases, C4 acquires).
//  - C4 comes before A1 of r: it has raised the word to c0, so r's GSN is above c0 >= g.
//  - The slot is not among the n: N1 comes after C3, so N2 comes after C2 and merges at least c0.
//
// Slots are created on demand up to a maximum. A slot is claimed by a compare-and-swap of its own
// word; the one used last is tried first.
// Latching: none; nothing blocks.
// Thread-safety: claim() and the committer's functions, from any thread; functions marked "owner"
//                by the one thread at a time that works for the slot's transaction.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/check.h"
#include "base/clock.h"
#include "base/ids.h"

namespace palimpsest {

class alignas(64) WorkerSlot {
 public:
  [[nodiscard]] Gsn gsn() const noexcept { return Gsn{word_.load() >> 1U}; }

  /// Owner: raises the GSN to at least `to`.
  void merge(Gsn to) noexcept {
    std::uint64_t word = word_.load();
    PALIMPSEST_DEBUG_CHECK((word & kAppending) == 0, "a slot merges between its appends");
    while (word < (raw(to) << 1U) && !word_.compare_exchange_weak(word, raw(to) << 1U)) {
    }
  }

  /// Owner: begins an append (A1) and returns the record's GSN, above the slot's and `at_least`.
  [[nodiscard]] Gsn begin_append(Gsn at_least) noexcept {
    std::uint64_t word = word_.load();
    for (;;) {
      PALIMPSEST_DEBUG_CHECK((word & kAppending) == 0, "one append at a time");
      const std::uint64_t gsn = std::max(word >> 1U, raw(at_least)) + 1;
      if (word_.compare_exchange_weak(word, (gsn << 1U) | kAppending)) {
        return Gsn{gsn};
      }
    }
  }
  /// Owner, between begin_append and end_append: draws the commit timestamp (A2). It is the GSN of
  /// the commit record.
  [[nodiscard]] Gsn draw_timestamp(Clock& clock) noexcept {
    const Gsn timestamp = clock.draw(gsn());
    word_.store((raw(timestamp) << 1U) | kAppending);
    return timestamp;
  }
  /// Owner: the record is published (A4).
  void end_append() noexcept {
    word_.store(word_.load(std::memory_order_relaxed) & ~kAppending, std::memory_order_release);
  }

  /// Committer (C4): the upper bound that this slot sets for g.
  [[nodiscard]] Gsn contribute(Gsn clock_read) noexcept {
    std::uint64_t word = word_.load();
    for (;;) {
      if ((word & kAppending) != 0) {
        return Gsn{(word >> 1U) - 1};
      }
      const std::uint64_t raised = std::max(word, raw(clock_read) << 1U);
      if (word_.compare_exchange_weak(word, raised)) {
        return clock_read;
      }
    }
  }

 private:
  friend class WorkerSlots;
  static constexpr std::uint64_t kAppending = 1;

  std::atomic<std::uint64_t> word_{0};
  std::atomic<bool> claimed_{false};
};

class WorkerSlots {
 public:
  /// At most `slots_max` slots. Memory: 64 bytes a slot.
  explicit WorkerSlots(std::uint32_t slots_max)
      : slots_max_(slots_max), slots_(std::make_unique<WorkerSlot[]>(slots_max)) {
    check(slots_max > 0, "there is at least one slot");
  }

  /// Claims a free slot, `hint` if it is free; empty if all are taken. (N1): the caller then reads
  /// the clock and merges it.
  [[nodiscard]] std::optional<SlotId> claim(SlotId hint) noexcept;
  /// Claims this slot, which has been claimed before; false if it is taken.
  [[nodiscard]] bool claim_exactly(SlotId slot) noexcept { return try_claim(raw(slot)); }
  /// Releases the slot; the caller has ended its last append.
  void release(SlotId slot) noexcept;

  [[nodiscard]] WorkerSlot& operator[](SlotId slot) noexcept { return slots_[raw(slot)]; }

  /// The largest GSN of any slot: no record appended before the call has a larger one.
  [[nodiscard]] Gsn newest_gsn() const noexcept;

  /// Number of slots claimed at least once so far (C3); their ids are below it.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_.load(); }
  [[nodiscard]] std::uint32_t slots_max() const noexcept { return slots_max_; }

 private:
  [[nodiscard]] bool try_claim(std::uint32_t slot) noexcept;

  const std::uint32_t slots_max_;
  std::unique_ptr<WorkerSlot[]> slots_;
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace palimpsest
