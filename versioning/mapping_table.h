// A page's mapping table: the entries of its records, found by key.
//
// It is the attachment of the page's frame, or, while the page is not in memory, waits in the
// orphan registry (buffer/page_attachment.h). A small hash table, open addressing with linear
// probing (table_cell.h); a page has few entries, and most pages none and no table.
//
// Invariants: (1) an entry is in exactly one table, that of the page whose fences contain its key:
//                 splits and merges move the pointers in the same latched step as the records;
//             (2) a record need not be on the page: the entry's writer may have removed it;
//             (3) reserved_bytes() is the sum over the entries. It counts writers that have ended
//                 until they are pruned or their entries taken over, so it may be too large, never
//                 too small;
//             (4) youngest() is not below the start of any transaction that has left a version in a
//                 chain of an entry;
//             (5) quiet_since_, if known, is the newest date of any version or span, and no entry
//                 has a writer: only a claim changes that, which makes it unknown again. Dates come
//                 before a writer's end; versions that go, are merged or folded leave none that is
//                 newer. (Released and acquired: a reader whose cancelled snapshot lay between two
//                 merged versions learns of the cancellation although it has looked only here.)
// Latching: every function needs the exclusive latch of the page (or the orphan's shard); const
//           functions the shared one.
// Failure: make() and reserve() throw std::bad_alloc and change nothing; nothing else fails.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "palimpsest/function_ref.h"

#include "base/bytes.h"
#include "base/ids.h"
#include "base/prefetch.h"
#include "buffer/page_attachment.h"
#include "versioning/entry.h"
#include "versioning/spans.h"
#include "versioning/table_cell.h"

namespace palimpsest::versioning {

class MappingTable;

struct TableDeleter {
  void operator()(MappingTable* table) const noexcept;
};
/// A table that is attached to no page yet.
using TablePtr = std::unique_ptr<MappingTable, TableDeleter>;

class MappingTable final : public buffer::Attached {
 public:
  /// An empty table with room for `entries`. `memory` outlives it.
  [[nodiscard]] static TablePtr make(EntryMemory& memory, std::size_t entries = 1);
  /// Stops counting an empty, unattached table. Call renew() before it is used again or destroyed.
  void set_aside() noexcept { memory_.count_tables(-1); }
  /// Undoes set_aside(): the table is as if it were new.
  void renew() noexcept;
  /// Whether it has nothing but its own piece of memory.
  [[nodiscard]] bool is_small() const noexcept { return cell_count_ == kCellsMin; }
  /// Destroys a table without entries, and its spans.
  static void destroy(MappingTable& table) noexcept;

  MappingTable(const MappingTable&) = delete;
  MappingTable& operator=(const MappingTable&) = delete;

  [[nodiscard]] EntryMemory& memory() const noexcept { return memory_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t reserved_bytes() const noexcept { return reserved_bytes_; }

  [[nodiscard]] Entry* find(ByteView key) const noexcept { return find(key, Entry::hash_of(key)); }
  /// As find(key); `hash`: the key's.
  [[nodiscard]] Entry* find(ByteView key, std::uint32_t hash) const noexcept;
  /// Whether this entry, which exists, is in this table.
  [[nodiscard]] bool has(const Entry& entry) const noexcept;
  void visit(FunctionRef<void(const Entry&)> visitor) const;
  void visit_chains(FunctionRef<void(Entry&)> visitor);

  /// What records have in common in place of a version each (spans.h), or null.
  [[nodiscard]] Spans* spans() const noexcept { return spans_; }
  Spans& make_spans();  ///< As spans(), never null. Throws std::bad_alloc.
  /// Forgets the spans that every snapshot from `horizon` on sees. Without argument: all.
  void forget_spans(Gsn horizon) noexcept;
  void forget_spans() noexcept;
  [[nodiscard]] bool is_needed() const noexcept { return count_ != 0 || spans_ != nullptr; }

  /// Whether, to a reader of this snapshot, all records are known to be as they lie on the page: it
  /// need not call find().
  [[nodiscard]] bool is_known_quiet_at(Gsn snapshot) const noexcept {
    const Gsn since = quiet_since_.load(std::memory_order_acquire);
    return since != kUnknown && since <= snapshot;
  }
  /// As is_known_quiet_at(), but finds out; for callers with many records to look at.
  [[nodiscard]] bool is_quiet_at(Gsn snapshot) const noexcept {
    if (quiet_since_.load(std::memory_order_relaxed) == kUnknown) {
      quiet_since_.store(look_since_when_quiet(), std::memory_order_release);
    }
    return is_known_quiet_at(snapshot);
  }

  /// A transaction of this start (snapshots.h) has left a version in one of the chains. youngest()
  /// is the youngest such start; it goes wherever the entries go.
  void left_version(Gsn start) noexcept { raise_youngest(start); }

  /// Makes room, so that the next `more` insertions allocate nothing.
  void reserve(std::size_t more);
  /// Inserts an entry with a key that is not in the table, and gives it to a writer. There is room.
  Entry& insert(EntryPtr entry, WriterId writer) noexcept;
  /// Takes an entry out.
  [[nodiscard]] EntryPtr erase(Entry& entry) noexcept;

  /// Gives an entry without a writer to one; the bytes reserved for its last writer are free.
  void take_over(Entry& entry, WriterId writer) noexcept;
  /// Changes the bytes reserved for an entry of this table.
  void set_reserved(Entry& entry, std::uint32_t bytes) noexcept;

  /// About how many entries have become empty since the last prune; may be far off.
  [[nodiscard]] std::uint32_t empty_hint() const noexcept {
    return counter_.load(std::memory_order_relaxed) - counter_seen_;
  }
  /// Entries that are empty now; looks at each.
  [[nodiscard]] std::size_t empty_count() const noexcept;
  /// Whether it is time to prune: one entry in eight is empty, or the last look was long ago (the
  /// hint misses some); both later and later after prunes in vain. A small table is pruned when it
  /// has no room, rather than time and again.
  [[nodiscard]] bool worth_pruning() noexcept {
    const bool is_large = cell_count_ > kCellsMin;
    if (looks_ < (kLooksMax << vain_) &&
        (!is_large || (std::uint64_t{empty_hint()} * kEmptyShare) >> vain_ <= count_)) [[likely]] {
      ++looks_;
      return false;
    }
    return true;
  }
  /// Takes out the empty entries, and frees their reserved bytes: taken(entry). Returns how many.
  std::size_t prune(FunctionRef<void(EntryPtr)> taken) noexcept;

  /// Takes one empty entry out, as prune() does, or returns null. Always null for a large table,
  /// and if the hint says that there is none.
  [[nodiscard]] EntryPtr take_empty() noexcept;

  /// How many purges of the page's ghosts in a row found that readers may need the ghosts they
  /// tried; at most kPurgesMax. For threads that only read the page.
  [[nodiscard]] std::uint8_t purges_in_vain() const noexcept { return purges_in_vain_; }
  void count_purge(bool in_vain) noexcept {
    purges_in_vain_ = in_vain ? std::min<std::uint8_t>(purges_in_vain_ + 1, kPurgesMax) : 0;
  }
  static constexpr std::uint8_t kPurgesMax = 10;

  /// Frees room that is not needed now; maybe also what reserve() made.
  void trim() noexcept;

  /// Prefetches what a search, or a prune, reads first.
  void prefetch() const noexcept {
    const auto* begin = reinterpret_cast<const std::byte*>(this);
    palimpsest::prefetch(begin, begin + sizeof *this);
  }
  /// Prefetches what a look at all entries reads next: the cells, if they lie outside the table;
  /// the entries; their newest versions. Each reads what the one before has prefetched.
  void prefetch_cells() const noexcept;
  void prefetch_entries() const noexcept;
  void prefetch_versions() const noexcept;
  /// The same for a search of one key of this hash: its first cell, its entry, the newest version.
  void prefetch_cell(std::uint32_t hash) const noexcept {
    prefetch_line(&cells_[hash & (cell_count_ - 1)]);
  }
  void prefetch_entry(std::uint32_t hash) const noexcept { prefetch_line(entry_of_hash(hash)); }
  void prefetch_version(std::uint32_t hash) const noexcept {
    if (const Entry* const entry = entry_of_hash(hash)) {
      prefetch_line(entry->newest());
    }
  }

  /// Entries with a key not below the separator.
  [[nodiscard]] std::size_t count_from(ByteView separator) const noexcept;
  /// Moves those to `right`, which has room for them, and copies the spans if `right` has some.
  void split_off(ByteView separator, MappingTable& right) noexcept;
  /// Takes all entries and spans of `other`; there is room for them.
  void absorb(MappingTable& other) noexcept;

 private:
  friend struct TableDeleter;

  static constexpr Gsn kUnknown{std::numeric_limits<std::uint64_t>::max()};
  static constexpr std::size_t kCellsMin = 4;
  static constexpr std::uint32_t kEmptyShare = 8;  ///< prune when one in so many is empty
  static constexpr std::uint32_t kLooksMax = 64;   ///< and every so many times anyway
  static constexpr std::uint8_t kVainMax = 5;

  explicit MappingTable(EntryMemory& memory) noexcept
      : memory_(memory), counter_(memory.counter_for(this)) {}
  ~MappingTable();

  [[nodiscard]] static constexpr std::size_t cells_for(std::size_t entries) noexcept {
    return std::bit_ceil(std::max(kCellsMin, entries + (entries + 2) / 3));
  }
  void use_cells(TableCell* cells, std::size_t count) noexcept;
  void free_cells(TableCell* cells, std::size_t count) noexcept;
  [[nodiscard]] std::span<TableCell> cells() const noexcept { return {cells_, cell_count_}; }
  /// Where an entry of this hash is for which is_it(cell) holds, or would be put.
  template <class IsIt>
  [[nodiscard]] std::size_t cell_at(std::uint32_t hash, IsIt&& is_it) const noexcept {
    std::size_t at = hash & (cell_count_ - 1);
    while (!cells_[at].is_empty() && !is_it(cells_[at])) {
      at = (at + 1) & (cell_count_ - 1);
    }
    return at;
  }
  [[nodiscard]] std::size_t cell_of(const Entry& entry) const noexcept {
    return cell_at(entry.hash(), [&](TableCell cell) { return cell.entry() == &entry; });
  }
  /// Most likely the entry of a key of this hash; or null.
  [[nodiscard]] Entry* entry_of_hash(std::uint32_t hash) const noexcept {
    return cells_[cell_at(hash, [&](TableCell cell) { return cell.hash() == hash; })].entry();
  }
  [[nodiscard]] Gsn look_since_when_quiet() const noexcept;
  void place(TableCell cell) noexcept;
  void remove_at(std::size_t cell) noexcept;
  void adopt(Entry& entry) noexcept;
  void take_in(const Spans& spans) noexcept;
  [[nodiscard]] bool has_room_for(std::size_t more) const noexcept {
    return cells_for(count_ + more) <= cell_count_;
  }

  EntryMemory& memory_;
  EmptyCounter& counter_;
  /// The cells of most tables: each line of memory costs a miss.
  std::array<TableCell, kCellsMin> own_cells_{};
  /// A power of two of them, at most three quarters used.
  TableCell* cells_ = own_cells_.data();
  std::size_t cell_count_ = kCellsMin;
  std::size_t count_ = 0;
  Spans* spans_ = nullptr;
  /// No version is younger, and no entry has a writer; readers store it, too.
  mutable std::atomic<Gsn> quiet_since_{kUnknown};
  std::uint32_t reserved_bytes_ = 0;
  std::uint32_t counter_seen_ = 0;  ///< the counter's value at the last prune
  std::uint16_t looks_ = 0;         ///< calls of worth_pruning() since then
  std::uint8_t vain_ = 0;           ///< prunes, up to the last one, that found little
  std::uint8_t purges_in_vain_ = 0;
};

}  // namespace palimpsest::versioning
