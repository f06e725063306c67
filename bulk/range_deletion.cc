#include "bulk/range_deletion.h"

#include <vector>

#include "base/check.h"
#include "base/sync_point.h"
#include "btree/leaf_entries.h"
#include "btree/log/tree_record_encode.h"
#include "btree/log_change.h"
#include "btree/node/bulk_erase.h"
#include "btree/virtual_version_resolver.h"

namespace palimpsest::bulk {

using btree::Descent;
using btree::KeyBuffer;
using btree::KeyRange;
using btree::LeafEntries;
using btree::log_system_change;
using btree::SlotIndex;
using btree::SlotRun;
using btree::WriteContext;
using buffer::ExclusivePage;
using versioning::kNoWriter;

namespace {

/// As many leaves as one call visits: all are brought into memory first.
constexpr std::size_t kLeavesAtATime = 64;

void read_ahead(const Descent& descent, const KeyRange& range) {
  btree::LeafWalk walk(descent, range, btree::Direction::forward);
  for (std::size_t count = 0; count < kLeavesAtATime && walk.next(); ++count) {
  }
}

/// Returns the leaf latched and prepared, without virtual versions of other bulks that could be
/// resolved.
ExclusivePage leaf_to_write(const Descent& descent, const WriteContext& by, ByteView key) {
  const btree::VirtualVersionResolver resolver(descent);
  for (;;) {
    by.prepare_structure_change(descent.page_size());
    ExclusivePage leaf = descent.leaf<ExclusivePage>(btree::Target{key});
    if (!resolver.is_in_the_way(by, leaf, key)) {
      return leaf;
    }
    resolver.resolve_for(by, std::move(leaf), key);
  }
}

/// One visit of a leaf.
class LeafDeletion {
 public:
  LeafDeletion(const WriteContext& by, ExclusivePage leaf, std::uint32_t page_size) noexcept
      : by_(by),
        leaf_(std::move(leaf)),
        view_(leaf_.page(), page_size),
        entries_(leaf_, page_size),
        page_size_(page_size) {}

  [[nodiscard]] std::optional<RangeStop> run(const KeyRange& range, std::uint64_t& deleted) {
    const bool ends_here = range.upper && view_.covers(*range.upper);
    const SlotIndex end = ends_here ? view_.find(*range.upper).slot : view_.count();
    const SlotIndex stop = find_runs(view_.find(range.lower).slot, end);
    std::optional<RangeStop> next = stop_at(stop, end, range);
    if (runs_.empty()) {
      entries_.release_unwritten();
      return next;
    }
    erase_gathered();
    deleted += found_;
    return next;
  }

 private:
  /// Gathers runs of deletable records. Returns the first slot that must be deleted individually,
  /// or `end`.
  [[nodiscard]] SlotIndex find_runs(SlotIndex first, SlotIndex end) {
    for (SlotIndex slot = first; slot < end; ++slot) {
      if (view_.is_ghost(slot)) {
        continue;
      }
      if (view_.bulk_epoch() != by_.bulk_epoch() || !btree::can_be_bulk_erased(view_, slot) ||
          has_conflicting_writer(slot)) {
        return slot;
      }
      const bool follows = !runs_.empty() && runs_.back().first + runs_.back().count == slot;
      if (follows) {
        ++runs_.back().count;
      } else {
        runs_.push_back({.first = static_cast<std::uint16_t>(slot), .count = 1});
      }
      ++found_;
    }
    return end;
  }

  /// Whether the record is claimed by a transaction whose changes could not be undone.
  [[nodiscard]] bool has_conflicting_writer(SlotIndex slot) const {
    if ((view_.flags(slot) & btree::kHasEntry) == 0) [[likely]] {
      return false;
    }
    KeyBuffer key;
    view_.copy_key(slot, key);
    const versioning::Entry* const entry = entries_.find({.slot = slot, .found = true}, key.view());
    return LeafEntries::conflicting_writer(entry, by_.writer()->id()) != kNoWriter;
  }

  [[nodiscard]] std::optional<RangeStop> stop_at(SlotIndex stop, SlotIndex end,
                                                 const KeyRange& range) const {
    if (stop < end) {
      KeyBuffer key;
      view_.copy_key(stop, key);
      return RangeStop{.key = std::string(key.view()), .needs_removal = true};
    }
    if (view_.upper_is_infinite() || (range.upper && *range.upper <= view_.upper_fence())) {
      return std::nullopt;
    }
    return RangeStop{.key = std::string(view_.upper_fence())};
  }

  // Nothing fails here.
  void erase_gathered() noexcept {
    by_.note_removal();
    std::byte* const page = leaf_.modify();
    if (by_.log() != nullptr) {
      const Gsn gsn = log_system_change(by_, btree::gsn_of(page),
                                        btree::LoggedBulkErase{.leaf = view_, .runs = runs_});
      by_.log()->cover(gsn);
      btree::set_gsn(leaf_, gsn);
    }
    for (const SlotRun& run : runs_) {
      for (SlotIndex slot = run.first; slot < SlotIndex{run.first} + run.count; ++slot) {
        btree::bulk_erase_record({page, page_size_}, slot);
      }
    }
    PALIMPSEST_SYNC_POINT("btree.range.erased");
    entries_.finish();
  }

  const WriteContext& by_;
  ExclusivePage leaf_;
  btree::LeafView view_;
  LeafEntries entries_;
  std::uint32_t page_size_;
  std::vector<SlotRun> runs_;
  std::uint64_t found_ = 0;
};

}  // namespace

std::optional<RangeStop> delete_in_some_leaves(const btree::BTree& tree, const WriteContext& by,
                                               const KeyRange& range, std::uint64_t& deleted) {
  check(by.is_bulk(), "only a bulk deletes records leaf by leaf, as virtual versions");
  if (range.upper && *range.upper <= range.lower) {
    return std::nullopt;
  }
  const Descent& descent = tree.descent();
  read_ahead(descent, range);
  RangeStop at{.key = range.lower.empty() ? std::string(1, '\0') : std::string(range.lower)};
  for (std::size_t leaves = 0; leaves < kLeavesAtATime; ++leaves) {
    auto next = LeafDeletion(by, leaf_to_write(descent, by, at.key), descent.page_size())
                    .run({.lower = at.key, .upper = range.upper}, deleted);
    if (!next || next->needs_removal) {
      return next;
    }
    at = *std::move(next);
  }
  return at;
}

}  // namespace palimpsest::bulk
