// A leaf together with its mapping table: the writers that are changing its records, and the space
// reserved for them.
//
// The table is attached to the leaf's frame (versioning/mapping_table.h). Most leaves have none;
// then everything here is one test of a pointer. The slot flag kHasEntry says that the record may
// have an entry. Only such a record, or a key that is not on the page at all, leads to a search of
// the table. (A record may have been removed by a writer that has not ended: its slot is gone, its
// entry is not, so an insert of that key must check the table, if the page has one.)
//
// A mark is set with the entry and outlives it: to clear it, every commit would have to look again
// at the record on its page. A marked record costs its readers the shared latch and a search of a
// small table, and nothing once the table is gone. A claim that reuses an empty entry of a small
// table clears that entry's mark, since the leaf is at hand then. Marks are never written to disk;
// a page that is loaded again gets those it needs.
//
// Invariants: (1) the table has an entry of a slot's key, or the slot a mark (span_marks.h) => the
//                 slot has kHasEntry;
//             (2) used bytes + reserved bytes <= capacity: every operation that adds bytes to a
//                 leaf leaves the reserved bytes free, splits and merges included. A record's bytes
//                 and its reserved bytes together never shrink while its writer is active: they
//                 equal the largest size the record has had, so that each undo on the way back
//                 fits. (A physical removal releases them: undoing an earlier change may have to
//                 split.)
//             (3) a leaf that is emptied into other leaves, or freed, has no table any more: tables
//                 follow the records in the same latched step (below).
// Latching: the leaf is latched exclusively throughout; the functions for structure changes need
//           all pages involved.
// Failure: std::bad_alloc where said, before anything has changed; nothing else fails.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "btree/node/leaf_node.h"
#include "btree/node/node_split.h"
#include "buffer/page_guard.h"
#include "versioning/mapping_table.h"
#include "versioning/prune.h"
#include "versioning/writer.h"

namespace palimpsest::btree {

/// The result of claiming a record.
struct Claim {
  enum class Result : std::uint8_t {
    claimed = 1,   ///< no writer had claimed it
    already_mine,  ///< claimed by the same writer before
    conflict,      ///< nothing has changed
  };
  Result result;
  versioning::WriterId with = versioning::kNoWriter;  ///< the other writer of a conflict
  versioning::Entry* entry = nullptr;                 ///< the record's, unless there is a conflict
};

/// The table of a leaf, or null. Needs the shared latch at least.
[[nodiscard]] inline versioning::MappingTable* table_of(const buffer::Frame& frame) noexcept {
  return static_cast<versioning::MappingTable*>(frame.attached.load(std::memory_order_relaxed));
}

/// Free bytes of a leaf that are not reserved.
[[nodiscard]] std::uint32_t unreserved_bytes(const buffer::ExclusivePage& leaf,
                                             std::uint32_t page_size) noexcept;

/// Whether a record of these lengths (whole key) fits beside the reserved bytes.
[[nodiscard]] bool can_insert(const buffer::ExclusivePage& leaf, std::uint32_t page_size,
                              std::size_t key_len, std::size_t value_len) noexcept;

/// One operation's work on a leaf and its table.
class LeafEntries {
 public:
  /// `leaf` outlives it and is latched.
  LeafEntries(buffer::ExclusivePage& leaf, std::uint32_t page_size) noexcept
      : leaf_(leaf), page_size_(page_size), table_(table_of(leaf.frame())) {}

  [[nodiscard]] buffer::ExclusivePage& leaf() const noexcept { return leaf_; }

  /// The record's entry, or null. `at` is the leaf's find(key), here and below.
  [[nodiscard]] versioning::Entry* find(const SearchResult& at, ByteView key) const noexcept;

  // `entry` below is the one found, or claimed since.

  /// The other writer that has changed this record and has not ended; kNoWriter if there is none.
  [[nodiscard]] static versioning::WriterId conflicting_writer(const versioning::Entry* entry,
                                                               versioning::WriterId me) noexcept {
    const versioning::WriterId holder = entry == nullptr ? versioning::kNoWriter : entry->writer();
    return holder == me ? versioning::kNoWriter : holder;
  }

  /// Claims the record for a writer that was prepared for it. The key need not exist: its new slot
  /// is then marked. May throw std::bad_alloc.
  [[nodiscard]] Claim claim(versioning::Entry* entry, const SearchResult& at, ByteView key,
                            versioning::Writer& writer);

  /// Notes that a transaction of this start pushed a version to the chain of an entry here, in this
  /// latched step.
  void left_version(Gsn start) noexcept;

  /// Whether a value of that length can replace the value; `me` may use its own reserved bytes.
  [[nodiscard]] bool can_replace(SlotIndex slot, const versioning::Entry* entry,
                                 std::size_t value_len, versioning::WriterId me) const noexcept;
  /// Called before the value is replaced, by a writer that has claimed it or without a writer:
  /// reserves the bytes that a shorter value frees, for the undo of an active writer, and releases
  /// those that a longer value takes.
  void reserve_for_replace(SlotIndex slot, versioning::Entry* entry,
                           std::size_t value_len) noexcept;
  /// Called before the record is removed physically: releases its reserved bytes.
  void give_up_reserved(versioning::Entry* entry) noexcept;

  /// Prefetches the versions of many records, together.
  void prefetch_versions() const noexcept {
    if (table_ != nullptr) {
      table_->prefetch_entries();
      table_->prefetch_versions();
    }
  }
  /// Called before a ghost is purged: false if its writer is active or a reader may see what it
  /// was; otherwise releases its reserved bytes. `pruner` may be null.
  [[nodiscard]] bool give_up_if_idle(SlotIndex slot, versioning::Pruner* pruner) noexcept;

  /// Whether a span hides the record's current state from this snapshot.
  [[nodiscard]] bool is_hidden(SlotIndex slot, Gsn snapshot) const noexcept;
  /// Whether a span says that a reader may see the ghost's value. `pruner` may be null.
  [[nodiscard]] bool is_removed_in_span(SlotIndex slot, versioning::Pruner* pruner) noexcept;

  /// Counts an attempted purge; `in_vain`: no ghost could be purged.
  void count_purge(bool in_vain) noexcept {
    if (table_ != nullptr) {
      table_->count_purge(in_vain);
    }
  }

  /// Frees the entries of ended writers now. Returns whether that released reserved bytes.
  [[nodiscard]] bool release_ended() noexcept;
  /// Called at the end of every operation: prunes if it is worth it, and drops an empty table. The
  /// writer, if there is one, gets an entry to reuse.
  void finish(versioning::Writer* writer = nullptr) noexcept;
  /// finish(), then releases the leaf, which is otherwise unchanged.
  void release_unwritten() noexcept;

 private:
  /// A hint to the page as it will be after the change, once released.
  [[nodiscard]] versioning::PageHint as_left() const noexcept {
    return {leaf_.frame(), leaf_.version_after_release()};
  }
  void prune(versioning::Writer* writer) noexcept;
  void unmark(ByteView key) noexcept;
  void fold_into_mark(SlotIndex slot, versioning::Entry* entry,
                      versioning::Pruner* pruner) noexcept;

  buffer::ExclusivePage& leaf_;
  std::uint32_t page_size_;
  versioning::MappingTable* table_;
};

/// The bytes reserved beside each record of a leaf, for planning a split. Refers to the leaf.
class LeafReserve {
 public:
  LeafReserve(const buffer::ExclusivePage& leaf, std::uint32_t page_size) noexcept
      : leaf_(leaf.page(), page_size), table_(table_of(leaf.frame())) {}

  /// Bytes reserved for the record in this slot.
  [[nodiscard]] std::uint32_t operator()(SlotIndex slot) const noexcept;

 private:
  LeafView leaf_;
  const versioning::MappingTable* table_;
};

// For structure changes. Inner nodes have no tables: for them these functions do nothing.

/// A table for the right half of a leaf split at this separator, or null if it needs none. Throws
/// std::bad_alloc; called before anything changes.
[[nodiscard]] versioning::TablePtr table_for_right(const buffer::ExclusivePage& left,
                                                   ByteView separator, std::uint32_t page_size);
/// Moves the right half's entries to that table.
void split_table(const buffer::ExclusivePage& left, const buffer::ExclusivePage& right,
                 ByteView separator, versioning::TablePtr right_table) noexcept;
/// Drops the spans of a leaf without marked records: they have no meaning.
void forget_unmarked_spans(const buffer::ExclusivePage& leaf, std::uint32_t page_size) noexcept;
/// Whether the spans of both can be joined; `pruner` may be null.
[[nodiscard]] bool can_merge_tables(const buffer::ExclusivePage& left,
                                    const buffer::ExclusivePage& right,
                                    versioning::Pruner* pruner) noexcept;
/// Reserves memory so that merge_tables() cannot fail. Throws std::bad_alloc.
void prepare_merge_tables(const buffer::ExclusivePage& left, const buffer::ExclusivePage& right);
/// Moves all entries of `right` to `left`.
void merge_tables(const buffer::ExclusivePage& left, const buffer::ExclusivePage& right) noexcept;
/// Moves the table itself; `to` has none.
void move_table(const buffer::ExclusivePage& from, const buffer::ExclusivePage& to) noexcept;
/// Drops the table of a leaf without records if no writer is active there; false if one is.
[[nodiscard]] bool drop_idle_table(buffer::ExclusivePage& leaf, std::uint32_t page_size) noexcept;

}  // namespace palimpsest::btree
