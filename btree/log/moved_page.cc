#include "btree/log/moved_page.h"

#include <fmt/format.h>

#include <cstring>

#include "btree/node/node_image.h"
#include "btree/node/node_print.h"

namespace palimpsest::btree {
namespace {

std::optional<std::string> fault_of_child(const TreeRecord& record, const InnerView& parent) {
  if (record.slot >= parent.child_count() || parent.swip_at(record.slot) != raw(record.right)) {
    return fmt::format("child {} of {} is not page {}", record.slot, parent.child_count(),
                       raw(record.right));
  }
  KeyBuffer lower;
  parent.copy_child_lower(record.slot, lower);
  const ByteView moved = image_lower_fence(record.right_image);
  if (lower.view() != moved) {
    return fmt::format("child {} begins at \"{}\", the page that was moved at \"{}\"", record.slot,
                       printable(lower.view()), printable(moved));
  }
  return std::nullopt;
}

}  // namespace

PageId root_named(const LeafView& leaf, SlotIndex slot) noexcept {
  PageId root = kNoPage;
  if (slot < leaf.count() && (leaf.flags(slot) & kLargeValue) == 0) {
    const ByteView value = leaf.value(slot);
    if (value.size() >= sizeof root) {
      std::memcpy(&root, value.data() + value.size() - sizeof root, sizeof root);
    }
  }
  return root;
}

void name_root(const LeafNode& leaf, SlotIndex slot, PageId root) noexcept {
  const ByteView value = leaf.value(slot);
  const auto end = value.data() + value.size() - as_view(leaf.page(), 0).data();
  std::memcpy(leaf.mutable_page() + end - sizeof root, &root, sizeof root);
}

std::optional<std::string> fault_of_move(const TreeRecord& record, const NodeView& page) {
  if (!record.moves_root()) {
    return fault_of_child(record, InnerView(page.page(), page.page_size()));
  }
  const LeafView leaf(page.page(), page.page_size());
  if (root_named(leaf, record.slot) == record.right) {
    return std::nullopt;
  }
  return fmt::format("slot {} of {} does not name page {}", record.slot, leaf.count(),
                     raw(record.right));
}

void apply_move(const TreeRecord& record, std::byte* page, std::uint32_t page_size) noexcept {
  if (record.moves_root()) {
    name_root(LeafNode(page, page_size), record.slot, record.page);
  } else {
    InnerNode(page, page_size).set_swip(record.slot, raw(record.page));
  }
}

}  // namespace palimpsest::btree
