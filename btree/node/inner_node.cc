#include "btree/node/inner_node.h"

#include "base/check.h"
#include "btree/node/node_edit.h"
#include "btree/node/node_search.h"

namespace palimpsest::btree {
namespace {

using Editor = NodeEditor<InnerSlot>;

}  // namespace

std::uint64_t InnerView::search(ByteView key) const noexcept {
  return search_node<InnerSlot>(*this, count(), key);
}

std::uint64_t InnerView::search_within(ByteView key) const noexcept {
  return btree::search_within<InnerSlot>(*this, count(), key);
}

void InnerView::prefetch_route(ByteView key) const noexcept {
  btree::prefetch_slots<InnerSlot>(*this, count(), key);
}

ByteView InnerView::suffix(SlotIndex slot) const noexcept {
  if (slot >= count()) {
    return as_view(page_, 0);
  }
  return SlotReader<InnerSlot>(*this, 0).suffix(slot);
}

void InnerView::copy_child_lower(SlotIndex child, KeyBuffer& into) const noexcept {
  if (child == 0) {
    into.assign(lower_fence());
  } else {
    copy_separator(child - 1, into);
  }
}

bool InnerView::copy_child_upper(SlotIndex child, KeyBuffer& into) const noexcept {
  if (child < count()) {
    copy_separator(child, into);
    return true;
  }
  into.assign(upper_fence());
  return !upper_is_infinite();
}

std::uint32_t InnerView::free_bytes() const noexcept {
  const NodeHeader& h = header();
  return capacity_bytes() - h.lower_len - h.upper_len - h.heap_used -
         h.count * static_cast<std::uint32_t>(sizeof(InnerSlot));
}

bool InnerView::can_insert(std::size_t key_len) const noexcept {
  return key_len - header().prefix_len + sizeof(InnerSlot) <= free_bytes();
}

void InnerNode::init(PageId page_id, TreeId tree_id, std::uint32_t level, ByteView lower,
                     std::optional<ByteView> upper, std::uint64_t leftmost_swip) noexcept {
  check(level > 0 && level <= kLevelMax, "an inner node's level is within the limits");
  Editor(mutable_page(), page_size_).init({page_id, tree_id, level}, lower, upper);
  set_swip(0, leftmost_swip);
}

bool InnerNode::insert(SlotIndex slot, ByteView separator, std::uint64_t right_swip) noexcept {
  PALIMPSEST_DEBUG_CHECK(covers(separator) && separator != lower_fence(),
                         "a separator lies strictly within the fences");
  PALIMPSEST_DEBUG_CHECK(separator.size() <= key_bytes_max(page_size_),
                         "a separator is within the limits");
  if (!can_insert(separator.size())) {
    return false;
  }
  const Editor editor(mutable_page(), page_size_);
  const ByteView suffix = separator.substr(header().prefix_len);
  if (editor.gap_bytes() < sizeof(InnerSlot) + suffix.size()) {
    editor.compact();
  }
  static_cast<void>(editor.open(slot,
                                {.swip = right_swip,
                                 .head = 0,
                                 .offset = 0,
                                 .key_len = static_cast<std::uint16_t>(suffix.size())},
                                suffix));
  return true;
}

void InnerNode::remove(SlotIndex slot) noexcept {
  Editor(mutable_page(), page_size_).close(slot);
}

void InnerNode::compact() noexcept {
  Editor(mutable_page(), page_size_).compact();
}

}  // namespace palimpsest::btree
