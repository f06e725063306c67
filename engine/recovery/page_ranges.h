// The newest note on each page of a file, by ranges of pages: a map with one entry per range that
// was noted at once.
//
// Notes come in the order of the stream, in which records of different slots are not sorted; so the
// note with the highest GSN wins, whenever it comes. Memory is proportional to the ranges noted,
// and never to the number of notes: each entry has at least one page of its own.
// Thread-safety: reading by any number of threads; writing by one, alone.
// Failure: only bad_alloc.
#pragma once

#include <cstdint>
#include <map>

#include "palimpsest/function_ref.h"

#include "base/ids.h"
#include "buffer/space_map.h"

namespace palimpsest::engine {

/// Neighbouring pages with the same note.
struct PageRange {
  PageId begin{};
  PageId end{};  ///< behind the last one
  Gsn gsn{};     ///< of the note
  bool in_use = false;
};

class PageRanges {
 public:
  /// Notes the pages of the run, except those with a newer note.
  void note(const buffer::PageRun& run, Gsn gsn, bool in_use);

  /// The GSN of the page's note, 0 if there is none.
  [[nodiscard]] Gsn gsn_of(PageId page) const noexcept;

  /// Shows the ranges in ascending order.
  void visit(FunctionRef<void(const PageRange&)> show) const;
  /// Shows the parts of `range` without a note newer than range.gsn.
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
