#include "btree/node/node_validate.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/file_format.h"
#include "btree/node/node_edit.h"
#include "btree/node/node_print.h"
#include "btree/node/node_search.h"
#include "btree/node/virtual_version.h"

namespace palimpsest::btree {
namespace {

using Verdict = std::optional<std::string>;

/// A bit for each byte of a page: set if it belongs to a fence or a record.
class ByteMap {
 public:
  explicit ByteMap(std::uint32_t page_size) noexcept {
    std::memset(words_.data(), 0, page_size / 8);
  }

  /// Marks [begin, end), within the page. False if one of the bytes was marked before.
  [[nodiscard]] bool mark(std::uint32_t begin, std::uint32_t end) noexcept {
    std::uint64_t seen = 0;
    while (begin < end) {
      const std::uint32_t bit = begin % 64;
      const std::uint32_t bits = std::min(64 - bit, end - begin);
      const std::uint64_t mask = (~std::uint64_t{0} >> (64 - bits)) << bit;
      seen |= words_[begin / 64] & mask;
      words_[begin / 64] |= mask;
      begin += bits;
    }
    return seen == 0;
  }
  [[nodiscard]] bool marked(std::uint32_t at) const noexcept {
    return (words_[at / 64] >> (at % 64) & 1) != 0;
  }

 private:
  std::array<std::uint64_t, buffer::kPageSizeMax / 64> words_;  // only the page's part is used
};

Verdict check_kind(const NodeView& node) {
  buffer::PageHeader page_header;
  std::memcpy(&page_header, node.page(), sizeof page_header);
  const NodeHeader& h = node.header();
  if (page_header.format_version != buffer::kPageFormatVersion) {
    return fmt::format("page format version {} is not {}", page_header.format_version,
                       buffer::kPageFormatVersion);
  }
  const bool is_leaf = page_header.type == buffer::PageType::tree_leaf;
  if (!is_leaf && page_header.type != buffer::PageType::tree_inner) {
    return fmt::format("page type {} is not a tree node", static_cast<unsigned>(page_header.type));
  }
  if (is_leaf != (h.level == 0) || h.level > kLevelMax) {
    return fmt::format("level {} does not suit {}", h.level, is_leaf ? "a leaf" : "an inner node");
  }
  if (page_header.reserved_byte != 0 || page_header.reserved_word != 0 ||
      page_header.reserved_tail != 0 || (h.flags & ~kUpperIsInfinite) != 0 ||
      (is_leaf && h.leftmost_child != 0)) {
    return "reserved bytes or unknown flags are not zero";
  }
  if (raw(page_header.gsn) > kCounterMax) {
    return fmt::format("GSN {} is over the limit", raw(page_header.gsn));
  }
  return std::nullopt;
}

Verdict check_fences(const NodeView& node) {
  const NodeHeader& h = node.header();
  const std::uint32_t limit = key_bytes_max(node.page_size());
  if (h.lower_len > limit || h.upper_len > limit) {
    return fmt::format("fences of {} and {} bytes are over the limit of {}", h.lower_len,
                       h.upper_len, limit);
  }
  if (node.upper_is_infinite()) {
    if (h.upper_len != 0 || h.prefix_len != 0) {
      return fmt::format("upper fence of {} bytes or prefix of {} bytes without an upper fence",
                         h.upper_len, h.prefix_len);
    }
    return std::nullopt;
  }
  if (node.lower_fence() >= node.upper_fence()) {
    return "the lower fence is not below the upper fence";
  }
  const std::uint32_t common = common_prefix_length(node.lower_fence(), node.upper_fence());
  if (h.prefix_len != common) {
    return fmt::format("prefix of {} bytes, the fences have {} in common", h.prefix_len, common);
  }
  return std::nullopt;
}

template <class Slot>
class NodeCheck {
 public:
  NodeCheck(const NodeView& node, const SwipRule& swips) noexcept
      : node_(node),
        swips_(swips),
        h_(node.header()),
        fences_begin_(node.page_size() - h_.lower_len - h_.upper_len),
        map_(node.page_size()) {}

  [[nodiscard]] Verdict run() {
    if (Verdict fault = check_space()) {
      return fault;
    }
    if (Verdict fault = check_swip(h_.leftmost_child, 0)) {
      return fault;
    }
    for (SlotIndex i = 0; i < h_.count; ++i) {
      if (Verdict fault = check_slot(i)) {
        return fault;
      }
    }
    if (h_.count == 0 && h_.head_skip != 0) {
      return "an empty node skips bytes of its keys";
    }
    if (heap_used_ != h_.heap_used) {
      return fmt::format("heap_used is {}, records have {} bytes", h_.heap_used, heap_used_);
    }
    if (const std::uint32_t ghosts = buffer::header_of(node_.bytes()).ghost_count;
        ghosts != ghosts_) {
      return fmt::format("ghost_count is {}, the node has {}", ghosts, ghosts_);
    }
    if (const std::uint32_t shadows = buffer::header_of(node_.bytes()).shadow_count;
        shadows != shadows_) {
      return fmt::format("shadow_count is {}, the node has {}", shadows, shadows_);
    }
    return check_hints();
  }

  /// Called after run(): whether unused bytes are zero.
  [[nodiscard]] Verdict check_free_bytes() const {
    const std::uint32_t slots_end = kSlotsOffset + h_.count * std::uint32_t{sizeof(Slot)};
    for (std::uint32_t at = slots_end; at < fences_begin_; ++at) {
      if (node_.page()[at] != std::byte{0} && !map_.marked(at)) {
        return fmt::format("free byte at {} is not zero", at);
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] Verdict check_space() const {
    const std::uint32_t slots_bytes = h_.count * std::uint32_t{sizeof(Slot)};
    if (h_.heap_begin > fences_begin_ || kSlotsOffset + slots_bytes > h_.heap_begin) {
      return fmt::format("{} slots, heap from {} and fences from {} do not fit the page", h_.count,
                         h_.heap_begin, fences_begin_);
    }
    return std::nullopt;
  }

  [[nodiscard]] Verdict check_swip(std::uint64_t swip, SlotIndex child) const {
    if constexpr (std::is_same_v<Slot, InnerSlot>) {
      if (swips_.plausible != nullptr && !swips_.plausible(swips_.context, swip)) {
        return fmt::format("swip {:#x} of child {} is not plausible", swip, child);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] Verdict check_slot(SlotIndex i) {
    Slot slot;
    std::memcpy(&slot, node_.page() + kSlotsOffset + i * sizeof slot, sizeof slot);
    const std::uint32_t bytes = record_bytes(slot);
    const std::uint32_t key_len = std::uint32_t{h_.prefix_len} + slot.key_len;
    if (key_len == 0 || key_len > key_bytes_max(node_.page_size()) ||
        h_.prefix_len + bytes > bytes_max_of(slot)) {
      return fmt::format("slot {}: key of {} bytes, record of {} bytes", i, key_len,
                         h_.prefix_len + bytes);
    }
    if ((bytes > 0 && slot.offset < h_.heap_begin) || slot.offset + bytes > fences_begin_) {
      return fmt::format("slot {}: {} bytes at {} are not in the heap", i, bytes, slot.offset);
    }
    if (!map_.mark(slot.offset, slot.offset + bytes)) {
      return fmt::format("slot {}: {} bytes at {} overlap another record", i, bytes, slot.offset);
    }
    heap_used_ += bytes;
    if constexpr (std::is_same_v<Slot, LeafSlot>) {
      if (!are_record_flags(slot.flags) ||
          !is_stored_value(as_view(node_.page() + slot.offset + slot.key_len, slot.value_len),
                           slot.flags)) {
        return fmt::format("slot {}: flags {:#x} with a value of {} bytes", i, slot.flags,
                           slot.value_len);
      }
      ghosts_ += is_ghost(slot) ? 1U : 0U;
      shadows_ += is_shadowed(slot) ? 1U : 0U;
    } else if (Verdict fault = check_swip(slot.swip, i + 1)) {
      return fault;
    }
    return check_order(i, slot.head, as_view(node_.page() + slot.offset, slot.key_len));
  }

  [[nodiscard]] std::uint32_t bytes_max_of(const Slot& slot) const noexcept {
    return is_shadowed(slot) ? stored_bytes_max(node_.page_size())
                             : record_bytes_max(node_.page_size());
  }

  /// Checks heads and order, and the first and last key against the fences. All keys start with the
  /// prefix, so only what follows it is compared, and between keys only what follows head_skip.
  [[nodiscard]] Verdict check_order(SlotIndex i, std::uint32_t head, ByteView suffix) {
    if (i == 0) {
      first_suffix_ = suffix;
    }
    const std::size_t skip = h_.head_skip;
    if (suffix.size() < skip || first_suffix_.size() < skip ||
        !equal_bytes(suffix.data(), first_suffix_.data(), skip)) {
      return fmt::format("slot {}: does not start with the {} bytes skipped", i, skip);
    }
    const ByteView rest = suffix.substr(skip);
    if (head != head_of(rest)) {
      return fmt::format("slot {}: head {:#x} of key {:#x}", i, head, head_of(rest));
    }
    if (i == 0) {
      const ByteView lower = node_.lower_fence().substr(h_.prefix_len);
      if (suffix < lower || (std::is_same_v<Slot, InnerSlot> && suffix == lower)) {
        return "the first key is below the lower fence";
      }
    } else if (last_head_ > head ||
               (last_head_ == head && compare_suffixes(last_rest_, rest) >= 0)) {
      return fmt::format("slot {}: not above the one before", i);
    }
    if (i + 1 == h_.count && !node_.upper_is_infinite() &&
        suffix >= node_.upper_fence().substr(h_.prefix_len)) {
      return "the last key is not below the upper fence";
    }
    last_head_ = head;
    last_rest_ = rest;
    return std::nullopt;
  }

  [[nodiscard]] Verdict check_hints() const {
    for (std::uint32_t i = 0; i < kHintCount; ++i) {
      std::uint32_t head = 0;
      if (h_.count != 0) {
        std::memcpy(&head,
                    node_.page() + kSlotsOffset + hinted_slot(i, h_.count) * sizeof(Slot) +
                        offsetof(Slot, head),
                    sizeof head);
      }
      if (h_.hint[i] != head) {
        return fmt::format("hint {} is {:#x}, the head is {:#x}", i, h_.hint[i], head);
      }
    }
    return std::nullopt;
  }

  NodeView node_;
  SwipRule swips_;
  const NodeHeader& h_;
  std::uint32_t fences_begin_;
  ByteMap map_;
  std::uint32_t heap_used_ = 0;
  std::uint32_t ghosts_ = 0;
  std::uint32_t shadows_ = 0;
  std::uint32_t last_head_ = 0;
  ByteView last_rest_;
  ByteView first_suffix_;
};

template <class Slot>
Verdict check_content(const NodeView& node, const SwipRule& swips, bool audit) {
  NodeCheck<Slot> check(node, swips);
  Verdict fault = check.run();
  return fault || !audit ? fault : check.check_free_bytes();
}

Verdict check_node(ConstBytes page, const SwipRule& swips, bool audit) {
  if (page.size() > buffer::kPageSizeMax ||
      !is_node_page_size(static_cast<std::uint32_t>(page.size()))) {
    return fmt::format("{} bytes are not a page", page.size());
  }
  const NodeView node(page.data(), static_cast<std::uint32_t>(page.size()));
  if (Verdict fault = check_kind(node)) {
    return fault;
  }
  if (Verdict fault = check_fences(node)) {
    return fault;
  }
  return node.is_leaf() ? check_content<LeafSlot>(node, swips, audit)
                        : check_content<InnerSlot>(node, swips, audit);
}

}  // namespace

std::optional<std::string> validate_node(ConstBytes page, const SwipRule& swips) {
  return check_node(page, swips, false);
}

std::optional<std::string> audit_node(ConstBytes page, const SwipRule& swips) {
  return check_node(page, swips, true);
}

std::optional<std::string> validate_child(const InnerView& parent, SlotIndex child,
                                          ConstBytes child_page) {
  const NodeView node(child_page.data(), static_cast<std::uint32_t>(child_page.size()));
  if (node.page_size() != parent.page_size() || node.level() + 1 != parent.level() ||
      node.tree_id() != parent.tree_id()) {
    return fmt::format("a node of level {}, tree {} below one of level {}, tree {}", node.level(),
                       raw(node.tree_id()), parent.level(), raw(parent.tree_id()));
  }
  KeyBuffer fence;
  parent.copy_child_lower(child, fence);
  if (fence.view() != node.lower_fence()) {
    return fmt::format("lower fence \"{}\" where the parent has \"{}\"",
                       printable(node.lower_fence()), printable(fence.view()));
  }
  const bool finite = parent.copy_child_upper(child, fence);
  if (finite == node.upper_is_infinite() || (finite && fence.view() != node.upper_fence())) {
    return fmt::format("upper fence \"{}\" where the parent has \"{}\"",
                       node.upper_is_infinite() ? "infinite" : printable(node.upper_fence()),
                       finite ? printable(fence.view()) : "infinite");
  }
  return std::nullopt;
}

}  // namespace palimpsest::btree
