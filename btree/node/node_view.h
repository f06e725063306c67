// Reads what leaf and inner nodes have in common: counts, fences, prefix, space.
//
// A view is a pointer and a page size; it is cheap to make and to copy and owns nothing. The page
// must be aligned to 8 bytes.
//
// Optimistic use: functions marked [optimistic] may be called while another thread changes the
// page, or on a page that meanwhile holds something else. They read each offset, length and count
// once and bound it before use; they read nothing outside the page, loop a bounded number of times,
// allocate nothing and do not throw. The result is then meaningless, and must not be used before
// the reader has validated its latch version. Functions without the mark need a latch, or a private
// copy of the page.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/node/node_layout.h"

namespace palimpsest::btree {

/// Reads one integer exactly once (the compiler may neither repeat nor split the load).
template <class T>
[[nodiscard]] inline T load_once(const std::byte* from) noexcept {
  return __atomic_load_n(static_cast<const T*>(static_cast<const void*>(from)), __ATOMIC_RELAXED);
}

/// Where a key is, or would be inserted.
struct SearchResult {
  SlotIndex slot = 0;  ///< number of keys below the one searched
  bool found = false;

  /// Both in one register: functions return this, as compilers handle the struct's padding badly.
  [[nodiscard]] static constexpr std::uint64_t packed(std::uint64_t slot, bool found) noexcept {
    return slot | std::uint64_t{found} << 32;
  }
  [[nodiscard]] static constexpr SearchResult unpacked(std::uint64_t word) noexcept {
    return {static_cast<SlotIndex>(word), (word >> 32) != 0};
  }
};

class NodeView {
 public:
  NodeView(const std::byte* page, std::uint32_t page_size) noexcept
      : page_(page), page_size_(page_size) {}

  [[nodiscard]] const std::byte* page() const noexcept { return page_; }
  [[nodiscard]] std::uint32_t page_size() const noexcept { return page_size_; }
  [[nodiscard]] ConstBytes bytes() const noexcept { return {page_, page_size_}; }

  /// [optimistic] What the page claims to be; PageType::tree_leaf, tree_inner or something else.
  [[nodiscard]] buffer::PageType type() const noexcept {
    return buffer::PageType{load_once<std::uint8_t>(page_ + offsetof(buffer::PageHeader, type))};
  }
  /// [optimistic]
  [[nodiscard]] bool is_leaf() const noexcept { return type() == buffer::PageType::tree_leaf; }
  /// [optimistic] 0 for a leaf.
  [[nodiscard]] std::uint32_t level() const noexcept {
    return field<std::uint8_t>(offsetof(NodeHeader, level));
  }
  /// [optimistic]
  [[nodiscard]] PageId page_id() const noexcept {
    return PageId{load_once<std::uint64_t>(page_ + offsetof(buffer::PageHeader, page_id))};
  }
  /// [optimistic]
  [[nodiscard]] TreeId tree_id() const noexcept {
    return TreeId{load_once<std::uint32_t>(page_ + offsetof(buffer::PageHeader, tree_id))};
  }

  /// [optimistic] The bulk that made the records' virtual versions; kNoEpoch: there are none.
  [[nodiscard]] BulkEpoch bulk_epoch() const noexcept {
    return BulkEpoch{load_once<std::uint64_t>(page_ + offsetof(buffer::PageHeader, bulk_epoch))};
  }
  /// [optimistic] The lower fence, empty if nothing is below this node.
  [[nodiscard]] ByteView lower_fence() const noexcept {
    const std::uint32_t len = lower_len();
    return as_view(page_ + page_size_ - len, len);
  }
  /// [optimistic]
  [[nodiscard]] bool upper_is_infinite() const noexcept {
    return (field<std::uint8_t>(offsetof(NodeHeader, flags)) & kUpperIsInfinite) != 0;
  }
  /// [optimistic] The upper fence; empty if it is infinite.
  [[nodiscard]] ByteView upper_fence() const noexcept {
    const std::uint32_t len = upper_len();
    return as_view(page_ + page_size_ - lower_len() - len, len);
  }
  /// [optimistic] What every key of the node starts with.
  [[nodiscard]] ByteView prefix() const noexcept {
    const std::uint32_t lower = lower_len();
    const std::uint32_t len = field<std::uint16_t>(offsetof(NodeHeader, prefix_len));
    return as_view(page_ + page_size_ - lower, std::min(len, lower));
  }
  /// [optimistic] The prefix length; not bounded.
  [[nodiscard]] std::uint32_t prefix_length() const noexcept {
    return field<std::uint16_t>(offsetof(NodeHeader, prefix_len));
  }
  /// [optimistic] How many bytes of every suffix the heads leave out; not bounded.
  [[nodiscard]] std::uint32_t head_skip() const noexcept {
    return field<std::uint16_t>(offsetof(NodeHeader, head_skip));
  }
  /// [optimistic] Whether lower fence <= key < upper fence.
  [[nodiscard]] bool covers(ByteView key) const noexcept {
    return lower_fence() <= key && (upper_is_infinite() || key < upper_fence());
  }
  /// [optimistic] covers(), cheaper for a key that does lie within.
  [[nodiscard]] bool mostly_covers(ByteView key) const noexcept;

  /// Bytes for slots, records and fences in a page of this size.
  [[nodiscard]] std::uint32_t capacity_bytes() const noexcept {
    return node_capacity_bytes(page_size_);
  }
  /// Position of the last insertion and the length of the run it ended: see node_split.h.
  [[nodiscard]] std::uint32_t last_insert() const noexcept {
    return field<std::uint16_t>(offsetof(NodeHeader, last_insert));
  }
  [[nodiscard]] std::int32_t insert_run() const noexcept {
    return field<std::int16_t>(offsetof(NodeHeader, run));
  }
  /// The header, for the algorithms of this folder that hold a latch.
  [[nodiscard]] const NodeHeader& header() const noexcept {
    return *static_cast<const NodeHeader*>(static_cast<const void*>(page_ + kNodeHeaderOffset));
  }

 protected:
  /// The word of a fence behind its first `skipped` bytes (at most all); bytes before it in the
  /// page are shifted out.
  [[nodiscard]] static std::uint64_t fence_word(ByteView fence, std::size_t skipped) noexcept {
    const std::size_t size = fence.size() - skipped;
    if (size >= kWordBytes) {
      return word_of(fence.data() + skipped, kWordBytes);
    }
    const std::uint64_t last = word_of(fence.data() + fence.size() - kWordBytes, kWordBytes);
    return size == 0 ? 0 : last << 8 * (kWordBytes - size);
  }
  template <class T>
  [[nodiscard]] T field(std::size_t offset) const noexcept {
    return load_once<T>(page_ + kNodeHeaderOffset + offset);
  }
  [[nodiscard]] std::uint32_t lower_len() const noexcept {
    return std::min<std::uint32_t>(field<std::uint16_t>(offsetof(NodeHeader, lower_len)),
                                   key_bytes_max(page_size_));
  }
  [[nodiscard]] std::uint32_t upper_len() const noexcept {
    return std::min<std::uint32_t>(field<std::uint16_t>(offsetof(NodeHeader, upper_len)),
                                   key_bytes_max(page_size_));
  }
  /// The count, or 0 if that many slots of `slot_bytes` do not fit a page.
  [[nodiscard]] std::uint32_t bounded_count(std::uint32_t slot_bytes) const noexcept {
    const std::uint32_t count = field<std::uint16_t>(offsetof(NodeHeader, count));
    return count * slot_bytes <= capacity_bytes() ? count : 0;
  }
  /// Bytes [offset, offset + len) of the page, or none if they do not lie in it.
  [[nodiscard]] ByteView bounded_bytes(std::uint32_t offset, std::uint32_t len) const noexcept {
    return offset + len <= page_size_ ? as_view(page_ + offset, len) : as_view(page_, 0);
  }

  const std::byte* page_;
  std::uint32_t page_size_;
};

inline bool NodeView::mostly_covers(ByteView key) const noexcept {
  const ByteView lower = lower_fence();
  const ByteView upper = upper_fence();
  const bool is_infinite = upper_is_infinite();
  // Bounded by the fences that were read: the lengths in the page may differ by now.
  const std::size_t common = std::min<std::size_t>({prefix_length(), lower.size(), upper.size()});
  if (key.size() >= common && equal_bytes(key.data(), lower.data(), common)) [[likely]] {
    const std::uint64_t word = word_after(key, common);
    if (word > fence_word(lower, common) && (is_infinite || word < fence_word(upper, common)))
        [[likely]] {
      return true;
    }
  }
  return lower <= key && (is_infinite || key < upper);
}

}  // namespace palimpsest::btree
