// What entries and mapping tables of one database share: how much memory they take, and the
// counters by which a table learns that entries of its have become empty.
//
// Why counters that no table owns: the owner of an entry counts it as empty without any latch, when
// the entry may be moving to another table and its table may be ending. A counter in the table
// would need epochs; one that lives as long as this object needs nothing. So tables share a fixed
// number of counters, which change with each; a table remembers what its counter was when it looked
// last. Two tables that share one look more often than needed.
//
// Memory comes from slabs where whoever owns this says so (base/slab_memory.h), and from the heap
// where not: there sanitizers see what becomes of each piece.
//
// Thread-safety: all functions, from any thread. Figures are kept in stripes by thread and added up
//                when asked for: each is exact once the threads have stopped.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/slab_memory.h"
#include "versioning/folded_ghost_hints.h"

namespace palimpsest::versioning {

/// Counts entries that have become empty; a hint.
using EmptyCounter = std::atomic<std::uint32_t>;
/// After an entry has become empty: whoever sees this count, with acquire, sees that too. Threads
/// that count at once may lose counts, or set others' back, which spares each an atomic addition: a
/// table is then pruned late, or once in vain.
inline void count_empty(EmptyCounter& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

class EntryMemory {
 public:
  /// `slab_bytes`: of the range of addresses for slabs; 0: all comes from the heap.
  explicit EntryMemory(std::size_t slab_bytes = 0) : memory_(slab_bytes) {}
  EntryMemory(const EntryMemory&) = delete;
  EntryMemory& operator=(const EntryMemory&) = delete;
  /// No entry and no table is left.
  ~EntryMemory();

  /// Memory, counted, aligned to cache lines. Throws std::bad_alloc.
  [[nodiscard]] void* allocate(std::size_t size_bytes) { return memory_.allocate(size_bytes); }
  void deallocate(void* memory, std::size_t size_bytes) noexcept {
    memory_.deallocate(memory, size_bytes);
  }

  /// Now and then: what nobody has needed for some time goes back to the system.
  void give_back_idle() noexcept { memory_.give_back_idle(); }

  void count_entries(std::int64_t more) noexcept { add(&Stripe::entries, more); }
  void count_tables(std::int64_t more) noexcept { add(&Stripe::tables, more); }
  void count_spans(std::int64_t more) noexcept { add(&Stripe::spans, more); }

  /// For a table at this address.
  [[nodiscard]] EmptyCounter& counter_for(const void* table) noexcept;

  /// A horizon that somebody has found (snapshots.h); it stays one for ever.
  void raise_horizon(Gsn to) noexcept { raise(horizon_, to); }
  /// The highest of them. It acquires what was known to who has raised it: whose snapshots were
  /// cancelled.
  [[nodiscard]] Gsn horizon() const noexcept { return horizon_.load(std::memory_order_acquire); }

  /// A version of this date was folded (spans.h).
  void note_folded(Gsn date) noexcept { raise(newest_folded_, date); }
  /// A snapshot below the highest of them may keep spans.
  [[nodiscard]] Gsn newest_folded() const noexcept {
    return newest_folded_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] FoldedGhostHints& folded_ghost_hints() noexcept { return folded_ghost_hints_; }

  /// Bytes asked for and not given back; what lies between them is not counted.
  [[nodiscard]] std::uint64_t bytes_in_use() const noexcept { return memory_.bytes_in_use(); }
  /// Entries that exist, in tables or set aside by writers; tables, but for those set aside.
  [[nodiscard]] std::uint64_t entries() const noexcept { return sum(&Stripe::entries); }
  [[nodiscard]] std::uint64_t tables() const noexcept { return sum(&Stripe::tables); }
  /// Tables that have spans.
  [[nodiscard]] std::uint64_t spans() const noexcept { return sum(&Stripe::spans); }

 private:
  static constexpr std::size_t kStripes = 16;
  static constexpr std::size_t kCounters = 16384;

  struct alignas(64) Stripe {
    std::atomic<std::int64_t> entries{0};
    std::atomic<std::int64_t> tables{0};
    std::atomic<std::int64_t> spans{0};
  };
  using Figure = std::atomic<std::int64_t> Stripe::*;

  void add(Figure figure, std::int64_t more) noexcept;
  static void raise(std::atomic<Gsn>& highest, Gsn to) noexcept;
  [[nodiscard]] std::uint64_t sum(Figure figure) const noexcept;

  SlabMemory memory_;
  std::array<Stripe, kStripes> stripes_;
  std::array<EmptyCounter, kCounters> counters_{};
  std::atomic<Gsn> horizon_{Gsn{0}};
  std::atomic<Gsn> newest_folded_{Gsn{0}};
  FoldedGhostHints folded_ghost_hints_;
};

}  // namespace palimpsest::versioning
