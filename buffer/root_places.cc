#include "buffer/root_places.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/thread_annotations.h"
#include "buffer/page_header.h"

namespace palimpsest::buffer {

namespace {

struct Place {
  std::uint64_t swip;
  TreeId tree;
  std::uint32_t reserved;
};
static_assert(sizeof(Place) == 16 && offsetof(Place, tree) == 8);
static_assert(sizeof(PageHeader) % alignof(Place) == 0);

constexpr std::uint32_t kFirstPlace = sizeof(PageHeader);

/// Everything else keeps one in so many frames at least.
constexpr std::uint32_t kShareLeft = 2;

std::uint32_t places_of(std::uint32_t page_size_bytes) noexcept {
  return (page_size_bytes - kFirstPlace) / static_cast<std::uint32_t>(sizeof(Place));
}

}  // namespace

TreeId RootPlace::tree_at(ConstBytes places, std::uint32_t offset) noexcept {
  const std::size_t at = std::min(std::size_t{offset}, places.size() - sizeof(Place));
  TreeId tree;
  std::memcpy(&tree, places.data() + at + offsetof(Place, tree), sizeof tree);
  return tree;
}

void RootPlacesKind::visit_swips(ConstBytes page, FunctionRef<void(std::uint32_t)> visit) const {
  const std::uint32_t count = places_of(static_cast<std::uint32_t>(page.size()));
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto offset = static_cast<std::uint32_t>(kFirstPlace + i * sizeof(Place));
    if (load_swip(page.data(), offset) != Swip::of_page(kNoPage)) {
      visit(offset);
    }
  }
}

std::optional<std::string> RootPlacesKind::validate_root(ConstBytes, TreeId) const {
  return "a page of root places is not a root";
}

std::optional<std::string> RootPlacesKind::validate(ConstBytes) const {
  return "a page of root places is never on disk";
}

std::optional<std::string> RootPlacesKind::validate_child(ConstBytes parent,
                                                          std::uint32_t swip_offset,
                                                          ConstBytes child) const {
  const TreeId tree = RootPlace::tree_at(parent, swip_offset);
  return kinds_.of(header_of(child).type)->validate_root(child, tree);
}

void RootPlacesKind::clean_image(MutableBytes) const noexcept {}

void RootPlacesKind::mark_attached(MutableBytes, const Attached&) const noexcept {}

std::uint64_t RootPlaces::most() const noexcept {
  return std::uint64_t{frames_.count() / kShareLeft} * places_of(frames_.page_size_bytes());
}

std::uint64_t RootPlaces::taken() const {
  const std::lock_guard lock(mutex_);
  return places_ - vacant_.size();
}

std::optional<RootPlace> RootPlaces::take(PageId root, TreeId tree) {
  RootPlace place;
  {
    const std::lock_guard lock(mutex_);
    if (vacant_.empty() && !add_page()) {
      return std::nullopt;
    }
    place.frame = vacant_.back().frame;
    place.offset = vacant_.back().offset;
    vacant_.pop_back();
  }
  place.places = frames_.page(place.frame);
  ExclusivePage places = latch(place);
  std::byte* const page = frames_.page(place.frame);
  std::memcpy(page + place.offset + offsetof(Place, tree), &tree, sizeof tree);
  store_swip(page, place.offset, Swip::of_page(root));
  places.release_unchanged();
  return place;
}

ExclusivePage RootPlaces::latch(const RootPlace& place) noexcept PALIMPSEST_NO_ANALYSIS {
  Frame& frame = frames_[place.frame];
  frame.latch.lock_exclusive();
  return ExclusivePage(frame, frames_.page(place.frame));
}

void RootPlaces::set([[maybe_unused]] const ExclusivePage& places, const RootPlace& place,
                     FrameIndex root) noexcept {
  PALIMPSEST_DEBUG_CHECK(places.holds(), "a place changes under its page's latch");
  store_swip(frames_.page(place.frame), place.offset, Swip::of_frame(root));
}

// Raises the version: a thread that has read the swip but not yet the root's version restarts.
void RootPlaces::give(ExclusivePage places, const RootPlace& place) noexcept {
  std::byte* const page = frames_.page(place.frame);
  store_swip(page, place.offset, Swip::of_page(kNoPage));
  std::memset(page + place.offset + sizeof(Swip), 0, sizeof(Place) - sizeof(Swip));
  places.release();
  const std::lock_guard lock(mutex_);
  vacant_.push_back({place.frame, place.offset});
}

// mutex_ held. Only threads that look for the frame's former page hold its latch, and they wait for
// nothing.
bool RootPlaces::add_page() PALIMPSEST_NO_ANALYSIS {
  const std::uint32_t count = places_of(frames_.page_size_bytes());
  vacant_.reserve(places_ + count);
  const auto taken = free_frames_.take();
  if (!taken) {
    return false;
  }
  Frame& frame = frames_[*taken];
  frame.latch.lock_exclusive();
  std::byte* const page = frames_.page(*taken);
  std::memset(page, 0, frames_.page_size_bytes());
  PageHeader header{};
  header.type = PageType::tree_roots;
  std::memcpy(page, &header, sizeof header);
  frame.page_id.store(kNoPage, std::memory_order_relaxed);
  frame.type.store(PageType::tree_roots, std::memory_order_relaxed);
  frame.parent.store(kNoFrame, std::memory_order_relaxed);
  frame.begin_use();
  frame.state.store(FrameState::resident, std::memory_order_release);
  frame.latch.unlock_exclusive();
  for (std::uint32_t i = count; i-- > 0;) {
    vacant_.push_back({*taken, static_cast<std::uint32_t>(kFirstPlace + i * sizeof(Place))});
  }
  places_ += count;
  return true;
}

}  // namespace palimpsest::buffer
