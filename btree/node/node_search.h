// The search inside a node, written once for leaf and inner slots. Internal to btree's nodes.
//
// Three steps: the hint array (16 heads, compared at once) leaves a sixteenth of the slots; a
// binary search over their heads without unpredictable branches; and, only if a head equals the
// key's, a comparison of whole suffixes, eight bytes at a time. With 8-byte keys nearly every
// search touches the heap once, at its record. Heads and hint array follow LeanStore (ICDE 2018).
//
// A caller that knows that a key lies within the fences (it came by way of the parent, or has
// compared them) searches *within*: such a key starts with the prefix, which is then not compared,
// so the fences, on a cache line of their own, are not read.
//
// Optimistic: hints, heads, offsets and lengths may be torn. The hints yield a number in [0, 16],
// which with the bounded count yields a range of slots within the count whatever the bytes were.
// The key may also no longer lie within the fences; then only the wrong bytes of it are compared,
// bounded by its length.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "base/prefetch.h"
#include "btree/node/key_bytes.h"
#include "btree/node/node_layout.h"
#include "btree/node/node_view.h"
#include "btree/node/slot_reader.h"

namespace palimpsest::btree {

/// The search among slots with the head of `rest`, from `first` on. Its few arguments fit
/// registers, so a search can leave by a jump and saves no registers for itself.
template <class Slot>
[[nodiscard, gnu::noinline]] std::uint64_t search_equal_heads(const NodeView& node, SlotIndex count,
                                                              ByteView rest,
                                                              SlotIndex first) noexcept {
  const SlotReader<Slot> slots(node, node.head_skip());
  const std::uint64_t word = word_of(rest.data(), rest.size());
  const auto head = static_cast<std::uint32_t>(word >> 32);
  SlotIndex low = first;
  // The first slot hinted above the head ends the range.
  SlotIndex high = std::max(low, hinted_slot(count_hints<true>(node.page(), head), count));
  while (low < high) {
    const SlotIndex middle = low + (high - low) / 2;
    const std::uint32_t other = slots.head(middle);
    const int order = head != other ? (head < other ? -1 : 1) : slots.compare(word, rest, middle);
    if (order == 0) {
      return SearchResult::packed(middle, true);
    }
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return SearchResult::packed(low, false);
}

/// The result for a key that lacks the common start of the node's keys.
[[nodiscard, gnu::noinline]] inline std::uint64_t search_outside_prefix(ByteView prefix,
                                                                        SlotIndex count,
                                                                        ByteView key) noexcept {
  return SearchResult::packed(key < prefix ? 0 : count, false);
}

/// The first slot among `count` with a head not below `head`.
template <class Slot>
[[nodiscard, gnu::always_inline]] inline SlotIndex search_heads(const SlotReader<Slot>& slots,
                                                                const std::byte* page,
                                                                SlotIndex count,
                                                                std::uint32_t head) noexcept {
  const SlotRange range = hinted_range(page, count, head);
  std::size_t slot = range.first;
  std::size_t length = range.last - slot;
  if (length * sizeof(Slot) > kCacheLineBytes) {
    slots.prefetch(slot);
  }
  while (length > 0) {
    const std::size_t half = (length + 1) / 2;
    slot += slots.head(slot + half - 1) < head ? half : 0;
    length -= half;
  }
  return static_cast<SlotIndex>(slot);
}

/// The search once `skipped` bytes of the key are known to be the common start of the node's keys
/// (prefix and head_skip bytes), and the first slot with a head not below the key's is known.
template <class Slot>
[[nodiscard, gnu::always_inline]] inline std::uint64_t search_from(const NodeView& node,
                                                                   SlotIndex count, ByteView key,
                                                                   std::size_t skipped,
                                                                   std::uint32_t head_skip,
                                                                   SlotIndex slot) noexcept {
  const SlotReader<Slot> slots(node, head_skip);
  if (slot >= count || slots.head(slot) != head_after(key, skipped)) {
    return SearchResult::packed(slot, false);
  }
  const ByteView rest(key.data() + skipped, key.size() - skipped);
  if constexpr (std::same_as<Slot, LeafSlot>) {  // it is mostly this record
    const ByteView other = slots.rest(slot);
    if (other.size() == rest.size() && equal_after_head(rest.data(), other.data(), rest.size())) {
      return SearchResult::packed(slot, true);
    }
  }
  return search_equal_heads<Slot>(node, count, rest, slot);
}

/// search_from() when that slot is not known.
template <class Slot>
[[nodiscard, gnu::always_inline]] inline std::uint64_t search_behind(
    const NodeView& node, SlotIndex count, ByteView key, std::size_t skipped,
    std::uint32_t head_skip) noexcept {
  const SlotIndex slot =
      search_heads(SlotReader<Slot>(node, head_skip), node.page(), count, head_after(key, skipped));
  return search_from<Slot>(node, count, key, skipped, head_skip, slot);
}

/// The search once `prefix_len` bytes of the key are known to be the node's prefix.
template <class Slot>
[[nodiscard, gnu::always_inline]] inline std::uint64_t search_behind_prefix(
    const NodeView& node, SlotIndex count, ByteView key, std::size_t prefix_len) noexcept {
  const std::uint32_t head_skip = node.head_skip();
  if (head_skip != 0) {
    // All suffixes start as the first one does.
    const ByteView common = SlotReader<Slot>(node, 0).suffix(0).substr(0, head_skip);
    const ByteView suffix(key.data() + prefix_len, key.size() - prefix_len);
    if (suffix.size() < common.size() || !equal_bytes(suffix.data(), common.data(), common.size()))
        [[unlikely]] {
      return search_outside_prefix(common, count, suffix);
    }
    prefix_len += common.size();
  }
  return search_behind<Slot>(node, count, key, prefix_len, head_skip);
}

/// [optimistic] Where `key` is among `count` (bounded) slots, or belongs; a packed SearchResult.
template <class Slot>
[[nodiscard]] inline std::uint64_t search_node(const NodeView& node, SlotIndex count,
                                               ByteView key) noexcept {
  const ByteView prefix = node.prefix();
  if (key.size() < prefix.size() || !equal_bytes(key.data(), prefix.data(), prefix.size()))
      [[unlikely]] {
    return search_outside_prefix(prefix, count, key);
  }
  return search_behind_prefix<Slot>(node, count, key, prefix.size());
}

/// [optimistic] search_node() for a key within the node's fences.
template <class Slot>
[[nodiscard, gnu::always_inline]] inline std::uint64_t search_within(const NodeView& node,
                                                                     SlotIndex count,
                                                                     ByteView key) noexcept {
  return search_behind_prefix<Slot>(node, count, key,
                                    std::min<std::size_t>(node.prefix_length(), key.size()));
}

// search_within() in steps, for searching many nodes at once: each step prefetches what the next
// one reads. For a key without the common start of the node's keys the results are useless, but
// harmless.

/// [optimistic] How many bytes of a key within the node's fences the heads leave out.
[[nodiscard]] inline std::size_t skipped_within(const NodeView& node, ByteView key) noexcept {
  return std::min<std::size_t>(std::size_t{node.prefix_length()} + node.head_skip(), key.size());
}

/// [optimistic] Prefetches the slots that search_within() will read.
template <class Slot>
inline void prefetch_slots(const NodeView& node, SlotIndex count, ByteView key) noexcept {
  const SlotRange range =
      hinted_range(node.page(), count, head_after(key, skipped_within(node, key)));
  const std::byte* const slots = node.page() + kSlotsOffset;
  palimpsest::prefetch(slots + range.first * sizeof(Slot), slots + (range.last + 1) * sizeof(Slot));
}

/// [optimistic] The first slot with a head not below the key's.
template <class Slot>
[[nodiscard]] inline SlotIndex first_by_head(const NodeView& node, SlotIndex count,
                                             ByteView key) noexcept {
  return search_heads(SlotReader<Slot>(node, 0), node.page(), count,
                      head_after(key, skipped_within(node, key)));
}

/// [optimistic] search_within(), when that slot is known.
template <class Slot>
[[nodiscard, gnu::always_inline]] inline std::uint64_t search_within_from(
    const NodeView& node, SlotIndex count, ByteView key, SlotIndex first) noexcept {
  if (node.head_skip() != 0) [[unlikely]] {
    return search_within<Slot>(node, count, key);
  }
  return search_from<Slot>(node, count, key, skipped_within(node, key), 0, first);
}

}  // namespace palimpsest::btree
