// Fuzz target: a valid node page with some bytes changed.
//
// Uniformly random images rarely pass the first checks. Here the input first builds a node, then
// changes bytes of its headers, slots or heap, and may have the derived fields (heads, hints, sum
// of lengths) corrected again, as an attacker would; the rest of the input decides the changes that
// follow if the page is accepted.
#include <cstring>
#include <string>

#include "btree/node/inner_node.h"
#include "btree/node/leaf_node.h"
#include "btree/node/node_edit.h"
#include "tests/fuzz/fuzz_page.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/node_exercise.h"

namespace palimpsest::btree::fuzz {
namespace {

std::string make_suffix(Choices& choices) {
  const std::uint32_t kind = choices.byte();
  std::string key(kind % 8 == 0 ? choices.below(300) : kind % 8, static_cast<char>(choices.byte()));
  for (std::size_t i = key.size() - std::min<std::size_t>(key.size(), 2); i < key.size(); ++i) {
    key[i] = static_cast<char>(choices.byte());
  }
  return key;
}

void build(std::byte* page, std::uint32_t page_size, Choices& choices) {
  const std::uint32_t shape = choices.byte();
  const std::string prefix(std::size_t{shape % 4} * 5, 'p');
  const std::string lower = shape % 8 < 2 ? "" : prefix + "\1";
  const std::string high = prefix + "\xff\xff";
  const auto upper = shape % 16 < 4 ? std::nullopt : std::optional<ByteView>(high);
  LeafNode leaf(page, page_size);
  InnerNode inner(page, page_size);
  const bool is_leaf = (shape & 32) == 0;
  if (is_leaf) {
    leaf.init(PageId{3}, TreeId{4}, lower, upper);
  } else {
    inner.init(PageId{3}, TreeId{4}, 1, lower, upper, 50);
  }
  for (std::uint32_t left = 1 + choices.below(60); left > 0; --left) {
    const std::string key = prefix + make_suffix(choices);
    if (key.empty() || !leaf.covers(key) || key == lower) {
      continue;
    }
    if (is_leaf && !leaf.find(key).found) {
      const std::string value(choices.below(120), 'v');
      static_cast<void>(leaf.insert(leaf.find(key).slot, key, value));
    } else if (!is_leaf && !inner.find(key).found) {
      static_cast<void>(inner.insert(inner.find(key).slot, key, left));
    }
  }
}

void damage(std::byte* page, std::uint32_t page_size, Choices& choices) {
  const std::uint32_t slots = 1 + choices.below(400);
  for (std::uint32_t left = choices.byte() % 8; left > 0; --left) {
    const std::uint32_t at = choices.byte() % 4 == 0   ? choices.below(page_size)
                             : choices.byte() % 2 == 0 ? 40 + choices.below(kSlotsOffset - 40)
                                                       : kSlotsOffset + choices.below(slots);
    page[at] ^= std::byte{choices.byte()};
  }
}

/// Makes heads, hints and the sum of lengths agree with the present slots.
template <class Slot>
void repair(std::byte* page, std::uint32_t page_size) {
  const NodeEditor<Slot> editor(page, page_size);
  NodeHeader& h = editor.header();
  if (kSlotsOffset + h.count * sizeof(Slot) > page_size) {
    return;
  }
  h.heap_used = 0;
  editor.ghost_count() = 0;
  for (SlotIndex i = 0; i < h.count; ++i) {
    Slot slot = editor.slot(i);
    h.heap_used += record_bytes(slot);
    if (is_ghost(slot)) {
      ++editor.ghost_count();
    }
    if (slot.offset + std::uint32_t{slot.key_len} <= page_size) {
      slot.head = head_after(as_view(page + slot.offset, slot.key_len),
                             std::min(h.head_skip, slot.key_len));
      editor.set_slot(i, slot);
    }
  }
  editor.refresh_hints();
}

}  // namespace
}  // namespace palimpsest::btree::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace palimpsest::btree;
  using namespace palimpsest::btree::fuzz;
  constexpr std::uint32_t kPageSize = 4096;
  const FuzzPage page(kPageSize);
  Choices choices({data, size});
  build(page.data(), kPageSize, choices);
  damage(page.data(), kPageSize, choices);
  if (choices.byte() % 4 != 0) {
    if (NodeView(page.data(), kPageSize).is_leaf()) {
      repair<LeafSlot>(page.data(), kPageSize);
    } else {
      repair<InnerSlot>(page.data(), kPageSize);
    }
  }
  exercise_node(page.data(), kPageSize, choices);
  return 0;
}
