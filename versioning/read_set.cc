#include "versioning/read_set.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace palimpsest::versioning {
namespace {

/// Memory for so many keys of a tree stays with the slot.
constexpr std::size_t kKeysKept = 4096;
/// And for so many ranges, and trees.
constexpr std::size_t kRangesKept = 64;
constexpr std::size_t kTreesKept = 32;

std::uint64_t hash_of(ByteView key) noexcept {
  return std::hash<ByteView>{}(key);
}

/// The least key above this one.
void assign_above(std::string& into, ByteView key) {
  into.assign(key);
  into.push_back('\0');
}

bool is_above(const std::optional<std::string>& upper, ByteView key) noexcept {
  return !upper || key < *upper;
}

}  // namespace

void ReadSet::begin() noexcept {
  if (trees_.size() > kTreesKept) {
    trees_.clear();
  }
  for (Tree& tree : trees_) {
    if (tree.keys.capacity() > kKeysKept || tree.ranges.capacity() > kRangesKept) {
      tree = {};
    }
    tree.whole = false;
    tree.keys.clear();
    tree.ranges.clear();
    tree.apart.clear();
  }
  used_ = 0;
  last_ = 0;
}

ReadSet::Tree& ReadSet::tree_of(TreeId id) {
  if (last_ < used_ && trees_[last_].id == id) [[likely]] {
    return trees_[last_];
  }
  const auto end = trees_.begin() + static_cast<std::ptrdiff_t>(used_);
  const auto found =
      std::find_if(trees_.begin(), end, [&](const Tree& tree) { return tree.id == id; });
  last_ = static_cast<std::size_t>(found - trees_.begin());
  if (found == end) {
    if (used_ == trees_.size()) {
      trees_.emplace_back();
    }
    trees_[used_].id = id;
    ++used_;
  }
  return trees_[last_];
}

void ReadSet::take_whole(Tree& tree) noexcept {
  tree.whole = true;
  tree.keys.clear();
  tree.ranges.clear();
}

void ReadSet::add_key(TreeId tree, ByteView key) {
  Tree& of = tree_of(tree);
  if (of.whole) {
    return;
  }
  if (of.keys.size() == kKeysMax) [[unlikely]] {
    take_whole(of);
    return;
  }
  of.keys.push_back(hash_of(key));
}

ReadSet::RangeId ReadSet::add_range(TreeId tree, ByteView lower, std::optional<ByteView> upper) {
  Tree& of = tree_of(tree);
  if (!of.whole && of.ranges.size() == kRangesMax) [[unlikely]] {
    take_whole(of);
  }
  const RangeId id{static_cast<std::uint32_t>(last_), static_cast<std::uint32_t>(of.ranges.size())};
  if (!of.whole) {
    of.ranges.push_back({std::string(lower), std::nullopt});
    of.ranges.back().upper = upper;
  }
  return id;
}

ReadSet::Range* ReadSet::range_of(RangeId id) noexcept {
  Tree& of = trees_[id.tree];
  return of.whole ? nullptr : &of.ranges[id.range];
}

void ReadSet::extend_to(RangeId id, ByteView key) {
  Range* const range = range_of(id);
  if (range == nullptr) {
    return;
  }
  if (key < range->lower) {
    range->lower.assign(key);
  }
  if (!is_above(range->upper, key)) {
    assign_above(*range->upper, key);
  }
}

void ReadSet::extend_down_to(RangeId id, ByteView lower) {
  Range* const range = range_of(id);
  if (range != nullptr && lower < range->lower) {
    range->lower.assign(lower);
  }
}

void ReadSet::extend_up_to(RangeId id, std::optional<ByteView> upper) {
  Range* const range = range_of(id);
  if (range != nullptr && range->upper && (!upper || *range->upper < *upper)) {
    range->upper = upper;
  }
}

void ReadSet::set_apart(Tree& tree) {
  std::vector<Range> all = tree.ranges;
  std::ranges::sort(all, {}, &Range::lower);
  tree.apart.clear();
  for (Range& range : all) {
    Range* const last = tree.apart.empty() ? nullptr : &tree.apart.back();
    if (last == nullptr || (last->upper && *last->upper < range.lower)) {
      tree.apart.push_back(std::move(range));
    } else if (last->upper && (!range.upper || *last->upper < *range.upper)) {
      last->upper = std::move(range.upper);
    }
  }
}

void ReadSet::seal() {
  for (std::size_t number = 0; number < used_; ++number) {
    Tree& tree = trees_[number];
    std::ranges::sort(tree.keys);
    set_apart(tree);
  }
}

bool ReadSet::covers(TreeId tree, ByteView key) const noexcept {
  const auto end = trees_.begin() + static_cast<std::ptrdiff_t>(used_);
  const auto of =
      std::find_if(trees_.begin(), end, [&](const Tree& one) { return one.id == tree; });
  if (of == end) {
    return false;
  }
  if (of->whole || std::ranges::binary_search(of->keys, hash_of(key))) {
    return true;
  }
  const auto above = std::ranges::upper_bound(of->apart, key, {}, &Range::lower);
  return above != of->apart.begin() && is_above(std::prev(above)->upper, key);
}

}  // namespace palimpsest::versioning
