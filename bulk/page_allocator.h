// Allocates pages for a bulk build: ascending ids in long runs, all returned if the build is
// abandoned.
//
// Why runs of its own and not SpaceMap::allocate(): pages are written in the order of their ids, in
// transfers as long as the runs. The allocator looks for whole runs, and grows the file rather than
// fill a fragmented file page by page; only if the file cannot grow does it accept shorter runs.
// Memory: 16 bytes for each run that is not adjacent to another one taken.
// Thread-safety: belongs to one thread; the space map is shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "buffer/space_map.h"

namespace palimpsest::bulk {

class PageAllocator {
 public:
  /// Takes `run_pages` pages at a time from `space`, which outlives this; about `pages` in all, by
  /// which the file grows at once if it must.
  PageAllocator(buffer::SpaceMap& space, std::uint32_t run_pages, std::uint32_t pages)
      : space_(space), run_pages_(run_pages), expected_(pages) {}
  PageAllocator(const PageAllocator&) = delete;
  PageAllocator& operator=(const PageAllocator&) = delete;
  ~PageAllocator() { give_back_all(); }

  /// The next page. May grow the file; throws no_space, io_error, failed.
  [[nodiscard]] PageId take();
  /// Reserves memory so that put_back() of this many pages allocates nothing. Throws
  /// std::bad_alloc.
  void expect_back(std::size_t pages) { not_needed_.reserve(not_needed_.size() + pages); }
  /// Returns a page from take() that is not needed.
  void put_back(PageId page) { not_needed_.push_back(page); }

  /// The caller owns the taken pages from now on; those put back, and those not handed out, are
  /// free.
  void keep() noexcept;
  /// Frees all pages; none of them is being written or read.
  void give_back_all() noexcept;

 private:
  static constexpr std::size_t kWorthJoining = 1024;  ///< runs

  void make_room();
  void note(buffer::PageRun run) noexcept;
  void join_neighbours();

  buffer::SpaceMap& space_;
  const std::uint32_t run_pages_;
  std::uint32_t expected_;  ///< approximate number of pages still to be taken from space_
  buffer::PageRun rest_;    ///< of the last run taken, not handed out
  std::vector<buffer::PageRun> taken_;  ///< all runs, the rest included
  std::vector<PageId> not_needed_;      ///< part of taken_
};

}  // namespace palimpsest::bulk
