// Copies pages from a page file that is in use into a new one.
//
// A page may be written while it is read: then its checksum is wrong, and it is read again until it
// is whole, or does not change any more. In the latter case the page is damaged, or was never
// written, and is copied as it is. If it is in use, damaged() reports it, unless it is copied
// again.
//
// Reading some pages while others are written was tried: the device was no faster.
//
// Thread-safety: belongs to the thread that copies.
// Failure: Error io_error, no_space, naming the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "base/aligned_memory.h"
#include "base/bytes.h"
#include "buffer/page_file.h"
#include "buffer/page_run.h"
#include "buffer/space_map.h"

namespace palimpsest::engine {

class PageCopy {
 public:
  /// All arguments outlive this. `into` has the same page size, and grows as needed.
  PageCopy(buffer::PageFile& from, const buffer::SpaceMap& space, buffer::PageFile& into);

  /// Maximum pages of one copy().
  [[nodiscard]] std::uint32_t run_pages() const noexcept { return run_pages_; }

  /// Copies neighbouring pages.
  void copy(buffer::PageRun run);
  /// Reads pages, all at once, for write_kept(). Throws std::bad_alloc.
  void keep(std::span<const buffer::PageRun> runs);
  void write_kept();
  /// Grows the copy to at least this many pages.
  void grow_to(std::uint64_t page_count);

  /// Pages in use that were damaged, or under a long write, when they were last read.
  [[nodiscard]] const std::set<PageId>& damaged() const noexcept { return damaged_; }

 private:
  void read(std::span<const buffer::PageRun> runs, MutableBytes into);
  void keep_doubtful();
  void write(buffer::PageRun run, ConstBytes pages);
  [[nodiscard]] std::size_t bytes_of(buffer::PageRun run) const noexcept {
    return std::size_t{run.pages} * from_.page_size_bytes();
  }

  buffer::PageFile& from_;
  const buffer::SpaceMap& space_;
  buffer::PageFile& into_;
  const std::uint32_t run_pages_;
  AlignedMemory memory_;
  std::vector<buffer::PageRead> reads_;
  std::vector<buffer::PageRun> kept_;
  AlignedMemory kept_memory_;
  std::set<PageId> damaged_;
};

}  // namespace palimpsest::engine
