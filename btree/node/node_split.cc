#include "btree/node/node_split.h"

#include <algorithm>

#include "base/check.h"
#include "btree/node/node_edit.h"

namespace palimpsest::btree {
namespace {

/// Length of a run of insertions from which on it counts as a stream.
constexpr std::int32_t kRunMin = 3;

// A leaf can always be split near its middle. Let C be the capacity, L, U, S <= page/8 the lengths
// of lower fence, upper fence and separator, and M = page/4 + slot the largest item. The items, the
// new one included, each with what is reserved beside it, have T <= C - L - U + M bytes; some cut
// leaves at most (T + M) / 2 on either side (move the cut from the left until the left side exceeds
// half of T; the item that crosses it is at most M). With fences the left side needs at most
// (C - L - U + 2M) / 2 + L + S <= C/2 + M + page/16 + page/8, as L - (L + U) / 2 <= page/16; the
// right side likewise, with U for L. Prefixes only grow in a split, which makes items smaller. So
// it fits if M + 3/16 page <= C/2; M <= page/4 + slot:
template <std::uint32_t kPageSize>
constexpr bool kSplitFits = record_bytes_max(kPageSize) + sizeof(LeafSlot) + 3 * kPageSize / 16 <=
                            node_capacity_bytes(kPageSize) / 2;
static_assert(kSplitFits<4096> && kSplitFits<8192> && kSplitFits<16384> && kSplitFits<32768> &&
              kSplitFits<65536>);
// The same holds for inner nodes with M = page/8 + slot, which is less, and the separator that
// moves up is not part of T. A full inner node has at least three separators, so each side keeps a
// child:
static_assert(std::size_t{3} * (key_bytes_max(buffer::kPageSizeMin) + sizeof(InnerSlot)) +
                  std::size_t{2} * key_bytes_max(buffer::kPageSizeMin) <
              node_capacity_bytes(buffer::kPageSizeMin));

std::optional<ByteView> upper_of(const NodeView& node) noexcept {
  return node.upper_is_infinite() ? std::nullopt : std::optional<ByteView>(node.upper_fence());
}

/// The effect of a split at a separator on the fences and prefixes of both sides.
class SideSizes {
 public:
  explicit SideSizes(const NodeView& node) noexcept
      : node_(node), prefix_len_(node.header().prefix_len) {}

  /// Whether `left_items` of `left_bytes` (slots, suffixes, values), and likewise on the right, fit
  /// after a split at prefix + `separator_suffix`.
  [[nodiscard]] bool fit(SlotIndex left_items, std::uint32_t left_bytes, SlotIndex right_items,
                         std::uint32_t right_bytes, ByteView separator_suffix) const noexcept {
    const auto separator_len = prefix_len_ + static_cast<std::uint32_t>(separator_suffix.size());
    const std::uint32_t left_growth =
        common_prefix_length(node_.lower_fence().substr(prefix_len_), separator_suffix);
    const std::uint32_t right_growth =
        node_.upper_is_infinite()
            ? 0
            : common_prefix_length(node_.upper_fence().substr(prefix_len_), separator_suffix);
    const NodeHeader& h = node_.header();
    return left_bytes - left_items * left_growth + h.lower_len + separator_len <=
               node_.capacity_bytes() &&
           right_bytes - right_items * right_growth + separator_len + h.upper_len <=
               node_.capacity_bytes();
  }

 private:
  NodeView node_;
  std::uint32_t prefix_len_;
};

/// The records of a leaf, including the one to be inserted, and a movable cut: items [0, cut) go
/// left, [cut, count) right.
class LeafCut {
 public:
  LeafCut(const LeafView& leaf, SlotIndex new_slot, ByteView new_suffix, std::size_t value_len,
          SlotIndex new_items, ReservedBeside reserved) noexcept
      : leaf_(leaf),
        sizes_(leaf),
        new_slot_(new_slot),
        new_suffix_(new_suffix),
        new_bytes_(static_cast<std::uint32_t>(sizeof(LeafSlot) + new_suffix.size() + value_len)),
        new_items_(new_items),
        reserved_(reserved),
        count_(leaf.count() + new_items),
        total_bytes_(leaf.count() * static_cast<std::uint32_t>(sizeof(LeafSlot)) +
                     leaf.header().heap_used + new_items * new_bytes_) {
    for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
      total_bytes_ += reserved(slot);
    }
  }

  [[nodiscard]] SlotIndex count() const noexcept { return count_; }
  [[nodiscard]] SlotIndex cut() const noexcept { return cut_; }
  [[nodiscard]] std::uint32_t larger_side_bytes() const noexcept {
    return std::max(left_bytes_, total_bytes_ - left_bytes_);
  }
  [[nodiscard]] std::uint32_t left_bytes() const noexcept { return left_bytes_; }
  [[nodiscard]] std::uint32_t total_bytes() const noexcept { return total_bytes_; }

  void move_to(SlotIndex cut) noexcept {
    while (cut_ < cut) {
      left_bytes_ += item_bytes(cut_++);
    }
    while (cut_ > cut) {
      left_bytes_ -= item_bytes(--cut_);
    }
  }
  /// The suffix of the separator for the current cut, which must be in [1, count).
  [[nodiscard]] ByteView separator_suffix() const noexcept {
    const ByteView right = item_suffix(cut_);
    return right.substr(0, separator_length(item_suffix(cut_ - 1), right));
  }
  [[nodiscard]] bool fits() const noexcept {
    return sizes_.fit(cut_, left_bytes_, count_ - cut_, total_bytes_ - left_bytes_,
                      separator_suffix());
  }
  void finish(SplitPlan& plan) const noexcept {
    plan.new_goes_left = new_items_ != 0 && new_slot_ < cut_;
    plan.cut = plan.new_goes_left ? cut_ - 1 : cut_;
    plan.separator.assign_clamped(leaf_.prefix(), separator_suffix());
  }

 private:
  [[nodiscard]] bool is_new(SlotIndex item) const noexcept {
    return new_items_ != 0 && item == new_slot_;
  }
  [[nodiscard]] SlotIndex slot_of(SlotIndex item) const noexcept {
    return new_items_ != 0 && item > new_slot_ ? item - 1 : item;
  }
  [[nodiscard]] ByteView item_suffix(SlotIndex item) const noexcept {
    return is_new(item) ? new_suffix_ : leaf_.suffix(slot_of(item));
  }
  [[nodiscard]] std::uint32_t item_bytes(SlotIndex item) const noexcept {
    if (is_new(item)) {
      return new_bytes_;
    }
    const SlotIndex slot = slot_of(item);
    return static_cast<std::uint32_t>(sizeof(LeafSlot) + leaf_.suffix(slot).size() +
                                      leaf_.value(slot).size()) +
           reserved_(slot);
  }

  LeafView leaf_;
  SideSizes sizes_;
  SlotIndex new_slot_;
  ByteView new_suffix_;
  std::uint32_t new_bytes_;
  SlotIndex new_items_;  ///< 1, or 0 if nothing is to be inserted
  ReservedBeside reserved_;
  SlotIndex count_;
  std::uint32_t total_bytes_;
  SlotIndex cut_ = 0;
  std::uint32_t left_bytes_ = 0;
};

/// The separators of an inner node around the one that moves up, with the new one counted on its
/// side: separators [0, cut) go left, (cut, count) right.
class InnerCut {
 public:
  InnerCut(const InnerView& node, SlotIndex new_slot, std::size_t new_suffix_len) noexcept
      : node_(node),
        sizes_(node),
        new_slot_(new_slot),
        new_bytes_(static_cast<std::uint32_t>(sizeof(InnerSlot) + new_suffix_len)),
        total_bytes_(node.count() * static_cast<std::uint32_t>(sizeof(InnerSlot)) +
                     node.header().heap_used) {}

  [[nodiscard]] SlotIndex count() const noexcept { return node_.count(); }
  [[nodiscard]] SlotIndex cut() const noexcept { return cut_; }
  [[nodiscard]] std::uint32_t total_bytes() const noexcept { return total_bytes_ + new_bytes_; }
  [[nodiscard]] bool new_goes_left() const noexcept { return new_slot_ <= cut_; }
  [[nodiscard]] std::uint32_t left_bytes() const noexcept {
    return before_bytes_ + (new_goes_left() ? new_bytes_ : 0);
  }
  [[nodiscard]] std::uint32_t right_bytes() const noexcept {
    return total_bytes() - left_bytes() - item_bytes(cut_);
  }
  [[nodiscard]] std::uint32_t larger_side_bytes() const noexcept {
    return std::max(left_bytes(), right_bytes());
  }

  void move_to(SlotIndex cut) noexcept {
    while (cut_ < cut) {
      before_bytes_ += item_bytes(cut_++);
    }
    while (cut_ > cut) {
      before_bytes_ -= item_bytes(--cut_);
    }
  }
  [[nodiscard]] ByteView separator_suffix() const noexcept { return node_.suffix(cut_); }
  [[nodiscard]] bool fits() const noexcept {
    const SlotIndex left_items = cut_ + (new_goes_left() ? 1 : 0);
    return sizes_.fit(left_items, left_bytes(), node_.count() - left_items, right_bytes(),
                      separator_suffix());
  }
  void finish(SplitPlan& plan) const noexcept {
    plan.new_goes_left = new_goes_left();
    plan.cut = cut_;
    plan.separator.assign_clamped(node_.prefix(), separator_suffix());
  }

 private:
  [[nodiscard]] std::uint32_t item_bytes(SlotIndex slot) const noexcept {
    return static_cast<std::uint32_t>(sizeof(InnerSlot) + node_.suffix(slot).size());
  }

  InnerView node_;
  SideSizes sizes_;
  SlotIndex new_slot_;
  std::uint32_t new_bytes_;
  std::uint32_t total_bytes_;
  SlotIndex cut_ = 0;
  std::uint32_t before_bytes_ = 0;
};

/// Moves the cut near the middle of [first, end) by bytes, then to the shortest separator in a
/// small window around it that leaves neither side with much more than half.
template <class Cut>
void cut_in_middle(Cut& cut, SlotIndex first, SlotIndex end) noexcept {
  SlotIndex best = first;
  cut.move_to(first);
  std::uint32_t best_bytes = cut.larger_side_bytes();
  for (SlotIndex at = first + 1; at < end; ++at) {
    cut.move_to(at);
    if (cut.larger_side_bytes() >= best_bytes) {
      break;  // past the middle
    }
    best = at;
    best_bytes = cut.larger_side_bytes();
  }
  const SlotIndex reach = 1 + (end - first) / 16;
  const std::uint32_t bytes_max = std::max(best_bytes, cut.total_bytes() / 16 * 9);
  SlotIndex chosen = best;
  cut.move_to(best);
  std::size_t shortest = cut.separator_suffix().size();
  for (SlotIndex at = best - std::min(best - first, reach); at < std::min(end, best + reach + 1);
       ++at) {
    cut.move_to(at);
    if (cut.separator_suffix().size() < shortest && cut.larger_side_bytes() <= bytes_max &&
        cut.fits()) {
      chosen = at;
      shortest = cut.separator_suffix().size();
    }
  }
  cut.move_to(chosen);
}

/// Moves the cut from `wanted` towards `last` until both sides fit. False if there is no such cut.
template <class Cut>
[[nodiscard]] bool cut_from(Cut& cut, SlotIndex wanted, SlotIndex last) noexcept {
  SlotIndex at = wanted;
  for (;;) {
    cut.move_to(at);
    if (cut.fits()) {
      return true;
    }
    if (at == last) {
      return false;
    }
    at = at < last ? at + 1 : at - 1;
  }
}

/// +1 if inserting at `slot` continues an ascending run, -1 a descending one, 0 neither.
int direction_of(const NodeView& node, SlotIndex slot) noexcept {
  const auto position = static_cast<std::uint16_t>(slot);
  if (node.insert_run() >= kRunMin &&
      position == static_cast<std::uint16_t>(node.last_insert() + 1)) {
    return 1;
  }
  return node.insert_run() <= -kRunMin && position == node.last_insert() ? -1 : 0;
}

/// Builds `right` from the part that moves: the slots [first, count) of `left`.
template <class Slot>
void build_right(const NodeView& left, std::byte* right_page, PageId right_id, SlotIndex first,
                 const SplitPlan& plan) noexcept {
  const NodeHeader& old = left.header();
  const NodeEditor<Slot> right(right_page, left.page_size());
  right.init({right_id, left.tree_id(), left.level()}, plan.separator.view(), upper_of(left));
  right.append_from(left, first, old.count);
  if (!plan.new_goes_left) {
    // The insertion hints move along, so that a stream continues where its next record belongs. If
    // the last insertion was just before the first moved record, this gives kNoInsertYet: position
    // 0 continues the run.
    right.header().run = old.run;
    right.header().last_insert = static_cast<std::uint16_t>(old.last_insert - first);
  }
}

template <class Slot>
void cut_off_right(std::byte* page, std::uint32_t page_size, const SplitPlan& plan) noexcept {
  with_scratch_page(page_size, [&](std::byte* scratch) {
    std::memcpy(scratch, page, page_size);
    const NodeView old(scratch, page_size);
    const NodeEditor<Slot> left(page, page_size);
    left.reset(old.lower_fence(), plan.separator.view());
    left.append_from(old, 0, plan.cut);
    if (plan.new_goes_left) {
      left.header().run = old.header().run;
      left.header().last_insert = old.header().last_insert;
    }
  });
}

template <class Slot>
void merge_nodes(std::byte* left_page, std::uint32_t page_size, const NodeView& right,
                 SlotIndex right_count) noexcept {
  const NodeEditor<Slot> left(left_page, page_size);
  const KeyBuffer lower(NodeView(left_page, page_size).lower_fence());
  const KeyBuffer middle(right.lower_fence());
  left.rebuild(lower.view(), upper_of(right), std::nullopt);
  if constexpr (std::is_same_v<Slot, InnerSlot>) {
    // The separator moves down, with the right node's leftmost child.
    const ByteView suffix = middle.view().substr(left.header().prefix_len);
    static_cast<void>(left.open(left.header().count,
                                {.swip = InnerView(right.page(), page_size).swip_at(0),
                                 .head = 0,
                                 .offset = 0,
                                 .key_len = static_cast<std::uint16_t>(suffix.size())},
                                suffix));
  }
  left.append_from(right, 0, right_count);
  left.header().last_insert = kNoInsertYet;
  left.header().run = 0;
}

/// Bytes of the merged node without an inner node's separator and slots.
template <class View>
std::uint32_t merged_bytes_of(const View& left, const View& right, std::uint32_t slot_bytes,
                              std::uint32_t& prefix_len) noexcept {
  const NodeHeader& l = left.header();
  const NodeHeader& r = right.header();
  prefix_len =
      right.upper_is_infinite() ? 0 : common_prefix_length(left.lower_fence(), right.upper_fence());
  return l.lower_len + r.upper_len + (l.count + r.count) * slot_bytes + l.heap_used + r.heap_used +
         l.count * (l.prefix_len - prefix_len) + r.count * (r.prefix_len - prefix_len);
}

}  // namespace

void plan_split(const LeafView& leaf, SlotIndex slot, ByteView key, std::size_t value_len,
                ReservedBeside reserved, SplitPlan& plan) noexcept {
  LeafCut cut(leaf, slot, key.substr(leaf.header().prefix_len), value_len, 1, reserved);
  const SlotIndex last = leaf.count();  // index of the last item, the new one counted
  check(last > 0, "a leaf that is split has a record");
  const int direction = direction_of(leaf, slot);
  bool done = false;
  if (direction > 0) {
    // At the end, the new record goes right, alone; in the middle, it ends the left node, where the
    // stream continues.
    done = cut_from(cut, slot == last ? last : slot + 1, 1);
  } else if (direction < 0) {
    done = cut_from(cut, slot == 0 ? 1 : slot, last);
  }
  if (!done) {
    cut_in_middle(cut, 1, last + 1);
  }
  PALIMPSEST_DEBUG_CHECK(cut.fits(), "both sides of a split fit");
  cut.finish(plan);
}

void plan_split(const LeafView& leaf, SlotIndex slot, ByteView key, std::size_t value_len,
                SplitPlan& plan) noexcept {
  plan_split(leaf, slot, key, value_len, [](SlotIndex) { return 0U; }, plan);
}

void plan_split(const LeafView& leaf, ReservedBeside reserved, SplitPlan& plan) noexcept {
  check(leaf.count() >= 2, "a leaf that is split has two records");
  LeafCut cut(leaf, 0, {}, 0, 0, reserved);
  cut_in_middle(cut, 1, leaf.count());
  PALIMPSEST_DEBUG_CHECK(cut.fits(), "both sides of a split fit");
  cut.finish(plan);
}

void plan_split(const LeafView& leaf, SplitPlan& plan) noexcept {
  plan_split(leaf, [](SlotIndex) { return 0U; }, plan);
}

void plan_split(const InnerView& node, SlotIndex slot, ByteView separator,
                SplitPlan& plan) noexcept {
  InnerCut cut(node, slot, separator.size() - node.header().prefix_len);
  const SlotIndex count = node.count();
  check(count >= 3, "an inner node that is split has three separators");
  const int direction = direction_of(node, slot);
  bool done = false;
  if (direction > 0) {
    done = cut_from(cut, std::min(slot, count - 1), 0);
  } else if (direction < 0) {
    done = cut_from(cut, slot == 0 ? 0 : slot - 1, count - 1);
  }
  if (!done) {
    cut_in_middle(cut, 0, count);
  }
  PALIMPSEST_DEBUG_CHECK(cut.fits(), "both sides of a split fit");
  cut.finish(plan);
}

void keep_left(LeafNode left, const SplitPlan& plan) noexcept {
  cut_off_right<LeafSlot>(left.mutable_page(), left.page_size(), plan);
}

void keep_left(InnerNode left, const SplitPlan& plan) noexcept {
  cut_off_right<InnerSlot>(left.mutable_page(), left.page_size(), plan);
}

void split_into(LeafNode left, LeafNode right, PageId right_id, const SplitPlan& plan) noexcept {
  build_right<LeafSlot>(left, right.mutable_page(), right_id, plan.cut, plan);
  keep_left(left, plan);
}

void split_into(InnerNode left, InnerNode right, PageId right_id, const SplitPlan& plan) noexcept {
  build_right<InnerSlot>(left, right.mutable_page(), right_id, plan.cut + 1, plan);
  right.set_swip(0, left.swip_at(plan.cut + 1));
  keep_left(left, plan);
}

bool can_split(const LeafView& leaf, const SplitPlan& plan) noexcept {
  const ByteView separator = plan.separator.view();
  if (plan.cut > leaf.count() || !leaf.covers(separator) || separator == leaf.lower_fence() ||
      leaf.lower_bound(separator) != plan.cut) {
    return false;
  }
  std::uint32_t left_bytes = 0;
  for (SlotIndex i = 0; i < plan.cut; ++i) {
    left_bytes +=
        static_cast<std::uint32_t>(sizeof(LeafSlot) + leaf.suffix(i).size() + leaf.value(i).size());
  }
  const std::uint32_t all_bytes =
      leaf.count() * static_cast<std::uint32_t>(sizeof(LeafSlot)) + leaf.header().heap_used;
  return SideSizes(leaf).fit(plan.cut, left_bytes, leaf.count() - plan.cut, all_bytes - left_bytes,
                             separator.substr(leaf.header().prefix_len));
}

bool can_split(const InnerView& node, const SplitPlan& plan) noexcept {
  const SearchResult at = node.find(plan.separator.view());
  if (!at.found || at.slot != plan.cut) {
    return false;
  }
  std::uint32_t left_bytes = 0;
  for (SlotIndex i = 0; i < plan.cut; ++i) {
    left_bytes += static_cast<std::uint32_t>(sizeof(InnerSlot) + node.suffix(i).size());
  }
  const std::uint32_t all_bytes =
      node.count() * static_cast<std::uint32_t>(sizeof(InnerSlot)) + node.header().heap_used;
  const auto moved_up = static_cast<std::uint32_t>(sizeof(InnerSlot) + node.suffix(at.slot).size());
  return SideSizes(node).fit(plan.cut, left_bytes, node.count() - plan.cut - 1,
                             all_bytes - left_bytes - moved_up,
                             plan.separator.view().substr(node.header().prefix_len));
}

std::uint32_t merged_bytes(const LeafView& left, const LeafView& right) noexcept {
  std::uint32_t prefix_len = 0;
  return merged_bytes_of(left, right, sizeof(LeafSlot), prefix_len);
}

std::uint32_t merged_bytes(const InnerView& left, const InnerView& right) noexcept {
  std::uint32_t prefix_len = 0;
  const std::uint32_t bytes = merged_bytes_of(left, right, sizeof(InnerSlot), prefix_len);
  return bytes + static_cast<std::uint32_t>(sizeof(InnerSlot)) + right.header().lower_len -
         prefix_len;
}

bool can_merge(const LeafView& left, const LeafView& right) noexcept {
  return merged_bytes(left, right) <= left.capacity_bytes();
}

bool can_merge(const InnerView& left, const InnerView& right) noexcept {
  return merged_bytes(left, right) <= left.capacity_bytes();
}

void merge_into_left(LeafNode left, const LeafView& right) noexcept {
  PALIMPSEST_DEBUG_CHECK(can_merge(left, right), "merged leaves fit");
  merge_nodes<LeafSlot>(left.mutable_page(), left.page_size(), right, right.count());
}

void merge_into_left(InnerNode left, const InnerView& right) noexcept {
  PALIMPSEST_DEBUG_CHECK(can_merge(left, right), "merged inner nodes fit");
  merge_nodes<InnerSlot>(left.mutable_page(), left.page_size(), right, right.count());
}

}  // namespace palimpsest::btree
