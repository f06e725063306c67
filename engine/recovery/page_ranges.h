// What was last noted of each page of a file, by ranges of pages: a map with one entry for each
// range that was noted at once.
//
// Notes come in the order of the stream, in which records of different slots are not sorted; so the
// one with the highest GSN wins, whenever it comes. Memory is proportional to the ranges noted, and
// never to the number of notes: each entry holds at least one page of its own.
// Thread-safety: reading by any number of threads; writing by one, alone.
// Failure: none but bad_alloc.
#pragma once

#include <cstdint>
#include <map>

#include "palimpsest/function_ref.h"

#include "base/ids.h"
#include "buffer/space_map.h"

namespace palimpsest::engine {

/// Neighbouring pages of which the same was noted.
struct PageRange {
  PageId begin{};
  PageId end{};  ///< behind the last one
  Gsn gsn{};     ///< of the note
  bool in_use = false;
};

class PageRanges {
 public:
  /// Notes the pages of the run, but for those of which something newer was noted.
  void note(const buffer::PageRun& run, Gsn gsn, bool in_use);

  /// The GSN of what was noted of the page, 0 if nothing was.
  [[nodiscard]] Gsn gsn_of(PageId page) const noexcept;

  /// Shows the ranges in ascending order.
  void visit(FunctionRef<void(const PageRange&)> show) const;
  /// Shows the parts of `range` of which nothing newer than range.gsn was noted here.
  void visit_not_newer(const PageRange& range, FunctionRef<void(const PageRange&)> show) const;

  [[nodiscard]] std::size_t range_count() const noexcept { return ranges_.size(); }

 private:
  struct Note {
    std::uint64_t end = 0;
    Gsn gsn{};
    bool in_use = false;
  };
  using Ranges = std::map<std::uint64_t, Note>;  ///< by first page; they do not overlap

  void split_at(std::uint64_t page);

  Ranges ranges_;
};

}  // namespace palimpsest::engine
