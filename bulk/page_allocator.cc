#include "bulk/page_allocator.h"

#include <algorithm>

#include "palimpsest/error.h"

namespace palimpsest::bulk {

using buffer::PageRun;

PageId PageAllocator::take() {
  for (std::uint32_t pages = run_pages_; rest_.pages == 0; pages /= 2) {
    try {
      make_room();
      const std::uint32_t more = expected_ - std::min(expected_, pages);
      const std::vector<PageRun> runs = space_.allocate_extent(pages, 1, more);
      expected_ = more;
      note(runs.front());
      rest_ = runs.front();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_space || pages == 1) {
        throw;
      }
    }
  }
  --rest_.pages;
  const PageId page = rest_.first;
  rest_.first = PageId{raw(page) + 1};
  return page;
}

// Reserves memory first, so that nothing fails once pages are taken.
void PageAllocator::make_room() {
  if (taken_.size() < taken_.capacity()) {
    return;
  }
  if (taken_.size() >= kWorthJoining) {
    join_neighbours();
  }
  taken_.reserve(std::max<std::size_t>(16, 2 * taken_.size()));
}

void PageAllocator::note(PageRun run) noexcept {
  if (!taken_.empty() && raw(taken_.back().first) + taken_.back().pages == raw(run.first)) {
    taken_.back().pages += run.pages;
    return;
  }
  taken_.push_back(run);
}

// Adjacent runs may be joined: a map page lies between any two that may not.
void PageAllocator::join_neighbours() {
  std::ranges::sort(taken_, {}, [](const PageRun& run) { return raw(run.first); });
  std::size_t kept = 0;
  for (const PageRun& run : taken_) {
    if (kept > 0 && raw(taken_[kept - 1].first) + taken_[kept - 1].pages == raw(run.first)) {
      taken_[kept - 1].pages += run.pages;
    } else {
      taken_[kept++] = run;
    }
  }
  taken_.resize(kept);
}

void PageAllocator::keep() noexcept {
  if (rest_.pages != 0) {
    space_.free(rest_);
    rest_ = {};
  }
  for (const PageId page : not_needed_) {
    space_.free(page);
  }
  not_needed_.clear();
  taken_.clear();
}

void PageAllocator::give_back_all() noexcept {
  for (const PageRun& run : taken_) {
    space_.free(run);
  }
  taken_.clear();
  not_needed_.clear();
  rest_ = {};
}

}  // namespace palimpsest::bulk
