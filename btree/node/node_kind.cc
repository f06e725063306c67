#include "btree/node/node_kind.h"

#include <fmt/format.h>

#include "btree/node/inner_node.h"
#include "btree/node/leaf_node.h"
#include "btree/node/node_validate.h"
#include "btree/node/span_marks.h"
#include "buffer/swip.h"
#include "versioning/mapping_table.h"

namespace palimpsest::btree {

namespace {

InnerView inner_view(ConstBytes page) {
  return {page.data(), static_cast<std::uint32_t>(page.size())};
}

bool names_a_page(const void* file, std::uint64_t word) noexcept {
  const auto swip = buffer::Swip::of_word(word);
  return !swip.swizzled() && static_cast<const buffer::PageFile*>(file)->contains(swip.page());
}

}  // namespace

void NodeKind::register_in(buffer::PageKinds& kinds) const noexcept {
  kinds.set(buffer::PageType::tree_leaf, *this);
  kinds.set(buffer::PageType::tree_inner, *this);
}

void NodeKind::visit_swips(ConstBytes page, FunctionRef<void(std::uint32_t)> visit) const {
  const InnerView node = inner_view(page);
  if (node.is_leaf()) {
    return;
  }
  const SlotIndex children = node.child_count();
  for (SlotIndex child = 0; child < children; ++child) {
    visit(node.swip_offset(child));
  }
}

std::optional<std::string> NodeKind::validate(ConstBytes page) const {
  return validate_node(page, {.plausible = &names_a_page, .context = &file_});
}

std::optional<std::string> NodeKind::validate_root(ConstBytes page, TreeId tree) const {
  const InnerView node = inner_view(page);
  if (node.tree_id() != tree) {
    return fmt::format("it is not the root of tree {}: it belongs to tree {}", raw(tree),
                       raw(node.tree_id()));
  }
  if (!node.lower_fence().empty() || !node.upper_is_infinite()) {
    return "it is not the root of a tree: it has fences";
  }
  return std::nullopt;
}

std::optional<std::string> NodeKind::validate_child(ConstBytes parent, std::uint32_t swip_offset,
                                                    ConstBytes child) const {
  const SlotIndex index =
      swip_offset == kLeftmostChildOffset
          ? 0
          : (swip_offset - kSlotsOffset) / static_cast<std::uint32_t>(sizeof(InnerSlot)) + 1;
  return btree::validate_child(inner_view(parent), index, child);
}

void NodeKind::clean_image(MutableBytes copy) const noexcept {
  LeafNode leaf(copy.data(), static_cast<std::uint32_t>(copy.size()));
  if (!leaf.is_leaf()) {
    return;
  }
  const SlotIndex count = leaf.count();
  for (SlotIndex slot = 0; slot < count; ++slot) {
    const std::uint16_t flags = leaf.flags(slot);
    if ((flags & kInMemoryOnly) != 0) {
      leaf.set_flags(slot, static_cast<std::uint16_t>(flags & ~kInMemoryOnly));
    }
  }
}

void NodeKind::mark_attached(MutableBytes page, const buffer::Attached& attached) const noexcept {
  LeafNode leaf(page.data(), static_cast<std::uint32_t>(page.size()));
  const auto& table = static_cast<const versioning::MappingTable&>(attached);
  if (table.spans() != nullptr) {
    restore_marks(leaf, *table.spans());
  }
  table.visit([&](const versioning::Entry& entry) {
    const SearchResult at = leaf.find(entry.key());
    if (at.found) {
      leaf.set_flags(at.slot, leaf.flags(at.slot) | kHasEntry);
    }
  });
}

}  // namespace palimpsest::btree
