#include "tests/fuzz/node_exercise.h"

#include <fmt/core.h>

#include <cstdlib>
#include <string>

#include "btree/node/inner_node.h"
#include "btree/node/leaf_node.h"
#include "btree/node/node_print.h"
#include "btree/node/node_split.h"
#include "btree/node/node_validate.h"
#include "tests/fuzz/fuzz_page.h"

namespace palimpsest::btree::fuzz {
namespace {

constexpr int kChangesMax = 24;

void require(bool holds, const char* what, const NodeView& node) {
  if (!holds) {
    fmt::print(stderr, "{}\n{}", what, print_node(node.bytes()));
    std::abort();
  }
}

void require_valid(const NodeView& node, const char* after) {
  if (const auto fault = validate_node(node.bytes())) {
    fmt::print(stderr, "{}: {}\n{}", after, *fault, print_node(node.bytes()));
    std::abort();
  }
}

void read_leaf(const LeafView& leaf) {
  KeyBuffer key;
  for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
    leaf.copy_key(slot, key);
    const SearchResult place = leaf.find(key.view());
    require(place.found && place.slot == slot, "a record is not found at its place", leaf);
    require(leaf.covers(key.view()), "a key is outside the fences", leaf);
    require(key.size() + leaf.value(slot).size() <= record_bytes_max(leaf.page_size()),
            "a record is over the limit", leaf);
  }
}

void read_inner(const InnerView& node) {
  KeyBuffer key;
  for (SlotIndex slot = 0; slot < node.count(); ++slot) {
    node.copy_separator(slot, key);
    require(node.route(key.view()) == slot + 1 && node.route_before(key.view()) == slot,
            "a separator does not lead to its child", node);
  }
}

/// A key within the fences and the limits: a fence or a present key with bytes changed or added.
std::string make_key(const NodeView& node, ByteView present, Choices& choices) {
  std::string key(choices.byte() % 2 == 0 ? present : node.lower_fence());
  for (int edits = choices.byte() % 4; edits > 0; --edits) {
    const auto byte = static_cast<char>(choices.byte());
    if (key.empty() || choices.byte() % 2 == 0) {
      key.append(1 + choices.below(3) * choices.below(200), byte);
    } else {
      key[choices.below(static_cast<std::uint32_t>(key.size()))] = byte;
    }
  }
  key.resize(std::min<std::size_t>(key.size(), key_bytes_max(node.page_size())));
  return key;
}

std::string make_value(const NodeView& node, std::size_t key_len, Choices& choices) {
  const auto limit = static_cast<std::uint32_t>(record_bytes_max(node.page_size()) - key_len);
  return std::string(
      choices.byte() % 4 == 0 ? limit - choices.below(4) : std::min(choices.below(300), limit),
      'v');
}

void check_halves(const NodeView& left, const NodeView& right) {
  require_valid(left, "left half of a split");
  require_valid(right, "right half of a split");
  require(left.upper_fence() == right.lower_fence(), "halves of a split meet", left);
}

void insert_into_leaf(LeafNode leaf, Choices& choices) {
  KeyBuffer present;
  leaf.copy_key(choices.below(leaf.count()), present);
  const std::string key = make_key(leaf, present.view(), choices);
  const SearchResult place = leaf.find(key);
  if (key.empty() || !leaf.covers(key) || place.found) {
    return;
  }
  const std::string value = make_value(leaf, key.size(), choices);
  if (leaf.insert(place.slot, key, value)) {
    require(leaf.find(key).found, "an inserted record is not found", leaf);
    return;
  }
  const FuzzPage other(leaf.page_size());
  const LeafNode right(other.data(), leaf.page_size());
  SplitPlan plan;
  plan_split(leaf, place.slot, key, value.size(), plan);
  split_into(leaf, right, PageId{9}, plan);
  check_halves(leaf, right);
  LeafNode target = plan.new_goes_left ? leaf : right;
  require(target.insert(target.find(key).slot, key, value), "no room after a split", target);
  check_halves(leaf, right);
}

void split_and_merge_leaf(LeafNode leaf) {
  if (leaf.count() < 2) {
    return;
  }
  const FuzzPage other(leaf.page_size());
  const LeafNode right(other.data(), leaf.page_size());
  SplitPlan plan;
  plan_split(leaf, plan);
  split_into(leaf, right, PageId{9}, plan);
  check_halves(leaf, right);
  require(can_merge(leaf, right), "what was split can be merged", leaf);
  merge_into_left(leaf, right);
}

void change_leaf(LeafNode leaf, Choices& choices) {
  const SlotIndex slot = choices.below(leaf.count());
  switch (choices.byte() % 6) {
    case 0: insert_into_leaf(leaf, choices); break;
    case 1: leaf.compact(); break;
    case 2: split_and_merge_leaf(leaf); break;
    case 3:
      if (leaf.count() > 0) {
        leaf.remove(slot);
      }
      break;
    case 4:
      if (leaf.count() > 0) {
        KeyBuffer key;
        leaf.copy_key(slot, key);
        const std::string value = make_value(leaf, key.size(), choices);
        const bool fits = leaf.can_replace(slot, value.size());
        require(leaf.replace_value(slot, value) == fits, "replacing does as announced", leaf);
        require(!fits || leaf.value(slot) == value, "a replaced value is there", leaf);
      }
      break;
    default:
      if (leaf.count() > 0) {
        leaf.set_flags(slot, choices.byte() & (kLargeValue | kGhost));
        for (std::byte& byte : leaf.value_bytes(slot)) {
          byte = std::byte{choices.byte()};
        }
      }
  }
}

void insert_into_inner(InnerNode node, Choices& choices) {
  KeyBuffer present;
  node.copy_child_lower(choices.below(node.child_count()), present);
  const std::string key = make_key(node, present.view(), choices);
  const SearchResult place = node.find(key);
  if (!node.covers(key) || key == node.lower_fence() || place.found) {
    return;
  }
  if (node.insert(place.slot, key, 1234)) {
    require(node.swip_at(node.route(key)) == 1234, "an inserted child is not found", node);
    return;
  }
  const FuzzPage other(node.page_size());
  const InnerNode right(other.data(), node.page_size());
  SplitPlan plan;
  plan_split(node, place.slot, key, plan);
  split_into(node, right, PageId{9}, plan);
  check_halves(node, right);
  InnerNode target = plan.new_goes_left ? node : right;
  require(target.insert(target.find(key).slot, key, 1234), "no room after a split", target);
  check_halves(node, right);
  if (can_merge(node, right)) {
    merge_into_left(node, right);
  }
}

void change_inner(InnerNode node, Choices& choices) {
  switch (choices.byte() % 4) {
    case 0: insert_into_inner(node, choices); break;
    case 1: node.compact(); break;
    case 2: node.set_swip(choices.below(node.child_count()), 99); break;
    default:
      if (node.count() > 0) {
        node.remove(choices.below(node.count()));
      }
  }
}

}  // namespace

void exercise_node(std::byte* page, std::uint32_t page_size, Choices& choices) {
  const NodeView node(page, page_size);
  // Audit and printing must handle any content.
  const bool accepted = !validate_node(node.bytes());
  if (!accepted) {
    if (choices.byte() % 64 == 0) {
      static_cast<void>(print_node(node.bytes()));
    }
    return;
  }
  for (int i = 0; i < kChangesMax && !choices.exhausted(); ++i) {
    if (node.is_leaf()) {
      read_leaf({page, page_size});
      change_leaf({page, page_size}, choices);
    } else {
      read_inner({page, page_size});
      change_inner({page, page_size}, choices);
    }
    require_valid(node, "after a change");
  }
}

}  // namespace palimpsest::btree::fuzz
