// Changing a node's slots and heap, written once for leaf and inner nodes. Internal to btree's
// nodes.
//
// All functions need the page exclusively, keep the invariants of node_layout.h and expect a page
// that satisfies them (built by this code, or accepted by validate_node()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/thread_blocks.h"
#include "btree/node/key_bytes.h"
#include "btree/node/node_layout.h"
#include "btree/node/node_view.h"

namespace palimpsest::btree {

/// NodeHeader::last_insert before the first insertion: a first record at 0 continues a run from
/// here.
inline constexpr std::uint16_t kNoInsertYet = 0xFFFF;

/// Bytes of the heap that a slot's record occupies.
[[nodiscard]] constexpr std::uint32_t record_bytes(const LeafSlot& slot) noexcept {
  return std::uint32_t{slot.key_len} + slot.value_len;
}
[[nodiscard]] constexpr std::uint32_t record_bytes(const InnerSlot& slot) noexcept {
  return slot.key_len;
}

/// Whether a slot counts in the page header's ghost_count.
[[nodiscard]] constexpr bool is_ghost(const LeafSlot& slot) noexcept {
  return (slot.flags & kGhost) != 0;
}
[[nodiscard]] constexpr bool is_ghost(const InnerSlot&) noexcept {
  return false;
}

/// Whether a slot counts in the page header's shadow_count.
[[nodiscard]] constexpr bool is_shadowed(const LeafSlot& slot) noexcept {
  return (slot.flags & kShadowed) != 0;
}
[[nodiscard]] constexpr bool is_shadowed(const InnerSlot&) noexcept {
  return false;
}

/// Calls `use` with uninitialised memory of at least a page: on the stack for the smallest, else a
/// block of the thread (base/thread_blocks.h).
template <class Use>
void with_scratch_page(std::uint32_t page_size, Use use) noexcept {
  if (page_size > buffer::kPageSizeMin) {
    ThreadBlock scratch;
    scratch.take();
    use(scratch.data());
    return;
  }
  const auto run = [&use]() __attribute__((noinline)) {
    alignas(64) std::byte scratch[buffer::kPageSizeMin];
    use(scratch);
  };
  run();
}
static_assert(buffer::kPageSizeMax <= ThreadBlock::kBytes);

/// Everything init() needs besides the page.
struct NodeIdentity {
  PageId page_id;
  TreeId tree_id;
  std::uint32_t level;
};

template <class Slot>
class NodeEditor {
 public:
  NodeEditor(std::byte* page, std::uint32_t page_size) noexcept
      : page_(page), page_size_(page_size) {}

  [[nodiscard]] NodeHeader& header() const noexcept {
    return *static_cast<NodeHeader*>(static_cast<void*>(page_ + kNodeHeaderOffset));
  }
  // Every function here maintains the counts; set_slot() leaves them to its caller.

  [[nodiscard]] std::uint16_t& ghost_count() const noexcept {
    return static_cast<buffer::PageHeader*>(static_cast<void*>(page_))->ghost_count;
  }
  [[nodiscard]] std::uint16_t& shadow_count() const noexcept {
    return static_cast<buffer::PageHeader*>(static_cast<void*>(page_))->shadow_count;
  }
  [[nodiscard]] Slot slot(SlotIndex i) const noexcept {
    Slot copy;
    std::memcpy(&copy, slot_address(i), sizeof copy);
    return copy;
  }
  void set_slot(SlotIndex i, const Slot& slot) const noexcept {
    std::memcpy(slot_address(i), &slot, sizeof slot);
  }

  [[nodiscard]] std::uint32_t fences_begin() const noexcept {
    return page_size_ - header().lower_len - header().upper_len;
  }
  [[nodiscard]] std::uint32_t gap_bytes() const noexcept {
    return header().heap_begin - slots_end();
  }
  [[nodiscard]] std::uint32_t free_bytes() const noexcept {
    return fences_begin() - slots_end() - header().heap_used;
  }

  /// Zeroes the page and writes headers and fences, which must not lie in it.
  void init(const NodeIdentity& identity, ByteView lower,
            std::optional<ByteView> upper) const noexcept;
  /// Empties a node and gives it new fences, which must not lie in it; keeps page header, level and
  /// leftmost child, forgets insertions.
  void reset(ByteView lower, std::optional<ByteView> upper) const noexcept;
  /// Appends the records [begin, end) of `from`, another page, and adapts them to this node's
  /// prefix. Their keys lie within the fences and above those present.
  void append_from(const NodeView& from, SlotIndex begin, SlotIndex end) const noexcept;
  /// Empties the node and fills it again with all its records, under new fences. A `prefix_len`
  /// other than that of the fences is for nodes under construction.
  void rebuild(ByteView lower, std::optional<ByteView> upper,
               std::optional<std::uint32_t> prefix_len) const noexcept;
  void compact() const noexcept;
  /// Ends the construction of a node that has no upper fence yet: gives it one, which must not lie
  /// in it, keeps the prefix, and fits the gap. Costs a fraction of rebuild().
  void finish_build(ByteView upper) const noexcept;

  /// Inserts a slot at `i` with its suffix and space for the rest of its record; `slot` has
  /// lengths, and this fills in head and offset. The caller has checked that it fits, and writes
  /// what follows the suffix to the address returned.
  [[nodiscard]] std::byte* open(SlotIndex i, Slot slot, ByteView suffix) const noexcept;
  /// As open() behind the last slot, in a node under construction: it is not searched yet, and only
  /// rebuild() and finish_build() set heads and hints, and count ghosts and shadows.
  [[nodiscard]] std::byte* push(Slot slot, ByteView suffix) const noexcept;
  /// Removes slot `i` and zeroes what it occupied.
  void close(SlotIndex i) const noexcept;
  /// Takes `bytes` off the gap; returns their page offset.
  [[nodiscard]] std::uint32_t take_heap(std::uint32_t bytes) const noexcept {
    NodeHeader& h = header();
    h.heap_begin -= bytes;
    h.heap_used += bytes;
    return h.heap_begin;
  }
  /// Zeroes a record that no slot refers to any more.
  void give_heap(std::uint32_t offset, std::uint32_t bytes) const noexcept {
    std::memset(page_ + offset, 0, bytes);
    NodeHeader& h = header();
    h.heap_used -= bytes;
    if (offset == h.heap_begin) {
      h.heap_begin += bytes;
    }
  }
  void note_insert(SlotIndex i) const noexcept;
  void refresh_hints() const noexcept;
  /// Sets head_skip to what first and last suffix have in common, and all heads and hints.
  void refresh_heads() const noexcept;

 private:
  void set_head_skip(std::uint32_t skip) const noexcept;
  [[nodiscard]] std::uint32_t skip_of_heads(ByteView first, ByteView last) const noexcept;
  [[nodiscard]] ByteView suffix(SlotIndex i) const noexcept {
    const Slot at = slot(i);
    return as_view(page_ + at.offset, at.key_len);
  }
  [[nodiscard]] std::byte* slot_address(SlotIndex i) const noexcept {
    return page_ + kSlotsOffset + i * sizeof(Slot);
  }
  [[nodiscard]] std::uint32_t slots_end() const noexcept {
    return kSlotsOffset + header().count * static_cast<std::uint32_t>(sizeof(Slot));
  }
  void write_fences(ByteView lower, std::optional<ByteView> upper) const noexcept;

  std::byte* page_;
  std::uint32_t page_size_;
};

extern template class NodeEditor<LeafSlot>;
extern template class NodeEditor<InnerSlot>;

}  // namespace palimpsest::btree
