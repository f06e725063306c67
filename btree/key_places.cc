#include "btree/key_places.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/prefetch.h"
#include "btree/leaf_entries.h"
#include "btree/node/key_bytes.h"
#include "btree/node/leaf_node.h"
#include "btree/prefetch_leaves.h"
#include "buffer/known_frame.h"

namespace palimpsest::btree {
namespace {

/// Bytes of a value to prefetch. The processor prefetches by itself what is read on from there.
constexpr std::size_t kCopiedValueBytes = 256;
constexpr std::size_t kVisitedValueBytes = 1;

/// The edge from an inner node to a leaf, while the node has this version.
struct Edge {
  FrameIndex parent = kNoFrame;
  std::uint64_t version = 0;
  buffer::SwipRef child{};
  bool follows = false;  ///< not searched: the key most likely lies in the leaf of the key before
                         ///< it
};

/// Whether two keys are neighbours, as the lines of an order are.
bool is_next(ByteView before, ByteView key) noexcept {
  const std::size_t all_but_one = key.size() - 1;
  return before.size() == key.size() && equal_bytes(before.data(), key.data(), all_but_one) &&
         static_cast<unsigned char>(before[all_but_one]) + 1 ==
             static_cast<unsigned char>(key[all_but_one]);
}

/// Searches for at most kKeysTogether keys. Each step is taken for all of them, and prefetches what
/// the next one reads.
class Search {
 public:
  Search(const Descent& descent, std::span<const ByteView> keys, std::span<KeyPlace> places,
         Purpose purpose) noexcept
      : descent_(descent),
        pool_(descent.pool()),
        keys_(keys),
        places_(places),
        value_bytes_(purpose == Purpose::visit ? kVisitedValueBytes : kCopiedValueBytes),
        is_to_write_(purpose == Purpose::write) {}

  void guess_parents() noexcept;
  void find_edges();
  void find_leaves() noexcept;
  void find_likely_slots() const noexcept;
  void find_slots() const noexcept;
  /// A step from a leaf's mapping table to a record's versions, for writers.
  using TableStep = void (versioning::MappingTable::*)(std::uint32_t hash) const;
  void ask_tables(TableStep step) const noexcept;
  /// Loads what was not resident.
  void load_absent() const;

 private:
  /// Whether the key is found by way of the key before it.
  [[nodiscard]] bool follows(std::size_t key) const noexcept { return edges_[key].follows; }
  [[nodiscard]] Edge edge_to(ByteView key, const Shortcuts::Guess& guess);
  void prefetch_leaf(buffer::Swip leaf) const noexcept {
    const buffer::FrameTable& frames = pool_.frames();
    if (frames.contains(leaf.frame())) {
      const std::byte* const page = frames.page(leaf.frame());
      prefetch_line(&frames[leaf.frame()]);
      palimpsest::prefetch(page, page + kSlotsOffset);
    }
  }
  [[nodiscard]] KeyPlace leaf_below(const Edge& edge, ByteView key) noexcept;
  template <class Read>
  void read_leaf(KeyPlace& place, Read&& read) const noexcept;
  [[nodiscard]] buffer::SharedPage leaf_with_table(const KeyPlace& place) const noexcept;
  void find_slot_beside(const KeyPlace& other, ByteView key, KeyPlace& place) const noexcept;

  const Descent& descent_;
  buffer::BufferPool& pool_;
  std::span<const ByteView> keys_;
  std::span<KeyPlace> places_;
  std::array<Shortcuts::Guess, kKeysTogether> guesses_;
  std::array<Edge, kKeysTogether> edges_;
  std::array<std::uint32_t, kKeysTogether> hashes_;  ///< if has_tables_
  std::array<Sought, kKeysTogether> absent_;
  std::size_t absent_count_ = 0;
  const std::size_t value_bytes_;
  const bool is_to_write_;
  bool has_tables_ = false;  ///< of any leaf, and this is for a writer
};

void Search::guess_parents() noexcept {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    edges_[i].follows = i != 0 && is_next(keys_[i - 1], keys_[i]);
    if (!follows(i)) {
      guesses_[i] = descent_.guess(keys_[i]);
    }
  }
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (!follows(i)) {
      descent_.prefetch_edge(keys_[i], guesses_[i]);
    }
  }
}

// A parent that try_edge() had to load is left to load_absent(), with the leaf below it.
Edge Search::edge_to(ByteView key, const Shortcuts::Guess& guess) {
  const auto edge = descent_.try_edge(key, guess);
  if (!edge || !edge->child.swip.swizzled()) {
    absent_[absent_count_++] = {.tree = &descent_, .key = key};
    return {};
  }
  return {.parent = pool_.index_of(edge->parent.frame()),
          .version = edge->parent.version(),
          .child = edge->child};
}

void Search::find_edges() {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (follows(i)) {
      continue;
    }
    edges_[i] = edge_to(keys_[i], guesses_[i]);
    if (edges_[i].parent != kNoFrame) [[likely]] {
      prefetch_leaf(edges_[i].child.swip);
    }
  }
}

void Search::find_leaves() noexcept {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    places_[i] = follows(i) ? KeyPlace() : leaf_below(edges_[i], keys_[i]);
  }
  if (has_tables_) {
    std::ranges::transform(keys_, hashes_.begin(), versioning::Entry::hash_of);
  }
}

KeyPlace Search::leaf_below(const Edge& edge, ByteView key) noexcept {
  if (edge.parent == kNoFrame) {
    return {};
  }
  const auto parent = pool_.remembered(edge.parent, edge.version);
  if (!parent) {
    return {};
  }
  const auto leaf = pool_.follow_resident(*parent, edge.child);
  if (!leaf) {
    return {};
  }
  if (const auto* const table = leaf->frame().attached.load(std::memory_order_relaxed)) {
    static_cast<const versioning::MappingTable*>(table)->prefetch();
    has_tables_ = is_to_write_;
  }
  LeafView(leaf->page(), descent_.page_size()).prefetch_slots(key);
  return {.frame = pool_.index_of(leaf->frame()), .version = leaf->version()};
}

/// Sets the place to what read(leaf) returns; unknown if the leaf has changed.
template <class Read>
void Search::read_leaf(KeyPlace& place, Read&& read) const noexcept {
  if (!place.is_known()) {
    return;
  }
  if (const auto leaf = pool_.remembered(place.frame, place.version)) {
    const auto at = leaf->read(
        [&](const std::byte* page) { return read(LeafView(page, descent_.page_size())); });
    if (at) {
      place.at = *at;
      return;
    }
  }
  place = {};
}

void Search::find_likely_slots() const noexcept {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    read_leaf(places_[i], [&](const LeafView& leaf) {
      return SearchResult{.slot = leaf.likely_slot(keys_[i], value_bytes_)};
    });
  }
}

void Search::find_slots() const noexcept {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    KeyPlace& place = places_[i];
    if (follows(i)) {
      find_slot_beside(places_[i - 1], keys_[i], place);
    } else {
      read_leaf(place,
                [&](const LeafView& leaf) { return leaf.find_within(keys_[i], place.at.slot); });
    }
  }
}

// Mostly the next record. Unknown if the key does not belong to that leaf.
void Search::find_slot_beside(const KeyPlace& other, ByteView key, KeyPlace& place) const noexcept {
  bool is_of_leaf = false;
  place = other;
  read_leaf(place, [&](const LeafView& leaf) {
    const SearchResult next{.slot = other.at.slot + 1, .found = true};
    if (other.at.found && leaf.has_key_at(next.slot, key)) [[likely]] {
      is_of_leaf = true;
      return next;
    }
    is_of_leaf = leaf.covers(key);
    return leaf.find(key);
  });
  if (!is_of_leaf) {
    place = {};
  }
}

/// The leaf, if it has a table, is unchanged, and no thread holds it exclusively.
buffer::SharedPage Search::leaf_with_table(const KeyPlace& place) const noexcept {
  const buffer::Frame& frame = pool_.frames()[place.frame];
  if (frame.attached.load(std::memory_order_relaxed) == nullptr) {
    return {};
  }
  auto leaf = pool_.try_shared(place.frame, place.version);
  return leaf.holds() && table_of(leaf.frame()) != nullptr ? std::move(leaf) : buffer::SharedPage();
}

// Takes the shared latch, by trying, because tables may be replaced otherwise. Consecutive keys of
// one leaf share it.
void Search::ask_tables(TableStep step) const noexcept {
  if (!has_tables_) [[likely]] {
    return;
  }
  buffer::SharedPage leaf;
  const KeyPlace* held = nullptr;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const KeyPlace& place = places_[i];
    if (held == nullptr || !place.is_beside(*held)) {
      leaf.release();
      held = &place;
      leaf = place.is_known() ? leaf_with_table(place) : buffer::SharedPage();
    }
    if (leaf.holds()) {
      (table_of(leaf.frame())->*step)(hashes_[i]);
    }
  }
}

void Search::load_absent() const {
  if (absent_count_ != 0 && descent_.root_level() != 0) [[unlikely]] {
    prefetch_leaves(std::span(absent_).first(absent_count_));
  }
}

}  // namespace

void find_places(const Descent& descent, std::span<const ByteView> keys, std::span<KeyPlace> places,
                 Purpose purpose) {
  PALIMPSEST_DEBUG_CHECK(keys.size() <= kKeysTogether && places.size() >= keys.size(),
                         "no more keys are looked up together than there are places");
  Search search(descent, keys, places, purpose);
  search.guess_parents();
  search.find_edges();
  search.find_leaves();
  search.find_likely_slots();
  search.ask_tables(&versioning::MappingTable::prefetch_cell);
  search.find_slots();
  search.ask_tables(&versioning::MappingTable::prefetch_entry);
  search.ask_tables(&versioning::MappingTable::prefetch_version);
  search.load_absent();
}

}  // namespace palimpsest::btree
