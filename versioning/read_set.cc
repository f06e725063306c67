#include "versioning/read_set.h"

#include <algorithm>
#include <functional>
#include <new>
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
  everything_ = false;
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

template <class Add>
void ReadSet::with_memory(const Add& add) noexcept {
  try {
    add();
  } catch (const std::bad_alloc&) {
    everything_ = true;
  }
}

template <class Add>
void ReadSet::extend(RangeId id, const Add& add) noexcept {
  if (!everything_ && !trees_[id.tree].whole) {
    with_memory([&] { add(trees_[id.tree].ranges[id.range]); });
  }
}

void ReadSet::add_key(TreeId tree, ByteView key) noexcept {
  with_memory([&] {
    Tree& of = tree_of(tree);
    if (of.keys.size() == kKeysMax) [[unlikely]] {
      take_whole(of);
    }
    if (!of.whole) [[likely]] {
      of.keys.push_back(hash_of(key));
    }
  });
}

ReadSet::RangeId ReadSet::add_range(TreeId tree, ByteView lower,
                                    std::optional<ByteView> upper) noexcept {
  RangeId id;
  with_memory([&] {
    Tree& of = tree_of(tree);
    if (of.ranges.size() == kRangesMax) [[unlikely]] {
      take_whole(of);
    }
    id = {static_cast<std::uint32_t>(last_), static_cast<std::uint32_t>(of.ranges.size())};
    if (!of.whole) {
      of.ranges.push_back({std::string(lower), std::nullopt});
      of.ranges.back().upper = upper;
    }
  });
  return id;
}

void ReadSet::extend_to(RangeId id, ByteView key) noexcept {
  extend(id, [&](Range& range) {
    if (key < range.lower) {
      range.lower.assign(key);
    }
    if (!is_above(range.upper, key)) {
      assign_above(*range.upper, key);
    }
  });
}

void ReadSet::extend_down_to(RangeId id, ByteView lower) noexcept {
  extend(id, [&](Range& range) {
    if (lower < range.lower) {
      range.lower.assign(lower);
    }
  });
}

void ReadSet::extend_up_to(RangeId id, std::optional<ByteView> upper) noexcept {
  extend(id, [&](Range& range) {
    if (range.upper && (!upper || *range.upper < *upper)) {
      range.upper = upper;
    }
  });
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

void ReadSet::seal() noexcept {
  with_memory([&] {
    for (std::size_t number = 0; number < used_; ++number) {
      Tree& tree = trees_[number];
      std::ranges::sort(tree.keys);
      set_apart(tree);
    }
  });
}

bool ReadSet::covers(TreeId tree, ByteView key) const noexcept {
  if (everything_) [[unlikely]] {
    return true;
  }
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
