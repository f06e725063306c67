#include "btree/range_estimate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "btree/large/large_value_format.h"
#include "btree/node/inner_node.h"
#include "btree/node/key_bytes.h"
#include "btree/node/leaf_node.h"

namespace palimpsest::btree {
namespace {

constexpr std::uint32_t kSamples = 4;  ///< of children beside a path, at each level

struct Amount {
  double records = 0;
  double bytes = 0;

  Amount& operator+=(const Amount& other) {
    records += other.records;
    bytes += other.bytes;
    return *this;
  }
  [[nodiscard]] Amount times(double factor) const { return {records * factor, bytes * factor}; }
};

/// The child that a path takes at one inner node.
struct Turn {
  SlotIndex index = 0;
  SlotIndex children = 1;
};

class Estimator {
 public:
  explicit Estimator(const Descent& descent) : descent_(descent), levels_(descent.root_level()) {}

  /// The records from the lower end to the upper one, which is above it or infinite.
  Amount between(const KeyRange& range) {
    lower_ = Target{range.lower};
    upper_ =
        range.upper ? Target{*range.upper, Target::Side::before} : Target{{}, Target::Side::last};
    for (std::uint32_t level = levels_; level > 0; --level) {
      const Turn low = turn(lower_, level);
      const Turn high = turn(upper_, level);
      if (low.index != high.index) {
        return parted(range, level, low, high);
      }
    }
    return in_leaf(lower_, range);
  }

 private:
  /// For paths that part at this level.
  Amount parted(const KeyRange& range, std::uint32_t level, const Turn& low, const Turn& high) {
    Amount all;
    if (high.index > low.index + 1) {
      all += of_children(lower_, level, low.index + 1, high.index);
    }
    for (std::uint32_t below = level - 1; below > 0; --below) {
      const Turn left = turn(lower_, below);
      all += of_children(lower_, below, left.index + 1, left.children);
      all += of_children(upper_, below, 0, turn(upper_, below).index);
    }
    all += in_leaf(lower_, range);
    all += in_leaf(upper_, range);
    return all;
  }

  /// Calls read(inner node) for the node of that level on the path, unless the tree has become
  /// lower.
  template <class Read>
  void at(const Target& way, std::uint32_t level, const Read& read) const {
    for (;;) {
      const auto node = descent_.try_node<buffer::OptimisticPage>(way, level);
      if (node && node->read([&](const std::byte* page) {
            read(InnerView(page, descent_.page_size()));
            return true;
          })) {
        return;
      }
      if (descent_.root_level() < level) {
        return;
      }
    }
  }
  [[nodiscard]] Turn turn(const Target& way, std::uint32_t level) const {
    Turn turn;
    at(way, level, [&](const InnerView& node) { turn = {way.child_of(node), node.child_count()}; });
    return turn;
  }

  /// Estimates the children [first, last) of the node of that level on the path.
  Amount of_children(const Target& way, std::uint32_t level, SlotIndex first, SlotIndex last) {
    if (first >= last) {
      return {};
    }
    const std::uint32_t count = last - first;
    const std::uint32_t samples = std::min(count, kSamples);
    Amount all;
    for (std::uint32_t sample = 0; sample < samples; ++sample) {
      const auto child = static_cast<SlotIndex>(first + (2 * sample + 1) * count / (2 * samples));
      all += of_child(way, level, child);
    }
    return all.times(static_cast<double>(count) / samples);
  }

  /// Takes all nodes below the child to be like those on one path through it.
  Amount of_child(const Target& way, std::uint32_t level, SlotIndex child) {
    KeyBuffer key;
    at(way, level, [&](const InnerView& node) { node.copy_child_lower(child, key); });
    const Target within{key.view()};
    double leaves = 1;
    for (std::uint32_t below = level - 1; below > 0; --below) {
      leaves *= turn(within, below).children;
    }
    return in_leaf(within, {}).times(leaves);
  }

  /// Counts the records of a range in the leaf on a path.
  [[nodiscard]] Amount in_leaf(const Target& target, const KeyRange& range) const {
    const auto page = descent_.leaf<buffer::SharedPage>(target);
    const LeafView leaf(page.page(), descent_.page_size());
    const SlotIndex last = range.upper ? leaf.lower_bound(*range.upper) : leaf.count();
    Amount amount;
    for (SlotIndex slot = leaf.lower_bound(range.lower); slot < last; ++slot) {
      const LeafRecord record = leaf.record(slot);
      if ((record.flags & kGhost) == 0) {
        amount += {1, static_cast<double>(leaf.prefix().size() + record.suffix.size()) +
                          value_bytes(record)};
      }
    }
    return amount;
  }
  [[nodiscard]] static double value_bytes(const LeafRecord& record) {
    if ((record.flags & kLargeValue) == 0) {
      return static_cast<double>(record.value.size());
    }
    DescriptorHeader header{};
    std::memcpy(&header, record.value.data(), std::min(sizeof header, record.value.size()));
    return static_cast<double>(header.size_bytes);
  }

  const Descent& descent_;
  std::uint32_t levels_;
  Target lower_{};
  Target upper_{};
};

}  // namespace

RangeEstimate estimate_range(const Descent& descent, const KeyRange& range) {
  if (range.upper && *range.upper <= range.lower) {
    return {};
  }
  const Amount amount = Estimator(descent).between(range);
  return {.records = static_cast<std::uint64_t>(std::llround(amount.records)),
          .bytes = static_cast<std::uint64_t>(std::llround(amount.bytes))};
}

}  // namespace palimpsest::btree
