// Runs of pages for extents (space_map.h): free ones, and new ones at the end of the file.
#include <algorithm>
#include <mutex>
#include <vector>

#include "buffer/extent_places.h"
#include "buffer/space_map.h"

namespace palimpsest::buffer {
namespace {

constexpr std::uint64_t kFirstFree = 1;  ///< behind the first map page
constexpr int kClaimAttempts = 4;        ///< free runs lost to others before the file grows

}  // namespace

/// Claims the runs that find() finds; empty if it finds none, or others were faster.
template <class Find>
std::vector<BitRange> SpaceMap::claim_found(Find find) {
  for (int attempt = 0; attempt < kClaimAttempts; ++attempt) {
    std::vector<BitRange> runs = find();  // not const: to be moved
    std::size_t claimed = 0;
    while (claimed < runs.size() && claims_.try_claim(runs[claimed])) {
      ++claimed;
    }
    if (claimed == runs.size()) {
      return runs;
    }
    for (std::size_t i = 0; i < claimed; ++i) {
      claims_.release(runs[i]);
    }
  }
  return {};
}

/// Takes free pages; empty if there are too few, or others were faster.
std::vector<BitRange> SpaceMap::extent_from_free(std::uint32_t pages, std::uint32_t max_runs) {
  return claim_found([&] { return claims_.find_clear_runs(pages, max_runs, extents_from_); });
}

void SpaceMap::allocate_from_beginning() noexcept {
  claims_.let_go_of_words();
  const std::lock_guard guard(structure_mutex_);
  extents_from_ = 0;
}

std::vector<PageRun> SpaceMap::claim_extent_before(PageId end, std::uint32_t pages,
                                                   std::uint32_t max_runs) {
  std::vector<PageRun> runs;
  runs.reserve(std::min(pages, max_runs));  // nothing fails once pages are taken
  const std::lock_guard guard(structure_mutex_);
  const std::uint64_t end_bit = std::min(bit_of(end), bit_count());
  for (const BitRange& range :
       claim_found([&] { return claims_.find_clear_runs_below(end_bit, pages, max_runs); })) {
    runs.push_back({page_of(range.first), static_cast<std::uint32_t>(range.size())});
  }
  return runs;
}

/// Takes pages at the end of the file, of which the last ones are new: one run, or as few as map
/// pages allow. What is free there already is taken as well: a run after the other would leave some
/// behind each time that the file grows.
std::vector<BitRange> SpaceMap::extent_from_growth(std::uint32_t pages, std::uint32_t max_runs,
                                                   std::uint32_t more) {
  const BitRange tail = claims_.claim_clear_tail(bit_count(), std::min(bit_count(), kFirstFree));
  std::vector<BitRange> pieces;
  std::uint64_t end = tail.end;
  try {
    pieces = extent_places(tail.first, pages, max_runs, stretch_pages_);
    const std::uint64_t end_min = pieces.back().end;
    if (end_min > end) {
      end = grow(end_min, end_min + more).end;
    }
  } catch (...) {
    claims_.release(tail);
    throw;
  }
  std::uint64_t from = tail.first;
  for (const BitRange& piece : pieces) {
    claims_.release({from, piece.first});
    from = piece.end;
  }
  claims_.release({from, end});
  return pieces;
}

}  // namespace palimpsest::buffer
