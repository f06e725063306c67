#include "btree/node/node_print.h"

#include <fmt/format.h>

#include "btree/node/inner_node.h"
#include "btree/node/leaf_node.h"

namespace palimpsest::btree {

std::string printable(ByteView bytes, std::size_t bytes_max) {
  std::string text;
  for (const char byte : bytes.substr(0, bytes_max)) {
    if (byte >= ' ' && byte <= '~' && byte != '\\') {
      text.push_back(byte);
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  if (bytes.size() > bytes_max) {
    text += "...";
  }
  return text;
}

std::string print_node(ConstBytes page) {
  const NodeView node(page.data(), static_cast<std::uint32_t>(page.size()));
  const NodeHeader& h = node.header();
  std::string text = fmt::format(
      "{} page {} tree {} level {}: {} slots, {} ghosts, heap from {} with {} bytes used\n",
      node.is_leaf() ? "leaf" : "inner", raw(node.page_id()), raw(node.tree_id()), node.level(),
      h.count, buffer::header_of(page).ghost_count, h.heap_begin, h.heap_used);
  text += fmt::format(
      "  fences [\"{}\", {}) prefix \"{}\" head skip {} last insert {} run {}\n",
      printable(node.lower_fence()),
      node.upper_is_infinite() ? "infinite" : fmt::format("\"{}\"", printable(node.upper_fence())),
      printable(node.prefix()), h.head_skip, node.last_insert(), node.insert_run());
  if (node.is_leaf()) {
    const LeafView leaf(node.page(), node.page_size());
    for (SlotIndex i = 0; i < leaf.count(); ++i) {
      const std::uint16_t flags = leaf.flags(i);
      text += fmt::format(
          "  {:4} \"{}\" = {} bytes \"{}\"{}{}{}{}{}\n", i, printable(leaf.suffix(i)),
          leaf.value(i).size(), printable(leaf.value(i)),
          (flags & kLargeValue) != 0 ? " large" : "", (flags & kGhost) != 0 ? " ghost" : "",
          (flags & kCreated) != 0 ? " created" : "", (flags & kDeleted) != 0 ? " deleted" : "",
          (flags & kShadowed) != 0 ? " shadowed" : "");
    }
    return text;
  }
  const InnerView inner(node.page(), node.page_size());
  text += fmt::format("       child {:#x}\n", inner.swip_at(0));
  for (SlotIndex i = 0; i < inner.count(); ++i) {
    text += fmt::format("  {:4} \"{}\" child {:#x}\n", i, printable(inner.suffix(i)),
                        inner.swip_at(i + 1));
  }
  return text;
}

}  // namespace palimpsest::btree
