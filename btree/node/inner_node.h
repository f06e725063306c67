// Inner nodes: separators and child swips in one page. InnerView reads, InnerNode also changes.
//
// n separators and n + 1 children; child i covers the keys in [separator i - 1, separator i), where
// the node's fences replace the missing outermost separators. Pure algorithms on a page in memory:
// no pool, no latches, no log; leaf_node.h lists the caller's duties.
//
// Swips are opaque 64-bit words that the buffer pool swizzles in place while readers run, so they
// lie aligned in the slots and are only accessed atomically. Functions that move slots carry swips
// along unchanged; their callers hold the page exclusively, and the pool swizzles only under a
// latch that excludes that.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "btree/node/key_bytes.h"
#include "btree/node/node_layout.h"
#include "btree/node/node_view.h"

namespace palimpsest::btree {

class InnerView : public NodeView {
 public:
  using NodeView::NodeView;

  /// [optimistic] Number of separators; there is one child more.
  [[nodiscard]] SlotIndex count() const noexcept { return bounded_count(sizeof(InnerSlot)); }
  /// [optimistic]
  [[nodiscard]] SlotIndex child_count() const noexcept { return count() + 1; }

  /// [optimistic] Index of the child that covers `key`: the number of separators <= key.
  [[nodiscard]] SlotIndex route(ByteView key) const noexcept {
    const SearchResult at = find(key);
    return at.slot + (at.found ? 1 : 0);
  }
  /// [optimistic] route() for a key within the node's fences.
  [[nodiscard]] SlotIndex route_within(ByteView key) const noexcept {
    const SearchResult at = SearchResult::unpacked(search_within(key));
    return at.slot + (at.found ? 1 : 0);
  }
  /// [optimistic] Prefetches what route_within() will read.
  void prefetch_route(ByteView key) const noexcept;
  /// [optimistic] Index of the child that holds the largest keys < key: number of separators < key.
  [[nodiscard]] SlotIndex route_before(ByteView key) const noexcept { return find(key).slot; }
  /// [optimistic] Where `key` is as a separator, or would be inserted.
  [[nodiscard]] SearchResult find(ByteView key) const noexcept {
    return SearchResult::unpacked(search(key));
  }

  /// [optimistic] Page offset of a child's swip; that of child 0 if `child` cannot be in a page.
  [[nodiscard]] std::uint32_t swip_offset(SlotIndex child) const noexcept {
    if (child == 0 || child > capacity_bytes() / sizeof(InnerSlot)) {
      return kLeftmostChildOffset;
    }
    return kSlotsOffset + (child - 1) * static_cast<std::uint32_t>(sizeof(InnerSlot));
  }
  /// [optimistic] A child's swip (acquire). Not to be followed before the latch version is
  /// validated.
  [[nodiscard]] std::uint64_t swip_at(SlotIndex child) const noexcept {
    const std::byte* word = page_ + swip_offset(child);
    return __atomic_load_n(static_cast<const std::uint64_t*>(static_cast<const void*>(word)),
                           __ATOMIC_ACQUIRE);
  }

  /// [optimistic] The separator without the node's prefix; empty if `slot` is out of range.
  [[nodiscard]] ByteView suffix(SlotIndex slot) const noexcept;
  /// [optimistic] Copies the whole separator.
  void copy_separator(SlotIndex slot, KeyBuffer& into) const noexcept {
    into.assign_clamped(prefix(), suffix(slot), key_bytes_max(page_size()));
  }
  /// [optimistic] Copies where the child's keys start: the separator before it, or the lower fence.
  void copy_child_lower(SlotIndex child, KeyBuffer& into) const noexcept;
  /// [optimistic] Copies where the child's keys end: the separator after it, or the upper fence.
  /// False if that is infinite.
  [[nodiscard]] bool copy_child_upper(SlotIndex child, KeyBuffer& into) const noexcept;

  /// Free bytes, as they would be after compaction.
  [[nodiscard]] std::uint32_t free_bytes() const noexcept;
  /// Whether a separator of this length (whole key) fits, perhaps after compaction.
  [[nodiscard]] bool can_insert(std::size_t key_len) const noexcept;

 private:
  /// A packed SearchResult.
  [[nodiscard]] std::uint64_t search(ByteView key) const noexcept;
  [[nodiscard]] std::uint64_t search_within(ByteView key) const noexcept;
};

class InnerNode : public InnerView {
 public:
  InnerNode(std::byte* page, std::uint32_t page_size) noexcept : InnerView(page, page_size) {}

  /// The page, as it was given to the constructor.
  [[nodiscard]] std::byte* mutable_page() const noexcept {
    return const_cast<std::byte*>(page_);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }

  /// Makes the page an inner node of one child and no separators: zeroes it and sets both headers.
  /// `level` is 1 to kLevelMax. No `upper`: infinite.
  void init(PageId page_id, TreeId tree_id, std::uint32_t level, ByteView lower,
            std::optional<ByteView> upper, std::uint64_t leftmost_swip) noexcept;

  /// Inserts a separator at `slot` (find(separator).slot, not found) and to its right a new child,
  /// which becomes child slot + 1. False, and nothing changed, if it does not fit.
  [[nodiscard]] bool insert(SlotIndex slot, ByteView separator, std::uint64_t right_swip) noexcept;
  /// Removes separator `slot` and the child to its right, child slot + 1.
  void remove(SlotIndex slot) noexcept;
  /// Stores a child's swip (release).
  void set_swip(SlotIndex child, std::uint64_t swip) noexcept {
    std::atomic_ref<std::uint64_t>(
        *static_cast<std::uint64_t*>(static_cast<void*>(mutable_page() + swip_offset(child))))
        .store(swip, std::memory_order_release);
  }

  /// Moves the separators together, so that all free bytes lie between slots and heap.
  void compact() noexcept;
};

}  // namespace palimpsest::btree
