// New pages for a bulk build: ascending ids in long runs, all given back if the build comes to
// nothing.
//
// Why runs of its own and not SpaceMap::allocate(): pages are written in the order of their ids, in
// transfers as long as the runs. A run is looked for whole, and the file grows rather than that a
// fragmented file is filled page by page; only when it cannot grow, shorter runs will do.
// Memory: 16 bytes for each run that is not adjacent to another one taken.
// Thread-safety: belongs to one thread; the space map is shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "buffer/space_map.h"

namespace palimpsest::btree {

class PageAllocator {
 public:
  /// Takes `run_pages` pages at a time from `space`, which outlives it; about `pages` in all, by
  /// which the file grows at once if it must.
  PageAllocator(buffer::SpaceMap& space, std::uint32_t run_pages, std::uint32_t pages)
      : space_(space), run_pages_(run_pages), expected_(pages) {}
  PageAllocator(const PageAllocator&) = delete;
  PageAllocator& operator=(const PageAllocator&) = delete;
  ~PageAllocator() { give_back_all(); }

  /// The next page. May grow the file; throws no_space, io_error, failed.
  [[nodiscard]] PageId take();
  /// Makes sure that put_back() of so many pages allocates nothing. Throws std::bad_alloc.
  void expect_back(std::size_t pages) { not_needed_.reserve(not_needed_.size() + pages); }
  /// A page taken that is not needed.
  void put_back(PageId page) { not_needed_.push_back(page); }

  /// What was taken belongs to somebody else from now on; what was not needed is free.
  void keep() noexcept;
  /// Everything is free again; nobody writes or reads it.
  void give_back_all() noexcept;

 private:
  static constexpr std::size_t kWorthJoining = 1024;  ///< runs

  void make_room();
  void note(buffer::PageRun run) noexcept;
  void join_neighbours();

  buffer::SpaceMap& space_;
  const std::uint32_t run_pages_;
  std::uint32_t expected_;              ///< that will still be taken from space_, about
  buffer::PageRun rest_;                ///< of the run taken last, not handed out
  std::vector<buffer::PageRun> taken_;  ///< everything, the rest included
  std::vector<PageId> not_needed_;      ///< part of taken_
};

}  // namespace palimpsest::btree
