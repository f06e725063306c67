// Copies pages from a page file that is in use into one that is being made.
//
// A page may be written while it is read: its checksum says so, and it is read again until it is
// whole, or does not change any more. Then it is damaged, or was never written, and is copied as it
// is; it is told if it is in use, unless it is copied again.
//
// Reading some while others are written was tried: the device was no faster.
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
  /// All outlive it. `into` has the same page size, and grows as it must.
  PageCopy(buffer::PageFile& from, const buffer::SpaceMap& space, buffer::PageFile& into);

  /// Most pages of one call.
  [[nodiscard]] std::uint32_t run_pages() const noexcept { return run_pages_; }

  /// Copies neighbouring pages.
  void copy(buffer::PageRun run);
  /// Reads pages, all at once, to write them later. Throws std::bad_alloc.
  void keep(std::span<const buffer::PageRun> runs);
  void write_kept();
  /// The copy has so many pages at least.
  void grow_to(std::uint64_t page_count);

  /// Pages in use that were damaged, or being written for long, when they were read last.
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
