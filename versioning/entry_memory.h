// What entries and mapping tables of one database share: the count of their memory, and the
// counters by which a table learns that some of its entries have become empty.
//
// Why no table owns its counter: the owner of an entry counts it as empty without any latch, when
// the entry may be moving to another table and its table may be ending. A counter in the table
// would need epochs; one that lives as long as this object needs nothing. So tables share a fixed
// number of counters, and each table remembers its counter's value at its last look. Two tables
// that share a counter look more often than needed.
//
// Memory comes from slabs where the owner of this object asks for them (base/slab_memory.h), and
// otherwise from the heap: there sanitizers see what becomes of each piece.
//
// Thread-safety: all functions, from any thread. Figures are kept in stripes by thread and summed
//                on demand: each is exact once the threads have stopped.
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
/// Called after an entry has become empty: a thread that sees this count, with acquire, sees that
/// too. Threads that count at once may lose counts, or set other counts back, which saves each an
/// atomic addition: a table is then pruned late, or once in vain.
inline void count_empty(EmptyCounter& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

class EntryMemory {
 public:
  /// `slab_bytes`: size of the address range for slabs; 0: all memory comes from the heap.
  explicit EntryMemory(std::size_t slab_bytes = 0) : memory_(slab_bytes) {}
  EntryMemory(const EntryMemory&) = delete;
  EntryMemory& operator=(const EntryMemory&) = delete;
  /// No entry and no table is left.
  ~EntryMemory();

  /// Allocates counted memory, aligned to cache lines. Throws std::bad_alloc.
  [[nodiscard]] void* allocate(std::size_t size_bytes) { return memory_.allocate(size_bytes); }
  void deallocate(void* memory, std::size_t size_bytes) noexcept {
    memory_.deallocate(memory, size_bytes);
  }

  /// Called now and then: returns memory that has been idle for some time to the system.
  void give_back_idle() noexcept { memory_.give_back_idle(); }

  void count_entries(std::int64_t more) noexcept { add(&Stripe::entries, more); }
  void count_tables(std::int64_t more) noexcept { add(&Stripe::tables, more); }
  void count_spans(std::int64_t more) noexcept { add(&Stripe::spans, more); }

  /// The counter for a table at this address.
  [[nodiscard]] EmptyCounter& counter_for(const void* table) noexcept;

  /// Notes a horizon that a thread has found (snapshots.h); it stays one for ever.
  void raise_horizon(Gsn to) noexcept { raise(horizon_, to); }
  /// The highest horizon noted. Acquires what the thread that noted it knew: which snapshots were
  /// cancelled.
  [[nodiscard]] Gsn horizon() const noexcept { return horizon_.load(std::memory_order_acquire); }

  /// Notes that a version of this date was folded (spans.h).
  void note_folded(Gsn date) noexcept { raise(newest_folded_, date); }
  /// The highest date noted. Only a snapshot below it may keep spans.
  [[nodiscard]] Gsn newest_folded() const noexcept {
    return newest_folded_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] FoldedGhostHints& folded_ghost_hints() noexcept { return folded_ghost_hints_; }

  /// Bytes allocated and not freed; gaps between them are not counted.
  [[nodiscard]] std::uint64_t bytes_in_use() const noexcept { return memory_.bytes_in_use(); }
  /// Entries that exist, in tables or set aside by writers. tables(): without those set aside.
  [[nodiscard]] std::uint64_t entries() const noexcept { return sum(&Stripe::entries); }
  [[nodiscard]] std::uint64_t tables() const noexcept { return sum(&Stripe::tables); }
  /// Tables that have spans, and blocks of pages that have one together (span_blocks.h).
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
