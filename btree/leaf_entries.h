// A leaf together with its mapping table: who is changing its records, and what space is theirs.
//
// The table hangs off the leaf's frame (versioning/mapping_table.h); most leaves have none, and
// then everything here is one test of a pointer. A slot's flag kHasEntry says that the record may
// have an entry; only such a record, and a key that is not on the page at all, lead to a search of
// the table. (A record may have been removed by a writer that has not ended: its slot is gone, its
// entry is not, so an insertion of that key must ask the table, if the page has one.)
//
// A mark is set with the entry and outlives it: taking it back would cost every commit a look at
// the record that the page's last writer changed. It costs who reads the record the shared latch
// and a search of a small table, and nothing once the table has gone. A claim that takes the place
// of an empty entry in a small table takes that one's mark back, since the leaf is at hand then.
// Marks are never written; a page that comes back has those it needs.
//
// Invariants: (1) the table has an entry of a slot's key, or the slot a mark (span_marks.h) => the
//                 slot has kHasEntry;
//             (2) used bytes + reserved bytes <= capacity: whoever adds bytes to a leaf leaves free
//                 what is reserved, splits and merges included. A record's bytes and what is
//                 reserved for it never get less together while its writer is active: that is the
//                 largest the record has been, so that each undo on the way back fits. (A
//                 physical removal gives it up: undoing what came before that may have to split.)
//             (3) a leaf that is emptied into others, or freed, has no table any more: tables
//                 follow the records in the same latched step (TableMove, below).
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

/// What came of claiming a record.
struct Claim {
  enum class Result : std::uint8_t {
    claimed = 1,   ///< nobody had it
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

/// Free bytes of a leaf that nobody has reserved.
[[nodiscard]] std::uint32_t unreserved_bytes(const buffer::ExclusivePage& leaf,
                                             std::uint32_t page_size) noexcept;

/// Whether a record of these lengths (whole key) fits beside what is reserved.
[[nodiscard]] bool can_insert(const buffer::ExclusivePage& leaf, std::uint32_t page_size,
                              std::size_t key_len, std::size_t value_len) noexcept;

/// One operation's work on a leaf and its table.
class LeafEntries {
 public:
  /// `leaf` outlives it and is latched.
  LeafEntries(buffer::ExclusivePage& leaf, std::uint32_t page_size) noexcept
      : leaf_(leaf), page_size_(page_size), table_(table_of(leaf.frame())) {}

  [[nodiscard]] buffer::ExclusivePage& leaf() const noexcept { return leaf_; }

  /// The record's entry, or null. `at` is find(key) of the leaf, here and below.
  [[nodiscard]] versioning::Entry* find(const SearchResult& at, ByteView key) const noexcept;

  // With `entry` as found, or as claimed since:

  /// The writer, other than `me`, that has changed this record and has not ended; kNoWriter if
  /// there is none.
  [[nodiscard]] static versioning::WriterId conflicting_writer(const versioning::Entry* entry,
                                                               versioning::WriterId me) noexcept {
    const versioning::WriterId holder = entry == nullptr ? versioning::kNoWriter : entry->writer();
    return holder == me ? versioning::kNoWriter : holder;
  }

  /// Claims the record for a writer that was prepared for it. The key need not be there: the slot
  /// that is made for it is marked then. May throw std::bad_alloc.
  [[nodiscard]] Claim claim(versioning::Entry* entry, const SearchResult& at, ByteView key,
                            versioning::Writer& writer);

  /// A version was pushed to the chain of an entry here, in this latched step, by a transaction of
  /// this start.
  void left_version(Gsn start) noexcept;

  /// Whether the value can be replaced by one of that length; `me` may use what is its own.
  [[nodiscard]] bool can_replace(SlotIndex slot, const versioning::Entry* entry,
                                 std::size_t value_len, versioning::WriterId me) const noexcept;
  /// Before the value is replaced, by a writer that has claimed it or by nobody: keeps what a
  /// shorter one frees for the undo of an active writer, and gives up what a longer one takes.
  void reserve_for_replace(SlotIndex slot, versioning::Entry* entry,
                           std::size_t value_len) noexcept;
  /// Before the record is removed physically: nothing is reserved for it any more.
  void give_up_reserved(versioning::Entry* entry) noexcept;

  /// Who is about to look at the versions of many records has them brought in together.
  void prefetch_versions() const noexcept {
    if (table_ != nullptr) {
      table_->prefetch_entries();
      table_->prefetch_versions();
    }
  }
  /// Before a ghost is purged: false if its writer is active or somebody may see what it was;
  /// otherwise nothing is reserved for it any more. `pruner` may be null.
  [[nodiscard]] bool give_up_if_idle(SlotIndex slot, versioning::Pruner* pruner) noexcept;

  /// Whether a span hides from this snapshot what has become of the record.
  [[nodiscard]] bool is_hidden(SlotIndex slot, Gsn snapshot) const noexcept;
  /// Whether a span says that somebody may see the ghost's value. `pruner` may be null.
  [[nodiscard]] bool is_removed_in_span(SlotIndex slot, versioning::Pruner* pruner) noexcept;

  /// Ghosts were to be purged; whether none could.
  void count_purge(bool in_vain) noexcept {
    if (table_ != nullptr) {
      table_->count_purge(in_vain);
    }
  }

  /// Frees the entries whose writers have ended, now. Whether that freed space.
  [[nodiscard]] bool release_ended() noexcept;
  /// To be called at the end of every operation: prunes if it is time to, and drops an empty table.
  /// The writer, if there is one, gets an entry to use again.
  void finish(versioning::Writer* writer = nullptr) noexcept;
  /// finish(), and lets the leaf go, which has not been changed otherwise.
  void release_unwritten() noexcept;

 private:
  /// Where the page will be once it has been changed and let go.
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

/// What is reserved beside each record of a leaf, for planning a split. It refers to the leaf.
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

// Structure changes. Inner nodes have no tables: for them these functions do nothing.

/// A table for the right half of a leaf split at this separator, or null if it needs none. Throws
/// std::bad_alloc; called before anything changes.
[[nodiscard]] versioning::TablePtr table_for_right(const buffer::ExclusivePage& left,
                                                   ByteView separator, std::uint32_t page_size);
/// Moves the right half's entries there.
void split_table(const buffer::ExclusivePage& left, const buffer::ExclusivePage& right,
                 ByteView separator, versioning::TablePtr right_table) noexcept;
/// Spans of a leaf none of whose records is marked mean nothing, and go.
void forget_unmarked_spans(const buffer::ExclusivePage& leaf, std::uint32_t page_size) noexcept;
/// Whether the spans of both can be one; `pruner` may be null.
[[nodiscard]] bool can_merge_tables(const buffer::ExclusivePage& left,
                                    const buffer::ExclusivePage& right,
                                    versioning::Pruner* pruner) noexcept;
/// Makes room so that merge_tables() cannot fail. Throws std::bad_alloc.
void prepare_merge_tables(const buffer::ExclusivePage& left, const buffer::ExclusivePage& right);
/// Moves all entries of `right` to `left`.
void merge_tables(const buffer::ExclusivePage& left, const buffer::ExclusivePage& right) noexcept;
/// Moves the table itself; `to` has none.
void move_table(const buffer::ExclusivePage& from, const buffer::ExclusivePage& to) noexcept;
/// Drops the table of a leaf without records if no writer is active there; false if one is.
[[nodiscard]] bool drop_idle_table(buffer::ExclusivePage& leaf, std::uint32_t page_size) noexcept;

}  // namespace palimpsest::btree
