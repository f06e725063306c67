// Leaf nodes: sorted records in one page. LeafView reads, LeafNode also changes.
//
// Pure algorithms on a page in memory: no pool, no latches, no log. Callers of LeafNode's changing
// functions hold the page exclusively; LeafView's [optimistic] functions need no latch
// (node_view.h).
//
// Keys are given and returned whole; the node takes the prefix off. A key given to a changing
// function must lie within the fences, be at most key_bytes_max() long, and not lie in this page;
// key plus value are at most record_bytes_max(). These are the caller's duties (debug-checked).
// Failure: "does not fit" is a result; nothing throws or allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "btree/node/key_bytes.h"
#include "btree/node/node_layout.h"
#include "btree/node/node_view.h"

namespace palimpsest::btree {

/// A record as it lies in a leaf: views into the page, for as long as it is latched.
struct LeafRecord {
  ByteView suffix;          ///< the key without the node's prefix
  ByteView value;           ///< as LeafView::value()
  std::uint16_t flags = 0;  ///< RecordFlags
};

class LeafView : public NodeView {
 public:
  using NodeView::NodeView;

  /// [optimistic] Number of records.
  [[nodiscard]] SlotIndex count() const noexcept { return bounded_count(sizeof(LeafSlot)); }

  /// [optimistic] Where `key` is or would be inserted.
  [[nodiscard]] SearchResult find(ByteView key) const noexcept {
    return SearchResult::unpacked(search(key));
  }
  /// [optimistic] find() for a key within the leaf's fences.
  [[nodiscard]] SearchResult find_within(ByteView key) const noexcept {
    return SearchResult::unpacked(search_within(key));
  }

  // find_within() in steps, for searching many leaves at once (node_search.h):

  /// [optimistic] Prefetches the slots that the search reads.
  void prefetch_slots(ByteView key) const noexcept;
  /// [optimistic] The slot where the search most likely ends; prefetches the record there, with up
  /// to `value_bytes` of its value.
  [[nodiscard]] SlotIndex likely_slot(ByteView key, std::size_t value_bytes) const noexcept;
  /// [optimistic] find_within(), after likely_slot().
  [[nodiscard]] SearchResult find_within(ByteView key, SlotIndex likely) const noexcept {
    return SearchResult::unpacked(search_within(key, likely));
  }

  /// [optimistic] The first record with a key >= `key`; count() if there is none.
  [[nodiscard]] SlotIndex lower_bound(ByteView key) const noexcept { return find(key).slot; }

  /// [optimistic] The record's key without the node's prefix; empty if `slot` is out of range.
  [[nodiscard]] ByteView suffix(SlotIndex slot) const noexcept;
  /// [optimistic] The record's value as it lies in the page: a descriptor for a large value, and
  /// followed by the shadow if it is flagged kShadowed.
  [[nodiscard]] ByteView value(SlotIndex slot) const noexcept {
    if (slot >= count()) [[unlikely]] {
      return as_view(page_, 0);
    }
    const std::byte* at = slot_address(slot);
    const std::uint32_t offset = load_once<std::uint16_t>(at + offsetof(LeafSlot, offset));
    const std::uint32_t key_len = load_once<std::uint16_t>(at + offsetof(LeafSlot, key_len));
    return bounded_bytes(offset + key_len,
                         load_once<std::uint16_t>(at + offsetof(LeafSlot, value_len)));
  }
  /// [optimistic] RecordFlags.
  [[nodiscard]] std::uint16_t flags(SlotIndex slot) const noexcept {
    return slot < count() ? load_once<std::uint16_t>(slot_address(slot) + offsetof(LeafSlot, flags))
                          : std::uint16_t{0};
  }
  /// [optimistic] Number of ghosts.
  [[nodiscard]] std::uint32_t ghost_count() const noexcept {
    return load_once<std::uint16_t>(page_ + offsetof(buffer::PageHeader, ghost_count));
  }
  /// [optimistic] Number of records with a shadow.
  [[nodiscard]] std::uint32_t shadow_count() const noexcept {
    return load_once<std::uint16_t>(page_ + offsetof(buffer::PageHeader, shadow_count));
  }
  /// [optimistic]
  [[nodiscard]] bool is_ghost(SlotIndex slot) const noexcept { return (flags(slot) & kGhost) != 0; }
  /// [optimistic] Whether there is a record in this slot, and its key is `key`.
  [[nodiscard]] bool has_key_at(SlotIndex slot, ByteView key) const noexcept {
    const ByteView prefix = this->prefix();
    const ByteView rest = suffix(slot);
    return slot < count() && key.size() == prefix.size() + rest.size() &&
           equal_bytes(key.data() + prefix.size(), rest.data(), rest.size()) &&
           equal_bytes(key.data(), prefix.data(), prefix.size());
  }
  /// [optimistic] Copies the record's whole key.
  void copy_key(SlotIndex slot, KeyBuffer& into) const noexcept {
    into.assign_clamped(prefix(), suffix(slot), key_bytes_max(page_size()));
  }

  /// A whole record, for callers with a latch: nothing is bounded again. `slot` < count().
  [[nodiscard]] LeafRecord record(SlotIndex slot) const noexcept {
    PALIMPSEST_DEBUG_CHECK(slot < count(), "a record that is read exists");
    const std::byte* at = slot_address(slot);
    const auto& found = *static_cast<const LeafSlot*>(static_cast<const void*>(at));
    return {.suffix = as_view(page_ + found.offset, found.key_len),
            .value = as_view(page_ + found.offset + found.key_len, found.value_len),
            .flags = found.flags};
  }

  /// Whether that is the record of this key, for callers with a latch.
  [[nodiscard]] bool is_key_of(const LeafRecord& record, ByteView key) const noexcept {
    const ByteView prefix = this->prefix();
    return key.size() == prefix.size() + record.suffix.size() &&
           equal_bytes(key.data(), prefix.data(), prefix.size()) &&
           equal_bytes(key.data() + prefix.size(), record.suffix.data(), record.suffix.size());
  }

  /// Free bytes, as they would be after compaction.
  [[nodiscard]] std::uint32_t free_bytes() const noexcept;
  /// Whether a record of these lengths (whole key) fits, perhaps after compaction.
  [[nodiscard]] bool can_insert(std::size_t key_len, std::size_t value_len) const noexcept;
  /// Whether the record's value can be replaced by one of `value_len` bytes.
  [[nodiscard]] bool can_replace(SlotIndex slot, std::size_t value_len) const noexcept;

 private:
  [[nodiscard]] const std::byte* slot_address(SlotIndex slot) const noexcept {
    return page_ + kSlotsOffset + slot * sizeof(LeafSlot);
  }
  /// A packed SearchResult.
  [[nodiscard]] std::uint64_t search(ByteView key) const noexcept;
  [[nodiscard]] std::uint64_t search_within(ByteView key) const noexcept;
  [[nodiscard]] std::uint64_t search_within(ByteView key, SlotIndex likely) const noexcept;
};

class LeafNode : public LeafView {
 public:
  LeafNode(std::byte* page, std::uint32_t page_size) noexcept : LeafView(page, page_size) {}

  /// The page, as it was given to the constructor.
  [[nodiscard]] std::byte* mutable_page() const noexcept {
    return const_cast<std::byte*>(page_);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }

  /// Makes the page an empty leaf: zeroes it and sets both headers (GSN and the other fields of the
  /// page header are 0). No `upper`: infinite.
  void init(PageId page_id, TreeId tree_id, ByteView lower, std::optional<ByteView> upper) noexcept;

  /// Inserts at `slot`, which is find(key).slot with found == false. Compacts if that makes it fit.
  /// False, and nothing changed, if it does not fit.
  [[nodiscard]] bool insert(SlotIndex slot, ByteView key, ByteView value,
                            std::uint16_t flags = kPlainRecord) noexcept;
  void remove(SlotIndex slot) noexcept;

  /// The value's bytes, to be overwritten in place.
  [[nodiscard]] MutableBytes value_bytes(SlotIndex slot) noexcept;
  /// Replaces the value by one of any length, keeping the flags; the new value must not lie in this
  /// page. False, and nothing changed, if it does not fit.
  [[nodiscard]] bool replace_value(SlotIndex slot, ByteView value) noexcept;
  void set_flags(SlotIndex slot, std::uint16_t flags) noexcept;
  void set_bulk_epoch(BulkEpoch epoch) noexcept;

  /// Makes the record a ghost, or a ghost a record again; its body stays as it is.
  void set_ghost(SlotIndex slot, bool ghost) noexcept;
  /// Removes the ghosts at these slots, which ascend.
  void purge_ghosts(std::span<const SlotIndex> slots) noexcept;
  /// Removes all ghosts.
  void purge_ghosts() noexcept;

  /// Moves the records together, so that all free bytes lie between slots and heap.
  void compact() noexcept;

  // Building from sorted input, when the upper fence is known only at the end:
  // begin_build, append until it returns false (or enough), seal.

  /// Like init, with the upper fence still unknown. Until seal() only append(), count() and
  /// free_bytes() may be called.
  void begin_build(PageId page_id, TreeId tree_id, ByteView lower) noexcept;
  /// Appends a record with a key above all present ones and >= lower. False, and nothing changed,
  /// if it does not fit. An empty node takes any record within the limits.
  [[nodiscard]] bool append(ByteView key, ByteView value,
                            std::uint16_t flags = kPlainRecord) noexcept;
  /// Ends the build; always fits. `next` is the next key of the input after this node's last one;
  /// nothing at the end of the input. True: `upper` is set to this node's upper fence, where the
  /// next node starts. At the end of the input that next node stays empty: an infinite upper fence
  /// would take this node's prefix away, which does not always fit. False: the upper fence is
  /// infinite, and this is the last node.
  [[nodiscard]] bool seal(std::optional<ByteView> next, KeyBuffer& upper) noexcept;
};

/// Calls use(first, last) for each run of records without ghosts in [first, last), in ascending or
/// descending order of the runs, until it returns false; returns whether it never did. A leaf
/// without ghosts is one run; for that leaf, and for one with only ghosts, no record is looked at.
template <class Use>
bool for_each_live_run(const LeafView& leaf, SlotIndex first, SlotIndex last, bool descending,
                       Use&& use) {
  if (leaf.ghost_count() == 0) [[likely]] {
    return use(first, last);
  }
  if (leaf.ghost_count() == leaf.count()) {
    return true;
  }
  while (first < last) {
    SlotIndex begin = descending ? last : first;
    SlotIndex end = begin;
    if (descending) {
      for (; begin > first && !leaf.is_ghost(begin - 1); --begin) {
      }
      last = begin == first ? first : begin - 1;
    } else {
      for (; end < last && !leaf.is_ghost(end); ++end) {
      }
      first = end == last ? last : end + 1;
    }
    if (begin < end && !use(begin, end)) {
      return false;
    }
  }
  return true;
}

}  // namespace palimpsest::btree
