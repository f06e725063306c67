// Which pages of the page file are in use: a bitmap in memory, kept on disk in map pages.
//
// The file behind the ring is divided into stretches of (page size - 64) * 8 pages; the first page
// of each is the map page whose bits tell which pages of the stretch are in use, its own bit
// included. Positions are fixed, so nothing has to be found. The whole bitmap is in memory (32
// bytes a MiB at 4 KiB pages). Rejected: a free list through the pages (every allocation would read
// a page, and nothing prefers low page ids, so the file could never shrink).
//
// In memory a stretch has a word per 64 pages and a summary bit per word: "may have a free page,
// and no stripe holds it". A stripe takes pages from the word it holds; when that is full it takes
// over another by clearing its summary bit, lowest word first. Stripes thus meet neither on pages
// nor on cache lines, and one stripe gets neighbouring pages. Invariants: (1) a page is handed out
// by the one thread that changed its bit from 0 to 1.
//             (2) a word with a free page has its summary bit set, or a stripe holds it (or has
//             just
//                 given it up as full: free() sets the summary bit after clearing the page's bit,
//                 and a stripe clears the summary bit before it looks at the word). Hints lose
//                 nothing: before the file grows, every word is searched.
//             (3) bits of map pages and of pages beyond the end of the file are 1 in memory, so
//                 nobody needs to know where the file ends; on disk those beyond the end are 0.
//             (4) a change of a stretch sets its dirty flag after the bit; flush clears the flag
//                 before it copies the bits: what a flush misses, the next one writes.
// Latching: structure_mutex_ is held for growth, extents, truncation and flush, across I/O; it
// comes
//           before the page writer's turn. allocate() and free() take it only to grow the file.
// Failure: Error no_space leaves everything as it was. Bytes from disk are validated: corruption.
// On disk (a map page): page header (64 bytes, type space_map), then bits, least significant bit of
//         the lowest byte first.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
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
  static constexpr std::uint32_t kStripes = 64;

  /// Loads and validates the map of `file`, which must outlive it. Throws io_error, corruption.
  explicit SpaceMap(PageFile& file);
  ~SpaceMap();
  SpaceMap(const SpaceMap&) = delete;
  SpaceMap& operator=(const SpaceMap&) = delete;

  /// Takes a free page, growing the file if there is none; blocks on I/O then. `stripe`: any number
  /// that keeps concurrent callers apart (worker slot, thread index). Throws no_space, io_error,
  /// failed.
  [[nodiscard]] PageId allocate(std::uint32_t stripe);

  /// Gives back a page that was handed out. Never blocks, throws nothing. The caller has no write
  /// of it in flight.
  void free(PageId id) noexcept;
  void free(PageRun run) noexcept;

  /// Takes `pages` pages in at most `max_runs` runs, as few as possible; none crosses a map page.
  /// Throws no_space, or invalid_argument if no file could hold that many in so few runs.
  [[nodiscard]] std::vector<PageRun> allocate_extent(std::uint32_t pages, std::uint32_t max_runs);

  [[nodiscard]] bool is_allocated(PageId id) const noexcept;
  [[nodiscard]] bool is_map_page(PageId id) const noexcept;
  /// Pages in use, map pages included, and free ones; counted by walking the map.
  struct Counts {
    std::uint64_t allocated = 0;
    std::uint64_t free = 0;
  };
  [[nodiscard]] Counts counts() const noexcept;

  /// Cuts free pages off the end of the file and returns how many. Safe against concurrent callers.
  std::uint64_t truncate_free_tail();

  /// Writes all map pages that changed. They are durable after writer.harden(). Waits for the turn.
  void flush(PageWriter& writer);

  /// Pages one map page covers, itself included.
  [[nodiscard]] std::uint64_t stretch_pages() const noexcept { return stretch_pages_; }

 private:
  struct Stretch;
  using Word = std::atomic<std::uint64_t>;
  struct alignas(64) Stripe {
    std::atomic<std::uint64_t> word{0};  ///< index of the word it holds, plus 1; 0 none
  };
  struct Claim;  ///< a page range whose bits we set

  [[nodiscard]] Stretch* stretch_of_word(std::uint64_t word) const noexcept;
  [[nodiscard]] Stretch* stretch_at(std::uint64_t index) const noexcept;
  [[nodiscard]] std::uint64_t stretches() const noexcept;
  void add_stretch(std::uint64_t index);
  void load();
  void load_stretch(std::uint64_t index, ConstBytes image, bool never_written);

  [[nodiscard]] PageId try_take(std::uint64_t word) noexcept;
  [[nodiscard]] PageId take_from_new_word(Stripe& stripe) noexcept;
  [[nodiscard]] PageId take_anywhere() noexcept;
  void release_bits(std::uint64_t word, std::uint64_t bits) noexcept;
  [[nodiscard]] PageRun grow(std::uint64_t pages_min);  // structure_mutex_ held
  [[nodiscard]] std::vector<PageRun> find_runs(std::uint32_t pages, std::uint32_t max_runs) const;
  [[nodiscard]] bool try_claim(const PageRun& run) noexcept;

  PageFile& file_;
  const std::uint64_t first_page_;
  const std::uint64_t stretch_pages_;
  const std::uint64_t stretch_words_;

  std::mutex structure_mutex_;
  /// Segment k holds 2^k stretches, so that none ever moves; slots are set under structure_mutex_.
  static constexpr std::uint32_t kSegments = 40;
  std::array<std::atomic<std::atomic<Stretch*>*>, kSegments> segments_{};
  std::atomic<std::uint64_t> stretch_count_{0};
  /// No word below it is likely to have its summary bit set; a hint.
  alignas(64) std::atomic<std::uint64_t> search_from_{0};
  std::array<Stripe, kStripes> stripes_{};
};

/// A map page's bits as text (runs of used pages), for debuggers and `check`.
[[nodiscard]] std::string print_space_map_page(ConstBytes page);

}  // namespace palimpsest::buffer
