#include "buffer/extent_places.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

namespace palimpsest::buffer {
namespace {

std::uint64_t total(std::span<const BitRange> runs) {
  return std::accumulate(runs.begin(), runs.end(), std::uint64_t{0},
                         [](std::uint64_t sum, BitRange run) { return sum + run.size(); });
}

/// The parts of a range that are not map pages.
std::vector<BitRange> between_map_pages(BitRange range, std::uint64_t stretch_pages) {
  std::vector<BitRange> pieces;
  for (std::uint64_t first = range.first; first < range.end;) {
    if (first % stretch_pages == 0) {
      ++first;
      continue;
    }
    const std::uint64_t end = std::min(range.end, (first / stretch_pages + 1) * stretch_pages);
    pieces.push_back({first, end});
    first = end;
  }
  return pieces;
}

}  // namespace

std::vector<BitRange> extent_places(std::uint64_t first, std::uint32_t pages,
                                    std::uint32_t max_runs, std::uint64_t stretch_pages) {
  const auto longer = [](const BitRange& a, const BitRange& b) {
    return a.size() != b.size() ? a.size() > b.size() : a.first < b.first;
  };
  std::vector<BitRange> pieces;
  // Tries longer and longer ranges, until the longest pieces between map pages are enough.
  for (BitRange wanted{first, first + pages};; wanted.end += pages) {
    pieces = between_map_pages(wanted, stretch_pages);
    std::sort(pieces.begin(), pieces.end(), longer);
    pieces.resize(std::min<std::size_t>(pieces.size(), max_runs));
    if (total(pieces) >= pages) {
      break;
    }
  }
  std::uint64_t missing = pages;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].end = pieces[i].first + std::min(pieces[i].size(), missing);
    missing -= pieces[i].size();
    if (missing == 0) {
      pieces.resize(i + 1);
    }
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const BitRange& a, const BitRange& b) { return a.first < b.first; });
  return pieces;
}

}  // namespace palimpsest::buffer
