#include "engine/recovery/page_ranges.h"

#include <algorithm>
#include <iterator>

namespace palimpsest::engine {

void PageRanges::note(const buffer::PageRun& run, Gsn gsn, bool in_use) {
  std::uint64_t at = raw(run.first);
  const std::uint64_t end = at + run.pages;
  split_at(at);
  split_at(end);
  auto next = ranges_.lower_bound(at);
  while (at < end) {
    const std::uint64_t gap_end = next == ranges_.end() ? end : std::min(end, next->first);
    if (at < gap_end) {
      ranges_.emplace_hint(next, at, Note{gap_end, gsn, in_use});
      at = gap_end;
      continue;
    }
    if (next->second.gsn <= gsn) {
      next->second = {next->second.end, gsn, in_use};
    }
    at = next->second.end;
    ++next;
  }
}

// Splits the range that contains `page`, so that no range extends across it.
void PageRanges::split_at(std::uint64_t page) {
  auto behind = ranges_.upper_bound(page);
  if (behind == ranges_.begin()) {
    return;
  }
  auto& [begin, note] = *std::prev(behind);
  if (begin < page && page < note.end) {
    ranges_.emplace_hint(behind, page, note);
    note.end = page;
  }
}

Gsn PageRanges::gsn_of(PageId page) const noexcept {
  const auto behind = ranges_.upper_bound(raw(page));
  if (behind == ranges_.begin()) {
    return Gsn{0};
  }
  const Note& note = std::prev(behind)->second;
  return raw(page) < note.end ? note.gsn : Gsn{0};
}

void PageRanges::visit(FunctionRef<void(const PageRange&)> show) const {
  for (const auto& [begin, note] : ranges_) {
    show({PageId{begin}, PageId{note.end}, note.gsn, note.in_use});
  }
}

void PageRanges::visit_not_newer(const PageRange& range,
                                 FunctionRef<void(const PageRange&)> show) const {
  const std::uint64_t end = raw(range.end);
  std::uint64_t at = raw(range.begin);
  const auto show_until = [&](std::uint64_t stop) {
    if (at < stop) {
      show({PageId{at}, PageId{stop}, range.gsn, range.in_use});
    }
  };
  auto next = ranges_.upper_bound(at);
  if (next != ranges_.begin()) {
    --next;
  }
  for (; next != ranges_.end() && next->first < end; ++next) {
    const auto& [begin, note] = *next;
    if (note.end > at && note.gsn > range.gsn) {
      show_until(std::min(begin, end));
      at = std::max(at, note.end);
    }
  }
  show_until(end);
}

}  // namespace palimpsest::engine
