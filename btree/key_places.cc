#include "btree/key_places.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/prefetch.h"
#include "btree/key_bytes.h"
#include "btree/leaf_node.h"
#include "btree/prefetch.h"
#include "buffer/known_frame.h"

namespace palimpsest::btree {
namespace {

constexpr std::size_t kPrefetchedValueBytes = 256;

/// The way from an inner node to a leaf, while the node has this version.
struct Edge {
  FrameIndex parent = kNoFrame;
  std::uint64_t version = 0;
  buffer::SwipRef child{};
  bool follows = false;  ///< none was looked for: the key before it most likely lies in that leaf
};

/// Whether two keys are neighbours, as the lines of an order are.
bool is_next(ByteView before, ByteView key) noexcept {
  const std::size_t all_but_one = key.size() - 1;
  return before.size() == key.size() && equal_bytes(before.data(), key.data(), all_but_one) &&
         static_cast<unsigned char>(before[all_but_one]) + 1 ==
             static_cast<unsigned char>(key[all_but_one]);
}

/// Of at most kKeysTogether keys.
class Search {
 public:
  Search(const Descent& descent, std::span<const ByteView> keys,
         std::span<KeyPlace> places) noexcept
      : descent_(descent), pool_(descent.pool()), keys_(keys), places_(places) {}

  void find_edges();
  void find_slots() const noexcept;
  /// Brings in what was not there.
  void load_absent() const;

 private:
  [[nodiscard]] Edge edge_to(ByteView key);
  void prefetch_leaf(buffer::Swip leaf) const noexcept;
  [[nodiscard]] KeyPlace place_below(const Edge& edge, ByteView key) const noexcept;
  [[nodiscard]] KeyPlace place_beside(const KeyPlace& other, ByteView key) const noexcept;
  [[nodiscard]] KeyPlace place_in(const buffer::OptimisticPage& leaf, ByteView key,
                                  bool may_lie_elsewhere) const noexcept;

  const Descent& descent_;
  buffer::BufferPool& pool_;
  std::span<const ByteView> keys_;
  std::span<KeyPlace> places_;
  std::array<Edge, kKeysTogether> edges_;
  std::array<Sought, kKeysTogether> absent_;
  std::size_t absent_count_ = 0;
};

// A parent that has just been brought in is left to load_absent(), with what is below it.
Edge Search::edge_to(ByteView key) {
  const auto edge = descent_.try_edge(key);
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
    if (i != 0 && is_next(keys_[i - 1], keys_[i])) {
      edges_[i] = {.follows = true};
      continue;
    }
    edges_[i] = edge_to(keys_[i]);
    if (edges_[i].parent != kNoFrame) [[likely]] {
      prefetch_leaf(edges_[i].child.swip);
    }
  }
}

void Search::find_slots() const noexcept {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    places_[i] = edges_[i].follows ? place_beside(places_[i - 1], keys_[i])
                                   : place_below(edges_[i], keys_[i]);
  }
}

void Search::prefetch_leaf(buffer::Swip leaf) const noexcept {
  const buffer::FrameTable& frames = pool_.frames();
  if (frames.contains(leaf.frame())) {
    prefetch_line(&frames[leaf.frame()]);
    buffer::prefetch_for_search(frames, leaf.frame());
  }
}

KeyPlace Search::place_below(const Edge& edge, ByteView key) const noexcept {
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
  prefetch_line(leaf->frame().attached.load(std::memory_order_relaxed));
  return place_in(*leaf, key, false);
}

KeyPlace Search::place_beside(const KeyPlace& other, ByteView key) const noexcept {
  if (!other.is_known()) {
    return {};
  }
  const auto leaf = pool_.remembered(other.frame, other.version);
  return leaf ? place_in(*leaf, key, true) : KeyPlace();
}

// Unknown if the leaf has changed, or, where that is a question, if the key is not one of it.
KeyPlace Search::place_in(const buffer::OptimisticPage& leaf, ByteView key,
                          bool may_lie_elsewhere) const noexcept {
  bool is_of_leaf = true;
  const auto at = leaf.read([&](const std::byte* page) {
    const LeafView view(page, descent_.page_size());
    is_of_leaf = !may_lie_elsewhere || view.covers(key);
    const SearchResult found = may_lie_elsewhere ? view.find(key) : view.find_within(key);
    const ByteView value = view.value(found.slot);
    const auto* const begin = reinterpret_cast<const std::byte*>(value.data());
    palimpsest::prefetch(begin, begin + std::min(value.size(), kPrefetchedValueBytes));
    return found;
  });
  if (!at || !is_of_leaf) {
    return {};
  }
  return {.frame = pool_.index_of(leaf.frame()), .version = leaf.version(), .at = *at};
}

void Search::load_absent() const {
  if (absent_count_ != 0 && descent_.root_level() != 0) [[unlikely]] {
    prefetch(std::span(absent_).first(absent_count_));
  }
}

}  // namespace

void find_places(const Descent& descent, std::span<const ByteView> keys,
                 std::span<KeyPlace> places) {
  PALIMPSEST_DEBUG_CHECK(keys.size() <= kKeysTogether && places.size() >= keys.size(),
                         "so many keys are looked for together");
  Search search(descent, keys, places);
  search.find_edges();
  search.find_slots();
  search.load_absent();
}

}  // namespace palimpsest::btree
