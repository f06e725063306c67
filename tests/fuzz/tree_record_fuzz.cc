// Fuzz target: any bytes as a log record of a tree, applied to any page that validation accepts.
//
// Input: the first byte chooses. Even: 2 bytes length, the payload, the page image, truncated or
// padded with zeros, and made a page of the record, as an attacker would. Odd: builds a node and a
// record that applies to it, some bytes of which are then changed, since uniformly random payloads
// rarely pass the first checks.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "btree/log/tree_record.h"
#include "btree/log/tree_record_encode.h"
#include "btree/log/tree_record_print.h"
#include "btree/log/tree_redo.h"
#include "btree/log/tree_undo.h"
#include "btree/node/node_split.h"
#include "btree/node/node_validate.h"
#include "tests/fuzz/fuzz_page.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/node_exercise.h"
#include "wal/transaction_record.h"

namespace palimpsest::btree::fuzz {
namespace {

constexpr std::uint32_t kPageSize = 4096;
constexpr TreeId kTree{4};
constexpr PageId kAbove{1};
constexpr PageId kLeft{2};
constexpr PageId kRight{3};

using Payload = std::vector<std::byte>;

void require(bool holds, const char* what, const Payload& payload, const NodeView& node) {
  if (!holds) {
    fmt::print(stderr, "{}\n{}\n{}", what, print_tree_record(payload, kPageSize),
               validate_node(node.bytes()).value_or("valid"));
    std::abort();
  }
}

struct Record {
  std::string value;
  std::uint16_t flags;

  friend bool operator==(const Record&, const Record&) = default;
};

std::map<std::string, Record> content_of(const LeafView& leaf) {
  std::map<std::string, Record> content;
  for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
    KeyBuffer key;
    leaf.copy_key(slot, key);
    content.emplace(key.view(), Record{std::string(leaf.value(slot)), leaf.flags(slot)});
  }
  return content;
}

/// Applies the record to the image, which is validated unless the record formats the page. Returns
/// whether it was applied.
bool apply(const Payload& payload, PageId page, MutableBytes image) {
  const NodeView node(image.data(), kPageSize);
  const std::vector<std::byte> before(image.begin(), image.end());
  const bool announced = redo_fault(payload, page, image).has_value();
  try {
    redo(payload, page, image, Gsn{5});
    require(!announced, "a fault was announced", payload, node);
  } catch (const Error& error) {
    require(announced && error.code() == ErrorCode::corruption, "no fault was announced", payload,
            node);
    require(std::ranges::equal(before, image), "a page was changed and refused", payload, node);
    return false;
  }
  return true;
}

/// Applies the undo of a record that was just applied: restores the content before it.
void undo(const Payload& payload, const TreeRecord& record, MutableBytes image,
          const std::map<std::string, Record>& before) {
  const LeafView leaf(image.data(), kPageSize);
  const SlotIndex slot = leaf.find(record.key).slot;
  Payload inverse(inverse_bytes(record, record.page, slot));
  require(inverse.size() <= payload.size() + wal::kCompensationGrowthMax,
          "a compensation is hardly longer", payload, leaf);
  write_inverse(record, record.page, slot, inverse);
  require(!validate_tree_record(inverse, kPageSize), "a compensation is a record", inverse, leaf);
  require(apply(inverse, record.page, image), "a compensation is applied", inverse, leaf);
  require(!validate_node(image), "a node is valid after undo", inverse, leaf);
  require(content_of(leaf) == before, "undo gives the content before", inverse, leaf);
}

/// Applies a record to one of its pages, whose image is given, and undoes it if possible.
void exercise(const Payload& payload, PageId page, PageEffect effect, MutableBytes image) {
  TreeRecord record;
  const bool parsed = !parse_tree_record(payload, kPageSize, record);
  const LeafView leaf(image.data(), kPageSize);
  if (!parsed || (effect == PageEffect::change && validate_node(image))) {
    return;
  }
  const auto before = record.is_undoable() ? content_of(leaf) : std::map<std::string, Record>();
  if (!apply(payload, page, image) || !is_redone(effect)) {
    return;
  }
  require(!validate_node(image), "a node is valid after redo", payload, leaf);
  if (record.is_undoable()) {
    undo(payload, record, image, before);
  }
}

void judge(const Payload& payload) {
  TreeRecord record;
  const bool parsed = !parse_tree_record(payload, kPageSize, record);
  const bool valid = !validate_tree_record(payload, kPageSize);
  if (valid && !parsed) {
    std::abort();
  }
  static_cast<void>(print_tree_record(payload, kPageSize));
  if (parsed) {
    visit_extents(record, kPageSize, [](const LargeValueDescriptor&, ExtentEffect) {});
  }
}

/// Makes the page one of the record's pages.
void rename(std::byte* image, PageId page, TreeId tree) {
  std::memcpy(image + offsetof(buffer::PageHeader, page_id), &page, sizeof page);
  std::memcpy(image + offsetof(buffer::PageHeader, tree_id), &tree, sizeof tree);
}

void any_bytes(std::span<const std::uint8_t> input) {
  Choices choices(input.first(std::min<std::size_t>(input.size(), 2)));
  const std::size_t wanted = choices.below(0x10000);
  const auto rest = std::as_bytes(input.subspan(std::min<std::size_t>(input.size(), 2)));
  const auto split = std::min(wanted, rest.size());
  const Payload payload(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(split));
  const auto bytes = rest.subspan(split);
  judge(payload);
  TreeRecord record;
  if (parse_tree_record(payload, kPageSize, record)) {
    return;
  }
  visit_pages(record, [&](PageId page, PageEffect effect) {
    const FuzzPage image(kPageSize);
    std::memset(image.data(), 0, kPageSize);
    std::memcpy(image.data(), bytes.data(), std::min<std::size_t>(bytes.size(), kPageSize));
    rename(image.data(), page, record.tree);
    exercise(payload, page, effect, {image.data(), kPageSize});
  });
}

std::string make_key(Choices& choices) {
  std::string key(1 + choices.byte() % 3, static_cast<char>('a' + choices.byte() % 4));
  key.back() = static_cast<char>(choices.byte());
  return key;
}

void fill_leaf(LeafNode leaf, Choices& choices) {
  leaf.init(kLeft, kTree, {}, std::nullopt);
  leaf.set_bulk_epoch(BulkEpoch{choices.byte() % 2U});
  for (std::uint32_t left = 1 + choices.byte() % 40; left > 0; --left) {
    const std::string key = make_key(choices);
    const std::string value(choices.below(160), static_cast<char>(choices.byte()));
    const auto flags = static_cast<std::uint16_t>(choices.byte() % 3 == 0 ? kGhost : kPlainRecord);
    if (!leaf.find(key).found) {
      static_cast<void>(leaf.insert(leaf.find(key).slot, key, value, flags));
    }
  }
}

void fill_inner(InnerNode inner, Choices& choices) {
  inner.init(kLeft, kTree, 1, {}, std::nullopt, 50);
  for (std::uint32_t left = 3 + choices.byte() % 40; left > 0; --left) {
    const std::string key = make_key(choices);
    if (!inner.find(key).found) {
      static_cast<void>(inner.insert(inner.find(key).slot, key, 60 + left));
    }
  }
}

template <class Change>
Payload encoded(const Change& change) {
  Payload payload(change.encoded_bytes());
  change.encode(payload);
  return payload;
}

/// A record that changes one record of the leaf, or purges it.
Payload leaf_change(const LeafView& leaf, Choices& choices) {
  const SlotIndex slot = choices.below(leaf.count());
  KeyBuffer key;
  leaf.copy_key(slot, key);
  const RecordPlace at{kTree, kLeft, slot, key.view()};
  const RecordState before{leaf.value(slot), leaf.flags(slot)};
  switch (choices.byte() % 5) {
    case 0: {
      const std::string fresh = make_key(choices);
      const std::string value(choices.below(300), 'v');
      return encoded(LoggedInsert{{kTree, kLeft, leaf.find(fresh).slot, fresh}, {value}});
    }
    case 1: {
      std::string value(before.value);
      value.resize(choices.byte() % 2 == 0 ? value.size() : choices.below(900), 'x');
      for (int edits = choices.byte() % 4; edits > 0 && !value.empty(); --edits) {
        value[choices.below(static_cast<std::uint32_t>(value.size()))] ^= 1;
      }
      return encoded(LoggedUpdate{at, before, {value, kPlainRecord}});
    }
    case 2: return encoded(LoggedMark{at, before.flags});
    case 3: {
      const std::array runs{SlotRun{.first = static_cast<std::uint16_t>(slot), .count = 1}};
      return encoded(LoggedBulkErase{leaf, runs});
    }
    default: break;
  }
  std::vector<SlotIndex> ghosts;
  for (SlotIndex i = 0; i < leaf.count(); ++i) {
    if (leaf.is_ghost(i)) {
      ghosts.push_back(i);
    }
  }
  return ghosts.empty() ? encoded(LoggedMark{at, before.flags})
                        : encoded(LoggedPurge{leaf, ghosts});
}

void damage(Payload& payload, Choices& choices) {
  const auto size = static_cast<std::uint32_t>(payload.size());
  for (int left = choices.byte() % 4; left > 0 && size > 0; --left) {
    const std::uint32_t at =
        choices.byte() % 2 == 0 ? choices.below(std::min(size, 60U)) : choices.below(size);
    payload[at] ^= std::byte{choices.byte()};
  }
  if (choices.byte() % 16 == 1) {
    payload.resize(choices.below(size + 1));
  }
}

void exercise_damaged(Payload payload, const std::map<PageId, const std::byte*>& images,
                      Choices& choices) {
  damage(payload, choices);
  judge(payload);
  TreeRecord record;
  if (parse_tree_record(payload, kPageSize, record)) {
    return;
  }
  visit_pages(record, [&](PageId page, PageEffect effect) {
    const auto found = images.find(page);
    if (found == images.end()) {
      return;
    }
    const FuzzPage image(kPageSize);
    std::memcpy(image.data(), found->second, kPageSize);
    exercise(payload, page, effect, {image.data(), kPageSize});
  });
}

/// Splits a node and, perhaps, merges the halves again.
void structure_change(std::byte* whole, Choices& choices) {
  const FuzzPage left(kPageSize);
  const FuzzPage right(kPageSize);
  const FuzzPage above(kPageSize);
  const FuzzPage divided(kPageSize);
  std::memcpy(left.data(), whole, kPageSize);
  const LeafNode leaf(left.data(), kPageSize);
  const InnerNode inner(left.data(), kPageSize);
  InnerNode parent(above.data(), kPageSize);
  parent.init(kAbove, kTree, leaf.level() + 1, {}, std::nullopt, raw(kLeft));
  SplitPlan plan;
  plan.new_goes_left = choices.byte() % 2 == 0;
  if (leaf.is_leaf()) {
    if (leaf.count() < 2) {
      return;
    }
    plan_split(leaf, plan);
    split_into(leaf, LeafNode(right.data(), kPageSize), kRight, plan);
  } else {
    if (inner.count() < 3) {
      return;
    }
    plan.cut = 1 + choices.below(inner.count() - 2);
    inner.copy_separator(plan.cut, plan.separator);
    split_into(inner, InnerNode(right.data(), kPageSize), kRight, plan);
  }
  std::memcpy(divided.data(), above.data(), kPageSize);
  const bool fits =
      InnerNode(divided.data(), kPageSize).insert(0, plan.separator.view(), raw(kRight));
  const NodeView right_node(right.data(), kPageSize);
  if (!fits) {
    std::abort();
  }
  switch (choices.byte() % 3) {
    case 0:
      exercise_damaged(encoded(LoggedSplit{plan, kLeft, right_node, kAbove, 0}),
                       {{kLeft, whole}, {kRight, whole}, {kAbove, above.data()}}, choices);
      break;
    case 1:
      exercise_damaged(encoded(LoggedMerge{kLeft, right_node, kAbove, 0}),
                       {{kLeft, left.data()}, {kRight, whole}, {kAbove, divided.data()}}, choices);
      break;
    default:
      exercise_damaged(encoded(LoggedRootSplit{plan, leaf, right_node, kAbove}),
                       {{kLeft, whole}, {kRight, whole}, {kAbove, whole}}, choices);
  }
}

/// Attaches leaves before the last child of an inner node.
void graft(InnerNode parent, Choices& choices) {
  fill_inner(parent, choices);
  parent.set_swip(parent.count(), raw(kRight));
  std::set<std::string> separators;
  for (std::uint32_t left = 1 + choices.byte() % 20; left > 0; --left) {
    separators.insert(std::string(choices.byte() % 4, '\xff') + make_key(choices));
  }
  std::vector<FreshLeaf> leaves;
  for (const std::string& separator : separators) {
    leaves.push_back({.page = PageId{200 + leaves.size()}, .lower = {}, .upper = separator});
  }
  exercise_damaged(encoded(LoggedGraft{kTree, kRight, kLeft, parent.count(), leaves}),
                   {{kLeft, parent.page()}, {kRight, parent.page()}}, choices);
}

void built_record(Choices& choices) {
  const FuzzPage page(kPageSize);
  const LeafNode leaf(page.data(), kPageSize);
  switch (choices.byte() % 5) {
    case 4: graft({page.data(), kPageSize}, choices); break;
    case 0:
      fill_leaf(leaf, choices);
      structure_change(page.data(), choices);
      break;
    case 1:
      fill_inner({page.data(), kPageSize}, choices);
      structure_change(page.data(), choices);
      break;
    default:
      fill_leaf(leaf, choices);
      exercise_damaged(leaf_change(leaf, choices), {{kLeft, page.data()}}, choices);
  }
}

}  // namespace
}  // namespace palimpsest::btree::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace palimpsest::btree::fuzz;
  if (size == 0) {
    return 0;
  }
  if (data[0] % 2 == 0) {
    any_bytes({data + 1, size - 1});
  } else {
    Choices choices({data + 1, size - 1});
    built_record(choices);
  }
  return 0;
}
