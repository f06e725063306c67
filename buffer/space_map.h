// Which pages of the page file are in use: a bitmap in memory, kept on disk in map pages.
//
// The file behind the ring is divided into stretches of (page size - 64) * 8 pages; the first page
// of each is the map page whose bits tell which pages of the stretch are in use, its own bit
// included. Positions are fixed, so nothing has to be found. The whole bitmap is in memory (32
// bytes a MiB at 4 KiB pages). Rejected: a free list through the pages (every allocation would read
// a page, and nothing prefers low page ids, so the file could never shrink).
//
// Invariants: (1) the bits of page_bitmap.h hold: bit b is page first_page + b; bits of map pages
//                 and of pages beyond the end of the file are set in memory; on disk those beyond
//                 the end are 0.
//             (2) the file has grown before the new pages' bits are cleared, and bits are set
//                 before the file shrinks: whoever takes a clear bit has a page.
//             (3) a page is in use on disk only after flush and harden; what happened since the
//                 last flush is known to the log alone.
// Latching: structure_mutex_ is held for growth, extents, truncation and flush, across I/O; it
//           comes before the page writer's turn. allocate() takes it only where it finds no free
//           page by hint; free() never.
// Failure: Error no_space leaves everything as it was. Bytes from disk are validated: corruption.
//         On disk (a map page): page header (64 bytes, type space_map), then bits, least
//         significant bit of the lowest byte first.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "buffer/page_bitmap.h"
#include "buffer/page_file.h"
#include "buffer/page_writer.h"

namespace palimpsest::buffer {

/// Neighbouring pages.
struct PageRun {
  PageId first = kNoPage;
  std::uint32_t pages = 0;

  friend bool operator==(const PageRun&, const PageRun&) = default;
};

class SpaceMap {
 public:
  /// Loads and validates the map of `file`, which must outlive it. Throws io_error, corruption.
  explicit SpaceMap(PageFile& file);
  SpaceMap(const SpaceMap&) = delete;
  SpaceMap& operator=(const SpaceMap&) = delete;

  /// Takes a free page, growing the file if there is none; blocks on I/O then. `stripe`: any number
  /// that keeps concurrent callers apart (worker slot, thread index). Throws no_space, io_error,
  /// failed.
  [[nodiscard]] PageId allocate(std::uint32_t stripe);

  /// Gives back a page that was handed out. Never blocks, throws nothing. The caller has no write
  /// of it in flight. A page that was free already shows that the map on disk was wrong: the file
  /// enters its failed state.
  void free(PageId id) noexcept { free(PageRun{id, 1}); }
  void free(PageRun run) noexcept;

  /// Takes `pages` pages in at most `max_runs` runs; none crosses a map page. One run where the
  /// free pages or a growing file allow it. Throws no_space, io_error, failed, or invalid_argument
  /// if no file could hold that many pages in so few runs.
  [[nodiscard]] std::vector<PageRun> allocate_extent(std::uint32_t pages, std::uint32_t max_runs);

  [[nodiscard]] bool is_allocated(PageId id) const noexcept;
  [[nodiscard]] bool is_map_page(PageId id) const noexcept;

  /// Pages behind the ring: in use (map pages included) and free; counted by walking the map.
  struct Counts {
    std::uint64_t allocated = 0;
    std::uint64_t free = 0;
  };
  [[nodiscard]] Counts counts() const noexcept;

  /// Cuts free pages off the end of the file and returns how many. Safe against concurrent callers.
  /// Throws io_error, failed.
  std::uint64_t truncate_free_tail();

  /// Writes all map pages that changed. They are durable after writer.harden(). Waits for the turn.
  void flush(PageWriter& writer);

  /// Pages one map page covers, itself included.
  [[nodiscard]] std::uint64_t stretch_pages() const noexcept { return stretch_pages_; }

 private:
  void load();
  void load_stretch(std::uint64_t stretch, ConstBytes image);
  void make_map_page(std::uint64_t stretch, MutableBytes image) const noexcept;
  void flush_some(PageWriter& writer, std::span<const std::uint64_t> stretches);
  [[nodiscard]] BitRange grow(std::uint64_t bits_min);
  [[nodiscard]] std::vector<BitRange> extent_from_free(std::uint32_t pages, std::uint32_t max_runs);
  [[nodiscard]] std::vector<BitRange> extent_from_growth(std::uint32_t pages,
                                                         std::uint32_t max_runs);

  [[nodiscard]] std::uint64_t bit_count() const noexcept {
    return file_.page_count() - first_page_;
  }
  [[nodiscard]] std::uint64_t bit_of(PageId id) const noexcept { return raw(id) - first_page_; }
  [[nodiscard]] PageId page_of(std::uint64_t bit) const noexcept {
    return PageId{first_page_ + bit};
  }
  [[nodiscard]] BitRange bits_of(PageRun run) const noexcept {
    return {bit_of(run.first), bit_of(run.first) + run.pages};
  }
  [[nodiscard]] std::vector<BitRange> between_map_pages(BitRange range) const;

  PageFile& file_;
  const std::uint64_t first_page_;
  const std::uint64_t stretch_pages_;
  PageBitmap bits_;
  std::mutex structure_mutex_;
};

/// A map page's bits as text (runs of used pages), for debuggers and `check`.
[[nodiscard]] std::string print_space_map_page(ConstBytes page);

}  // namespace palimpsest::buffer
