#include "btree/value_moves.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/sync_point.h"
#include "btree/leaf_entries.h"
#include "btree/leaf_walk.h"
#include "btree/log/tree_record_encode.h"
#include "btree/log_change.h"
#include "btree/node/span_marks.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;

namespace {

/// What one step copies before it exchanges descriptors, and leaves that it looks at.
constexpr std::uint64_t kPagesTogether = 1024;
constexpr std::uint32_t kLeavesTogether = 256;

struct NamedValue {
  std::string key;
  LargeValueDescriptor value;
};

bool reaches(const LargeValueDescriptor& value, PageId from) noexcept {
  return std::ranges::any_of(value.runs(), [&](const buffer::PageRun& run) {
    return raw(run.first) + run.pages > raw(from);
  });
}

/// A copy that no record names yet: its pages are given back when it goes.
class Copy {
 public:
  Copy(LargeValueStore& store, NamedValue from, const LargeValueDescriptor& value)
      : store_(&store), from_(std::move(from)), value_(value) {}
  Copy(Copy&& other) noexcept
      : store_(std::exchange(other.store_, nullptr)),
        from_(std::move(other.from_)),
        value_(other.value_) {}
  Copy& operator=(Copy&&) = delete;
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy() {
    if (store_ != nullptr) {
      store_->take_back(value_);
    }
  }

  [[nodiscard]] const NamedValue& from() const noexcept { return from_; }
  [[nodiscard]] const LargeValueDescriptor& value() const noexcept { return value_; }
  /// A record names it.
  void keep() noexcept { store_ = nullptr; }

 private:
  LargeValueStore* store_;
  NamedValue from_;
  LargeValueDescriptor value_;
};

/// What is found in some leaves.
struct Findings {
  std::vector<NamedValue> values;       ///< with pages behind the place
  std::vector<std::string> bulks_keys;  ///< one of each leaf that has an epoch
};

/// Looks at the next leaves, and moves the walk on. Whether there are more.
bool look_at_leaves(const BTree& tree, ValueMoves& walk, Findings& found) {
  LeafWalk leaves(tree.descent(), {.lower = walk.next, .upper = std::nullopt}, Direction::forward);
  std::uint64_t pages = 0;
  for (std::uint32_t looked_at = 0; leaves.next(); ++looked_at) {
    const LeafView leaf = leaves.leaf();
    if (looked_at == kLeavesTogether || pages >= kPagesTogether) {
      walk.next.assign(leaf.lower_fence());
      return true;
    }
    const auto key_of = [&](const LeafRecord& record) {
      return std::string(leaf.prefix()).append(record.suffix);
    };
    if (leaf.bulk_epoch() != kNoEpoch && leaf.count() != 0) {
      found.bulks_keys.push_back(key_of(leaf.record(0)));
    }
    for (SlotIndex slot = leaves.first(); slot < leaves.last(); ++slot) {
      const LeafRecord record = leaf.record(slot);
      if ((record.flags & (kNamesLarge | kGhost | kShadowed)) != kLargeValue) {
        continue;
      }
      const LargeValueDescriptor value = tree.large_values().decode(record.value);
      if (reaches(value, walk.from)) {
        found.values.push_back({.key = key_of(record), .value = value});
        pages += value.block_count();
      }
    }
  }
  return false;
}

/// Whether the record names exactly this value, and nothing but the leaf does.
bool is_free_to_move(const buffer::Frame& frame, const LeafView& leaf, const WriteContext& by,
                     const SearchResult& at, versioning::Entry* entry, const NamedValue& from) {
  if (!at.found || (leaf.flags(at.slot) & kRecordFlagsKnown) != kLargeValue ||
      leaf.value(at.slot) != from.value.encode().view()) {
    return false;
  }
  if (entry != nullptr && entry->writer() == versioning::kNoWriter && by.pruner() != nullptr) {
    by.pruner()->prune(*entry, versioning::Pruner::Newest::record);
  }
  return (entry == nullptr || entry->is_empty()) &&
         span_of(table_of(frame), leaf.flags(at.slot)) != versioning::SpanKind::removed;
}

// Caller holds the leaf.
Gsn log_exchange(const WriteContext& by, ExclusivePage& leaf, buffer::SpaceMap& space_map,
                 const LoggedUpdate& change, const Copy& copy) noexcept {
  static_cast<void>(leaf.modify());
  auto space = space_map.change();
  const Gsn gsn = log_system_change(by, gsn_of(leaf.page()), change);
  for (const buffer::PageRun& run : copy.value().runs()) {
    space.take(run, gsn);
  }
  for (const buffer::PageRun& run : copy.from().value.runs()) {
    space.give(run, gsn);
  }
  set_gsn(leaf, gsn);
  return gsn;
}

/// False, and nothing changed, if the record is not as it was, or a transaction has a part in it.
bool exchange(const BTree& tree, const WriteContext& by, Copy& copy) {
  const std::uint32_t page_size = tree.descent().page_size();
  buffer::SpaceMap& space = tree.descent().pool().space();
  const NamedValue& from = copy.from();
  const EncodedDescriptor before = from.value.encode();
  const EncodedDescriptor after = copy.value().encode();
  by.prepare_structure_change(page_size);
  ExclusivePage leaf = tree.descent().leaf<ExclusivePage>(Target{from.key});
  LeafEntries entries(leaf, page_size);
  const LeafView view(leaf.page(), page_size);
  const SearchResult at = view.find(from.key);
  versioning::Entry* const entry = at.found ? entries.find(at, from.key) : nullptr;
  if (!is_free_to_move(leaf.frame(), view, by, at, entry, from) ||
      !entries.can_replace(at.slot, entry, after.view().size(), versioning::kNoWriter)) {
    entries.release_unwritten();
    return false;
  }
  const LoggedUpdate change({view.tree_id(), page_id_of(leaf), at.slot, from.key},
                            {before.view(), kLargeValue}, {after.view(), kLargeValue});
  const Gsn gsn = log_exchange(by, leaf, space, change, copy);
  entries.reserve_for_replace(at.slot, entry, after.view().size());
  const bool fits = LeafNode(leaf.modify(), page_size).replace_value(at.slot, after.view());
  check(fits, "a replaced descriptor fits its leaf");
  entries.finish();
  leaf.release();
  copy.keep();
  PALIMPSEST_SYNC_POINT("btree.value_move.done");
  for (const buffer::PageRun& run : from.value.runs()) {
    space.free_when_durable(run, gsn);
  }
  return true;
}

}  // namespace

bool move_values_down(BTree& tree, const WriteContext& by, ValueMoves& walk) {
  if (by.log() == nullptr) {
    return false;
  }
  LargeValueStore& store = tree.large_values();
  Findings found;
  const bool has_more = look_at_leaves(tree, walk, found);
  const WriteContext outside = by.outside_bulk();
  for (const std::string& key : found.bulks_keys) {
    static_cast<void>(tree.resolve(outside, key));  // what counts has no virtual version any more
  }
  std::vector<Copy> copies;
  copies.reserve(found.values.size());
  for (NamedValue& each : found.values) {
    const std::uint32_t pages = each.value.block_count();
    if (const auto value = store.copy_before(walk.from, each.value)) {
      copies.emplace_back(store, std::move(each), *value);
    } else {
      walk.left += pages;
    }
  }
  PALIMPSEST_SYNC_POINT("btree.value_move.copied");
  if (!copies.empty()) {
    by.log()->log().need_pages();
  }
  for (Copy& copy : copies) {
    const std::uint32_t pages = copy.value().block_count();
    (exchange(tree, by, copy) ? walk.moved : walk.left) += pages;
  }
  return has_more;
}

}  // namespace palimpsest::btree
