#include "btree/node/node_image.h"

#include <fmt/format.h>

#include <cstring>

#include "base/check.h"
#include "btree/node/inner_node.h"

namespace palimpsest::btree {
namespace {

NodeHeader header_in(ConstBytes image) noexcept {
  NodeHeader header;
  std::memcpy(&header, image.data(), sizeof header);
  return header;
}

std::uint32_t slots_bytes(const NodeHeader& header) noexcept {
  return header.count *
         static_cast<std::uint32_t>(header.level == 0 ? sizeof(LeafSlot) : sizeof(InnerSlot));
}

std::uint64_t named(std::uint64_t swip, const SwipNames& names) noexcept {
  if (names.page_of != nullptr && swip >> 63 != 0) {
    swip = raw(names.page_of(names.context, swip));
  }
  PALIMPSEST_DEBUG_CHECK(is_page_id(swip), "swips in a log record are page ids");
  return swip;
}

void name_swips(std::byte* image, SlotIndex count, const SwipNames& names) noexcept {
  for (SlotIndex child = 0; child <= count; ++child) {
    std::byte* const at =
        image + (child == 0 ? offsetof(NodeHeader, leftmost_child)
                            : sizeof(NodeHeader) + (child - 1) * sizeof(InnerSlot));
    std::uint64_t swip = 0;
    std::memcpy(&swip, at, sizeof swip);
    swip = named(swip, names);
    std::memcpy(at, &swip, sizeof swip);
  }
}

/// Clears flags that are in memory only: they are not logged.
void clear_marks(std::byte* image, SlotIndex count) noexcept {
  for (SlotIndex slot = 0; slot < count; ++slot) {
    std::byte* const at =
        image + sizeof(NodeHeader) + slot * sizeof(LeafSlot) + offsetof(LeafSlot, flags);
    std::uint16_t flags = 0;
    std::memcpy(&flags, at, sizeof flags);
    flags &= kRecordFlagsKnown;
    std::memcpy(at, &flags, sizeof flags);
  }
}

std::uint16_t count_flagged(const std::byte* page, SlotIndex count, std::uint16_t flag) noexcept {
  const std::byte* const flags = page + kSlotsOffset + offsetof(LeafSlot, flags);
  std::uint16_t flagged = 0;
  for (SlotIndex i = 0; i < count; ++i) {
    const auto of_slot = load_once<std::uint16_t>(flags + i * sizeof(LeafSlot));
    flagged = static_cast<std::uint16_t>(flagged + ((of_slot & flag) != 0 ? 1 : 0));
  }
  return flagged;
}

struct BothRules {
  const SwipRule& callers;

  static bool plausible(const void* context, std::uint64_t swip) noexcept {
    const SwipRule& rule = static_cast<const BothRules*>(context)->callers;
    return is_page_id(swip) && (rule.plausible == nullptr || rule.plausible(rule.context, swip));
  }
};

}  // namespace

std::size_t node_image_bytes(const NodeView& node) noexcept {
  const NodeHeader& h = node.header();
  return sizeof(NodeHeader) + slots_bytes(h) + (node.page_size() - h.heap_begin);
}

void write_node_image(const NodeView& node, const SwipNames& names, std::byte* into) noexcept {
  const NodeHeader& h = node.header();
  const std::size_t head_bytes = sizeof(NodeHeader) + slots_bytes(h);
  std::memcpy(into, node.page() + kNodeHeaderOffset, head_bytes);
  std::memcpy(into + head_bytes, node.page() + h.heap_begin, node.page_size() - h.heap_begin);
  if (h.level > 0) {
    name_swips(into, h.count, names);
  } else {
    clear_marks(into, h.count);
  }
}

bool is_node_image(ConstBytes image, std::uint32_t page_size) noexcept {
  if (image.size() < sizeof(NodeHeader)) {
    return false;
  }
  const NodeHeader header = header_in(image);
  return header.heap_begin <= page_size &&
         kSlotsOffset + slots_bytes(header) <= header.heap_begin &&
         header.lower_len <= page_size - header.heap_begin &&
         image.size() == sizeof(NodeHeader) + slots_bytes(header) + page_size - header.heap_begin;
}

std::uint32_t image_level(ConstBytes image) noexcept {
  return header_in(image).level;
}

ByteView image_lower_fence(ConstBytes image) noexcept {
  const std::size_t len = header_in(image).lower_len;
  return as_view(image.data() + image.size() - len, len);
}

std::optional<std::string> read_node_image(ConstBytes image, PageId page_id, TreeId tree_id,
                                           const SwipRule& swips, MutableBytes page) {
  const auto page_size = static_cast<std::uint32_t>(page.size());
  if (!is_node_image(image, page_size)) {
    return fmt::format("{} bytes are not an image of a node of {} bytes", image.size(), page_size);
  }
  const NodeHeader header = header_in(image);
  const std::size_t head_bytes = sizeof(NodeHeader) + slots_bytes(header);
  const NodeIdentity identity{page_id, tree_id, header.level};
  if (header.level == 0) {
    NodeEditor<LeafSlot>(page.data(), page_size).init(identity, ByteView(), std::nullopt);
  } else {
    NodeEditor<InnerSlot>(page.data(), page_size).init(identity, ByteView(), std::nullopt);
  }
  std::memcpy(page.data() + kNodeHeaderOffset, image.data(), head_bytes);
  std::memcpy(page.data() + header.heap_begin, image.data() + head_bytes,
              page_size - header.heap_begin);
  if (header.level == 0) {
    const NodeEditor<LeafSlot> leaf(page.data(), page_size);
    leaf.ghost_count() = count_flagged(page.data(), header.count, kGhost);
    leaf.shadow_count() = count_flagged(page.data(), header.count, kShadowed);
  }
  const BothRules rules{swips};
  return audit_node(page, {.plausible = &BothRules::plausible, .context = &rules});
}

}  // namespace palimpsest::btree
