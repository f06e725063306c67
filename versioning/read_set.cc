#include "versioning/read_set.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <new>
#include <utility>

#include "base/check.h"

namespace palimpsest::versioning {
namespace {

/// The most memory that a slot keeps for its next transaction.
constexpr std::size_t kKeptBytes = 4096;
/// About the size of a vector's first allocation.
constexpr std::size_t kFirstBytes = 256;
constexpr ByteView kAbove("\0", 1);  ///< appended to a key: the least key above it

std::uint64_t hash_of(ByteView key) noexcept {
  return std::hash<ByteView>{}(key);
}

bool is_above(const std::optional<std::string>& upper, ByteView key) noexcept {
  return !upper || key < *upper;
}

/// Memory beyond the string itself.
std::size_t heap_bytes(const std::string& text) noexcept {
  static const std::size_t kInside = std::string().capacity();
  return text.capacity() > kInside ? text.capacity() + 1 : 0;
}

template <class Item>
std::size_t heap_bytes(const std::vector<Item>& items) noexcept {
  return items.capacity() * sizeof(Item);
}

/// How far apart two keys are: those with more bytes in common are nearer.
struct Gap {
  std::size_t common = 0;
  std::uint64_t difference = 0;

  [[nodiscard]] bool operator<(const Gap& other) const noexcept {
    return common != other.common ? common > other.common : difference < other.difference;
  }
  /// Larger by a factor of about 64 at least.
  [[nodiscard]] bool is_far_beyond(const Gap& other) const noexcept {
    if (common == other.common) {
      return difference / 64 > other.difference;
    }
    // The difference begins a byte or more further in front.
    return common < other.common &&
           (common + 1 < other.common || difference > other.difference / 4);
  }
};

Gap gap_between(ByteView low, ByteView high) noexcept {
  constexpr std::size_t kWord = 8;
  const auto mismatch = std::ranges::mismatch(low, high);
  const auto common = static_cast<std::size_t>(mismatch.in1 - low.begin());
  const auto word = [common](ByteView key) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < kWord; ++i) {
      const std::size_t at = common + i;
      value = value << 8U | (at < key.size() ? static_cast<unsigned char>(key[at]) : 0U);
    }
    return value;
  };
  return {common, word(high) - word(low)};
}

}  // namespace

ReadSet::~ReadSet() {
  memory_.give(bytes_);
}

void ReadSet::end() noexcept {
  if (bytes_ > kKeptBytes || memory_.is_tight() || everything_) {
    std::vector<Tree>().swap(trees_);
    memory_.give(std::exchange(bytes_, 0));
  }
  for (Tree& tree : trees_) {
    std::ranges::for_each(tree.stretches, [&](Range& range) { free_text(range); });
    std::ranges::for_each(tree.ranges, [&](Range& range) { free_text(range); });
    tree.whole = false;
    tree.stretch_keys = 0;
    tree.keys.clear();
    tree.stretches.clear();
    tree.ranges.clear();
  }
  used_ = 0;
  last_ = 0;
  everything_ = false;
}

/// Null if there is no memory for one more tree: then everything counts as read.
ReadSet::Tree* ReadSet::tree_of(TreeId id) {
  if (last_ < used_ && trees_[last_].id == id) [[likely]] {
    return &trees_[last_];
  }
  const auto end = trees_.begin() + static_cast<std::ptrdiff_t>(used_);
  const auto found =
      std::find_if(trees_.begin(), end, [&](const Tree& tree) { return tree.id == id; });
  last_ = static_cast<std::size_t>(found - trees_.begin());
  if (found == end) {
    if (used_ == trees_.size()) {
      while (!has_room(trees_)) {
        if (bytes_ == heap_bytes(trees_)) {  // no tree has memory to give
          everything_ = true;
          return nullptr;
        }
        coarsen(trees_.front());
      }
      trees_.emplace_back();
    }
    trees_[used_].id = id;
    ++used_;
  }
  return &trees_[last_];
}

/// Calls add(); without memory everything counts as read.
template <class Add>
void ReadSet::with_memory(const Add& add) noexcept {
  if (everything_) [[unlikely]] {
    return;
  }
  try {
    add();
  } catch (const std::bad_alloc&) {
    everything_ = true;
  }
}

// Keys

void ReadSet::add_key(TreeId tree, ByteView key) noexcept {
  with_memory([&] {
    Tree* const of = tree_of(tree);
    if (of == nullptr || of->whole) {
      return;
    }
    do {  // either may take the other's memory
      if (!require_room(*of, &Tree::keys) || !widen_stretch(*of, key)) {
        return;
      }
    } while (of->keys.size() == of->keys.capacity());
    of->keys.push_back(hash_of(key));
    ++of->stretch_keys;
  });
}

/// Whether the last stretch would have to become many times as wide to contain the key.
bool ReadSet::is_far_from_last(const Tree& tree, ByteView key) noexcept {
  if (tree.stretch_keys < 2) {
    return false;
  }
  const Range& last = tree.stretches.back();
  const bool is_below = key < last.lower;
  if (!is_below && key < *last.upper) {
    return false;
  }
  const Gap gap = is_below ? gap_between(key, last.lower) : gap_between(*last.upper, key);
  return gap.is_far_beyond(gap_between(last.lower, *last.upper));
}

/// Makes the last stretch, or a new one, contain the key. False: the whole tree counts as read.
bool ReadSet::widen_stretch(Tree& tree, ByteView key) {
  for (;;) {
    if (tree.stretches.empty() || tree.stretch_keys >= kStretchKeys ||
        is_far_from_last(tree, key)) {
      Range begun{.lower = {}, .upper = std::string()};
      if (!put(tree, begun.lower, key) || !put(tree, *begun.upper, key, kAbove) ||
          !require_room(tree, &Tree::stretches)) {
        free_text(begun);
        return false;
      }
      tree.stretches.push_back(std::move(begun));
      tree.stretch_keys = 0;
      return true;
    }
    Range& last = tree.stretches.back();
    const bool is_below = key < last.lower;
    if (!is_below && key < *last.upper) [[likely]] {
      return true;
    }
    std::string& bound = is_below ? last.lower : *last.upper;
    const ByteView behind = is_below ? ByteView() : kAbove;
    if (bound.capacity() >= key.size() + behind.size()) {
      bound.assign(key).append(behind);
      return true;
    }
    std::string fresh;
    if (!put(tree, fresh, key, behind)) {
      return false;
    }
    if (!tree.stretches.empty()) {
      replace(bound, std::move(fresh));
      return true;
    }
    give(heap_bytes(fresh));  // keys have become ranges meanwhile
  }
}

// Ranges

ReadSet::RangeId ReadSet::add_range(TreeId tree, ByteView lower,
                                    std::optional<ByteView> upper) noexcept {
  RangeId id;
  with_memory([&] {
    if (Tree* const of = tree_of(tree)) {
      id = add_to(*of, lower, upper);
    }
  });
  return id;
}

ReadSet::RangeId ReadSet::add_to(Tree& tree, ByteView lower, std::optional<ByteView> upper) {
  RangeId id{.tree = static_cast<std::uint32_t>(&tree - trees_.data()), .from = std::string(lower)};
  Range added;
  if (upper) {
    added.upper.emplace();
  }
  if (tree.whole || !put(tree, added.lower, lower) ||
      (upper && !put(tree, *added.upper, std::max(lower, *upper))) ||
      !require_room(tree, &Tree::ranges)) {
    free_text(added);
    return id;
  }
  id.range = static_cast<std::uint32_t>(tree.ranges.size());
  id.arrangement = tree.arrangement;
  tree.ranges.push_back(std::move(added));
  return id;
}

/// The range, or the one that is extended in its place. Null: the whole tree counts as read.
ReadSet::Range* ReadSet::current(RangeId& id) {
  if (everything_ || id.tree >= used_) {
    return nullptr;
  }
  Tree& of = trees_[id.tree];
  if (!of.whole && id.arrangement != of.arrangement) {
    id = add_to(of, id.from, id.from);
  }
  return of.whole ? nullptr : &of.ranges[id.range];
}

/// Sets the bound to `key` followed by `behind`.
void ReadSet::move_bound(RangeId& id, Bound which, ByteView key, ByteView behind) {
  std::string fresh;
  while (Range* const range = current(id)) {
    std::string& bound = which == Bound::lower ? range->lower : *range->upper;
    const std::size_t size = key.size() + behind.size();
    if (bound.capacity() >= size) {
      bound.assign(key).append(behind);
      break;
    }
    if (fresh.capacity() >= size) {
      replace(bound, std::exchange(fresh, {}));
      return;
    }
    if (!put(trees_[id.tree], fresh, key, behind)) {
      return;
    }
  }
  give(heap_bytes(fresh));
}

void ReadSet::extend_to(RangeId& id, ByteView key) noexcept {
  with_memory([&] {
    const Range* const range = current(id);
    if (range == nullptr) {
      return;
    }
    const bool is_below = key < range->lower;
    const bool is_beyond = !is_above(range->upper, key);
    if (is_below) {
      move_bound(id, Bound::lower, key);
    }
    if (is_beyond) {
      move_bound(id, Bound::upper, key, kAbove);
    }
  });
}

void ReadSet::extend_down_to(RangeId& id, ByteView lower) noexcept {
  with_memory([&] {
    const Range* const range = current(id);
    if (range != nullptr && lower < range->lower) {
      move_bound(id, Bound::lower, lower);
    }
  });
}

void ReadSet::extend_up_to(RangeId& id, std::optional<ByteView> upper) noexcept {
  with_memory([&] {
    Range* const range = current(id);
    if (range == nullptr || !range->upper || (upper && *upper <= *range->upper)) {
      return;
    }
    if (upper) {
      move_bound(id, Bound::upper, *upper);
    } else {
      give(heap_bytes(*range->upper));
      range->upper.reset();
    }
  });
}

// Memory

bool ReadSet::try_take(std::size_t bytes) noexcept {
  if (bytes_ + bytes <= kGrantedBytes) {
    memory_.take(bytes);
  } else if (bytes_ + bytes > memory_.bytes_max_of_one() || !memory_.try_take(bytes)) {
    return false;
  }
  bytes_ += bytes;
  return true;
}

void ReadSet::give(std::size_t bytes) noexcept {
  memory_.give(bytes);
  bytes_ -= bytes;
}

/// Makes room for one more item; both allocations count while both exist.
template <class Item>
bool ReadSet::has_room(std::vector<Item>& items) {
  if (items.size() < items.capacity()) [[likely]] {
    return true;
  }
  const std::size_t old = heap_bytes(items);
  const std::size_t count = std::max(kFirstBytes / sizeof(Item) + 1, 2 * items.capacity());
  if (!try_take(count * sizeof(Item))) {
    return false;
  }
  items.reserve(count);
  give(old);
  return true;
}

/// As has_room(), but coarsens the set until there is room. False: the whole tree counts as read.
template <class Item>
bool ReadSet::require_room(Tree& tree, std::vector<Item> Tree::* items) {
  while (!has_room(tree.*items)) {
    coarsen(tree);
    if (tree.whole) {
      return false;
    }
  }
  return true;
}

bool ReadSet::require(Tree& tree, std::size_t bytes) {
  while (!try_take(bytes)) {
    coarsen(tree);
    if (tree.whole) {
      return false;
    }
  }
  return true;
}

/// Sets `into`, an empty string that is in no set yet, to `key` followed by `behind`. False: the
/// whole tree counts as read.
bool ReadSet::put(Tree& tree, std::string& into, ByteView key, ByteView behind) {
  const std::size_t size = key.size() + behind.size();
  if (into.capacity() < size) {
    const std::size_t most = size + 2 * into.capacity() + 2;  // a string takes more than requested
    if (!require(tree, most)) {
      return false;
    }
    into.reserve(size);
    give(most - heap_bytes(into));
  }
  into.assign(key).append(behind);
  return true;
}

void ReadSet::replace(std::string& text, std::string fresh) noexcept {
  give(heap_bytes(text));
  text.swap(fresh);  // an assignment may keep the memory
}

void ReadSet::free_text(Range& range) noexcept {
  replace(range.lower, {});
  if (range.upper) {
    replace(*range.upper, {});
  }
}

template <class Item>
void ReadSet::drop(std::vector<Item>& items) noexcept {
  give(heap_bytes(items));
  std::vector<Item>().swap(items);  // an assignment would keep the memory
}

std::size_t ReadSet::bytes_of(const Tree& tree) noexcept {
  std::size_t bytes = heap_bytes(tree.keys) + heap_bytes(tree.stretches) + heap_bytes(tree.ranges);
  for (const std::vector<Range>* const ranges : {&tree.stretches, &tree.ranges}) {
    for (const Range& range : *ranges) {
      bytes += heap_bytes(range.lower) + (range.upper ? heap_bytes(*range.upper) : 0);
    }
  }
  return bytes;
}

// Coarsening

/// One step: coarsens the tree that takes most memory, or `asking` if none takes any.
void ReadSet::coarsen(Tree& asking) {
  Tree* most = &asking;
  std::size_t bytes = 0;
  for (std::size_t number = 0; number < used_; ++number) {
    Tree& tree = trees_[number];
    const bool has_any = !tree.keys.empty() || !tree.ranges.empty();
    if (const std::size_t of = has_any ? bytes_of(tree) : 0; of > bytes) {
      most = &tree;
      bytes = of;
    }
  }
  coarsen_tree(*most);
}

void ReadSet::coarsen_tree(Tree& tree) {
  ++tree.arrangement;
  if (!tree.keys.empty()) {
    keys_to_ranges(tree);
  } else if (tree.ranges.size() <= 1) {
    take_whole(tree);
  } else {
    halve(tree.ranges);
    shrink(tree.ranges);
  }
}

void ReadSet::take_whole(Tree& tree) noexcept {
  std::ranges::for_each(tree.stretches, [&](Range& range) { free_text(range); });
  std::ranges::for_each(tree.ranges, [&](Range& range) { free_text(range); });
  drop(tree.keys);
  drop(tree.stretches);
  drop(tree.ranges);
  tree.stretch_keys = 0;
  tree.whole = true;
}

// Halves the old ranges and the new ones in turn, until all have room.
void ReadSet::keys_to_ranges(Tree& tree) {
  drop(tree.keys);
  tree.stretch_keys = 0;
  arrange(tree.stretches);
  const std::size_t old = heap_bytes(tree.ranges);
  for (;;) {
    const std::size_t count = tree.ranges.size() + tree.stretches.size();
    if (count <= tree.ranges.capacity()) {
      break;
    }
    if (try_take(count * sizeof(Range))) {
      tree.ranges.reserve(count);
      give(old);
      break;
    }
    std::vector<Range>& larger =
        tree.ranges.size() > tree.stretches.size() ? tree.ranges : tree.stretches;
    if (larger.size() <= 1) {
      take_whole(tree);
      return;
    }
    halve(larger);
  }
  std::ranges::move(tree.stretches, std::back_inserter(tree.ranges));
  drop(tree.stretches);
  arrange(tree.ranges);
}

/// Joins neighbours where is_joined() says so. No range begins below the one before.
template <class IsJoined>
void ReadSet::join_if(std::vector<Range>& ranges, const IsJoined& is_joined) noexcept {
  if (ranges.empty()) {
    return;
  }
  std::size_t kept = 0;
  for (std::size_t next = 1; next < ranges.size(); ++next) {
    Range& last = ranges[kept];
    Range& range = ranges[next];
    if (is_joined(last, range, next)) {
      if (last.upper && (!range.upper || *last.upper < *range.upper)) {
        std::swap(last.upper, range.upper);
      }
      free_text(range);
    } else if (++kept != next) {
      ranges[kept] = std::move(range);
    }
  }
  ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(kept) + 1, ranges.end());
}

/// Sorts the ranges, and joins those that meet.
void ReadSet::arrange(std::vector<Range>& ranges) noexcept {
  std::ranges::sort(ranges, {}, &Range::lower);
  join_if(ranges, [](const Range& last, const Range& range, std::size_t) {
    return !last.upper || *last.upper >= range.lower;
  });
}

void ReadSet::halve(std::vector<Range>& ranges) noexcept {
  const std::size_t goal = std::max<std::size_t>(ranges.size() / 2, 1);
  arrange(ranges);
  while (ranges.size() > goal) {
    join_neighbours(ranges);
  }
}

/// Joins about half of the ranges, which are arranged: those with small gaps.
void ReadSet::join_neighbours(std::vector<Range>& ranges) noexcept {
  const std::size_t gaps = ranges.size() - 1;
  const auto gap_at = [&](std::size_t at) {
    return gap_between(*ranges[at].upper, ranges[at + 1].lower);
  };
  std::array<Gap, 64> sample;
  const std::size_t count = std::min(gaps, sample.size());
  for (std::size_t i = 0; i < count; ++i) {
    sample[i] = gap_at(i * gaps / count);
  }
  const auto middle = sample.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(sample.begin(), middle, sample.begin() + static_cast<std::ptrdiff_t>(count));
  join_if(ranges, [&](const Range& last, const Range& range, std::size_t) {
    return !(*middle < gap_between(*last.upper, range.lower));
  });
}

/// Frees unused capacity: for a moment both allocations exist.
void ReadSet::shrink(std::vector<Range>& ranges) {
  std::vector<Range> fresh;
  memory_.take(ranges.size() * sizeof(Range));
  bytes_ += ranges.size() * sizeof(Range);
  fresh.reserve(ranges.size());
  std::ranges::move(ranges, std::back_inserter(fresh));
  give(heap_bytes(ranges));
  ranges = std::move(fresh);
}

// Asking

void ReadSet::seal() noexcept {
  for (std::size_t number = 0; number < used_; ++number) {
    Tree& tree = trees_[number];
    std::ranges::sort(tree.keys);
    std::ranges::sort(tree.stretches, {}, &Range::lower);
    join_if(tree.stretches, [](const Range&, const Range&, std::size_t) { return true; });
    tree.stretch_keys = kStretchKeys;
    ++tree.arrangement;
    arrange(tree.ranges);
  }
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
  const auto above = std::ranges::upper_bound(of->ranges, key, {}, &Range::lower);
  return above != of->ranges.begin() && is_above(std::prev(above)->upper, key);
}

}  // namespace palimpsest::versioning
