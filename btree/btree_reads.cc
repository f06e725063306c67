// Reading a tree (btree.h): single records, several together, large values.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sync_point.h"
#include "btree/btree.h"
#include "btree/key_places.h"
#include "btree/prefetch_leaves.h"
#include "btree/visible_record.h"

namespace palimpsest::btree {

using buffer::OptimisticPage;

namespace {

/// [optimistic] Whether a record with these flags may have versions that matter here. A mark
/// outlives its entry. If no table is attached now, none matters as long as the leaf is unchanged:
/// a record changes after its table was attached, and the table is dropped when no reader needs the
/// earlier state. Likewise, a leaf that is stable for the read view stays so while unchanged.
bool may_have_versions(const buffer::Frame& frame, std::uint16_t flags, const Look& look) noexcept {
  if ((flags & kVirtual) != 0) [[unlikely]] {
    return true;
  }
  return frame.attached.load(std::memory_order_relaxed) != nullptr &&
         (look.read_view == nullptr || !is_stable(frame, *look.read_view));
}

/// Finds the slot of a key in the leaf that covers it.
auto search_for(ByteView key) noexcept {
  return [key](const LeafView& leaf) { return leaf.find_within(key); };
}

/// Calls use(number of the key, that key and the later ones that were searched for with it).
template <class Use>
void for_each_place(const Descent& descent, std::span<const ByteView> keys, Purpose purpose,
                    Use&& use) {
  std::array<KeyPlace, kKeysTogether> places;
  for (std::size_t number = 0; number < keys.size(); ++number) {
    if (number % kKeysTogether == 0) {
      find_places(descent, keys.subspan(number, std::min(kKeysTogether, keys.size() - number)),
                  places, purpose);
    }
    const std::size_t at = number % kKeysTogether;
    const std::size_t left = std::min(kKeysTogether - at, keys.size() - number);
    use(number, KeysFound{.keys = keys.subspan(number, left),
                          .places = std::span<const KeyPlace>(places).subspan(at, left)});
  }
}

}  // namespace

// The first large value also prefetches those of the later keys.
void BTree::lookup_first(const KeysFound& keys, bool& has_looked_ahead,
                         FunctionRef<void(ByteView)> sink,
                         const versioning::ReadView* read_view) const {
  ValueBuffer value(page_size());
  const Found found = find_at(keys.places.front(), keys.keys.front(), value, read_view);
  if (!found.exists) {
    return;
  }
  if ((found.flags & kLargeValue) == 0) [[likely]] {
    sink(value.view());
    return;
  }
  if (!std::exchange(has_looked_ahead, true) && keys.places.size() > 1) {
    prefetch_large(keys, read_view);
  }
  if (std::string large; read_large(keys.keys.front(), value.view(), large, read_view)) {
    sink(large);
  }
}

void BTree::prefetch_large(const KeysFound& keys, const versioning::ReadView* read_view) const {
  std::vector<LargeValueDescriptor> values;
  ValueBuffer value(page_size());
  for (std::size_t i = 0; i < keys.places.size(); ++i) {
    const Found found = find_at(keys.places[i], keys.keys[i], value, read_view);
    if (found.exists && (found.flags & kLargeValue) != 0) {
      values.push_back(large_values_->decode(value.view()));
    }
  }
  large_values_->prefetch(values);
}

void BTree::lookup_many(std::span<const ByteView> keys,
                        FunctionRef<void(std::size_t, ByteView)> sink,
                        const versioning::ReadView* read_view) const {
  std::ranges::for_each(keys, [&](ByteView key) { check_key(key); });
  bool has_looked_ahead = false;
  for_each_place(descent_, keys, Purpose::read, [&](std::size_t number, const KeysFound& found) {
    has_looked_ahead = has_looked_ahead && number % kKeysTogether != 0;
    lookup_first(found, has_looked_ahead, [&](ByteView value) { sink(number, value); }, read_view);
  });
}

// The leaf is latched by trying, and only while its record is shown: a thread holds no latch while
// it waits for another, of another leaf or the same.
bool BTree::visit_at(const KeyPlace& place, [[maybe_unused]] ByteView key,
                     FunctionRef<void(ByteView)> show, const Look& look) const {
  if (!place.is_known()) [[unlikely]] {
    return false;
  }
  const buffer::SharedPage page = descent_.pool().try_shared(place.frame, place.version);
  if (!page.holds()) [[unlikely]] {
    return false;
  }
  if (!place.at.found) {
    return true;
  }
  const LeafView leaf(page.page(), page_size());
  const std::uint16_t flags = leaf.flags(place.at.slot);
  const bool may_differ =
      (flags & look.minded_flags) != 0 && may_have_versions(page.frame(), flags, look);
  if (may_differ || (flags & kLargeValue) != 0) [[unlikely]] {
    return false;
  }
  PALIMPSEST_DEBUG_CHECK(look.read_view == nullptr || (flags & kHasEntry) == 0 ||
                             !has_changed_since(page.frame(), key, *look.read_view),
                         "a read view sees the newest state of records that are stable for it");
  if ((flags & kGhost) == 0) [[likely]] {
    show(leaf.value(place.at.slot));
  }
  return true;
}

void BTree::visit_many(std::span<const ByteView> keys,
                       FunctionRef<void(std::size_t, ByteView)> show,
                       const versioning::ReadView* read_view) const {
  std::ranges::for_each(keys, [&](ByteView key) { check_key(key); });
  bool has_looked_ahead = false;
  for_each_place(descent_, keys, Purpose::visit, [&](std::size_t number, const KeysFound& found) {
    const auto show_one = [&](ByteView value) { show(number, value); };
    has_looked_ahead = has_looked_ahead && number % kKeysTogether != 0;
    if (!visit_at(found.places.front(), keys[number], show_one, read_view)) [[unlikely]] {
      lookup_first(found, has_looked_ahead, show_one, read_view);
    }
  });
}

// The version alone does not tell which tree the leaf belongs to.
Attempt<OptimisticPage> BTree::remembered(const LastLeaf& last) const {
  auto leaf = descent_.pool().remembered(last.frame(), last.version());
  if (leaf) {
    const auto is_ours = leaf->read(
        [&](const std::byte* page) { return LeafView(page, page_size()).tree_id() == id_; });
    if (!is_ours || !*is_ours) {
      return restart;
    }
  }
  return leaf;
}

Found BTree::find(ByteView key, ValueBuffer& value, LastLeaf* last, const Look& look) const {
  check_key(key);
  if (last != nullptr && last->covers(key)) {
    auto leaf = remembered(*last);
    if (leaf) {
      buffer::Frame& frame = leaf->frame();
      const auto found = find_in(*std::move(leaf), key, search_for(key), value, look);
      if (found) {
        frame.touch();
        last->count_hit();
        return *found;
      }
    }
  }
  for (;;) {
    auto leaf = descent_.try_node<OptimisticPage>(Target{key}, 0);
    if (!leaf || (last != nullptr && !remember(*leaf, *last))) {
      continue;
    }
    const auto found = find_in(*std::move(leaf), key, search_for(key), value, look);
    if (found) {
      return *found;
    }
  }
}

Found BTree::find_at(const KeyPlace& place, ByteView key, ValueBuffer& value,
                     const Look& look) const {
  if (place.is_known()) [[likely]] {
    auto leaf = descent_.pool().remembered(place.frame, place.version);
    if (leaf) [[likely]] {
      const auto found =
          find_in(*std::move(leaf), key, [&](const LeafView&) { return place.at; }, value, look);
      if (found) {
        return *found;
      }
    }
  }
  return find(key, value, nullptr, look);
}

// Returns the record as it lies there; if it may have versions, they are read under the latch.
template <class Search>
Attempt<Found> BTree::find_in(OptimisticPage leaf, ByteView key, const Search& search,
                              ValueBuffer& value, const Look& look) const {
  SlotIndex slot = 0;
  bool is_undecided = false;
  const auto found = leaf.read([&](const std::byte* page) {
    const LeafView view(page, page_size());
    const SearchResult at = search(view);
    if (!at.found) {
      return Found{};
    }
    const std::uint16_t flags = view.flags(at.slot);
    if ((flags & look.minded_flags) != 0 && may_have_versions(leaf.frame(), flags, look)) {
      slot = at.slot;
      if ((flags & kVirtual) == 0) [[likely]] {
        return Found{.has_versions = true};
      }
      const auto seen = visible_virtual(descent_, view, slot, look, value);
      is_undecided = !seen;
      return seen ? *seen : Found{};
    }
    if ((flags & kGhost) != 0) [[unlikely]] {
      return Found{};
    }
    value.assign_clamped(view.value(at.slot));
    return Found{.exists = true, .flags = flags};
  });
  if (is_undecided) [[unlikely]] {
    return restart;
  }
  if (!found || !found->has_versions || look.read_view == nullptr) {
    return found;
  }
  PALIMPSEST_SYNC_POINT("btree.read.latching");
  const auto latched = std::move(leaf).to_shared();
  if (!latched) {
    return restart;  // otherwise the leaf is still the one searched
  }
  const RecordImage seen = seen_record(
      descent_, LeafView(latched->page(), page_size()), slot,
      past_of(latched->frame(), LeafView(latched->page(), page_size()), slot, key, *look.read_view),
      look.read_view, value);
  return Found{.exists = seen.exists(), .flags = seen.flags()};
}

// False if the leaf has changed.
bool BTree::remember(const OptimisticPage& leaf, LastLeaf& last) const {
  KeyBuffer lower;
  KeyBuffer upper;
  const auto infinite = leaf.read([&](const std::byte* page) {
    const LeafView view(page, page_size());
    lower.assign_clamped(view.lower_fence(), ByteView(), key_bytes_max(page_size()));
    upper.assign_clamped(view.upper_fence(), ByteView(), key_bytes_max(page_size()));
    return view.upper_is_infinite();
  });
  if (infinite) {
    last.remember(descent_.pool().index_of(leaf.frame()), leaf.version(), lower.view(),
                  *infinite ? std::nullopt : std::optional(upper.view()));
  }
  return static_cast<bool>(infinite);
}

bool BTree::lookup(ByteView key, std::string& value, LastLeaf* last,
                   const versioning::ReadView* read_view) const {
  return lookup_with(key, [&](ByteView found) { value.assign(found); }, last, read_view);
}

// If the value is replaced during the read, the key is looked up again.
bool BTree::read_large(ByteView key, ByteView descriptor, std::string& value,
                       const versioning::ReadView* read_view) const {
  LargeValueDescriptor large = large_values_->decode(descriptor);
  const auto is_complete = [&] {
    ReadOutcome outcome{};
    read_extents([&] { outcome = large_values_->read_all(large, value); });
    return outcome == ReadOutcome::complete;
  };
  while (!is_complete()) {
    ValueBuffer now(page_size());
    const Found found = find(key, now, nullptr, read_view);
    if (!found.exists || (found.flags & kLargeValue) == 0) {
      return lookup(key, value, nullptr, read_view);  // the value is small by now, or gone
    }
    const LargeValueDescriptor current = large_values_->decode(now.view());
    if (current == large) {
      // Its pages were not freed: this throws what is corrupt, or passes.
      read_extents([&] { large_values_->verify(large); });
    }
    large = current;
  }
  return true;
}

/// Adds this tree's name to read errors.
void BTree::read_extents(FunctionRef<void()> read) const {
  try {
    read();
  } catch (const Error& error) {
    throw descent_.pool().named(error, id_);
  }
}

void BTree::prefetch(std::span<const ByteView> keys) const {
  std::vector<Sought> leaves;
  leaves.reserve(keys.size());
  for (const ByteView key : keys) {
    leaves.push_back({.tree = &descent_, .key = key});
  }
  btree::prefetch_leaves(leaves);
}

}  // namespace palimpsest::btree
