// Which pages of the page file are in use: a bitmap in memory, kept on disk in map pages.
//
// The file behind the ring is divided into stretches of (page size - 64) * 8 pages. The first page
// of each is the map page; its bits tell which pages of the stretch are in use, its own bit
// included. Positions are fixed, so nothing has to be found. The whole bitmap is in memory (32
// bytes a MiB at 4 KiB pages, twice that with a log). Rejected: a free list through the pages
// (every allocation would read a page, and nothing prefers low page ids, so the file could never
// shrink).
//
// With a log (log_with) there are two bitmaps. The *claims* say which pages must not be taken:
// pages in use, set aside, or freed by a record that is not durable. The *logged* bits say what the
// log says, and they alone are written: a thread that appends a record that takes or frees pages
// does so inside a Change and repeats there what the record says.
//
// Invariants: (1) the bits of page_bitmap.h hold: bit b is page first_page + b; bits of map pages
//                 and of pages beyond the end of the file are claimed in memory; on disk those
//                 beyond the end are 0.
//             (2) the file has grown before the new pages' bits are cleared, and bits are set
//                 before the file shrinks: a thread that takes a clear bit has a page.
//             (3) a page is in use on disk only after flush and harden; changes since the last
//                 flush are known to the log alone. Growth is not logged: recover().
//             (4) an image contains all that a record says of its stretch or nothing of it, and its
//                 GSN is at least that of each record in it: a Change joins record and bits, a copy
//                 waits for Changes and keeps them out, and the GSN is raised with the bits. So I-2
//                 makes everything that an image says durable before it is written.
//             (5) after flush and harden the images on disk contain every record that was appended
//                 before flush() was called: it waits for the Changes under way before it looks for
//                 stretches that changed. Hence a checkpoint that flushes after it has chosen its
//                 start finds in the images what replay does not see.
//             (6) a page is claimed while a logged bit says that it is in use, and until the record
//                 that freed it is durable. So when a crash brings a freed page back, its old bytes
//                 are still in it.
// Recovery. For each page of the file, the last record (by GSN) that the replayed log has of it
// decides; without one, the image does (4, 5). Images of stretches that the log names are written
// again, whatever they say: they may be visible and not durable (I-14). The newest record has the
// highest GSN: a page is taken again only once the durable GSN g covers its freeing record. Then
// every slot's GSN is at least g or, during an append, above it already, and every new slot merges
// the clock, which g never passes (base/worker_slots.h). So the record that takes the page has a
// higher GSN, whatever its owner has merged.
//
// Latching: structure_mutex_ is held for growth, extents, truncation and flush, across I/O; it
//           comes before the page writer's mutex. allocate() takes it only where it finds no free
//           page by hint; free() never. A Change is the shared mode of a latch whose exclusive mode
//           flush takes to copy an image: taken last, under page latches; its holder may append to
//           the log and waits for nothing. allocate() and allocate_extent() may wait for the log.
// Failure: Error no_space leaves everything as it was. Bytes from disk are validated: corruption.
// On disk: space_map_page.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/hybrid_latch.h"
#include "base/ids.h"
#include "buffer/page_bitmap.h"
#include "buffer/page_file.h"
#include "buffer/page_run.h"
#include "buffer/page_writer.h"
#include "wal/log.h"

namespace palimpsest::buffer {

/// The last thing the log says of these pages, for recover().
struct RecoveredRun {
  PageRun run;
  bool in_use = false;
};

class SpaceMap {
 public:
  class Change;

  /// Loads and validates the map of `file`, which must outlive it. Throws io_error, corruption.
  explicit SpaceMap(PageFile& file);
  SpaceMap(const SpaceMap&) = delete;
  SpaceMap& operator=(const SpaceMap&) = delete;
  ~SpaceMap();

  // With a log

  /// After loading, before log_with(): sets the claims to what the replayed log says, which
  /// overrides the images. Grows the file first if pages in use lie beyond its end. No two runs
  /// share a page. Throws corruption, with nothing changed, if a run cannot be one of this file;
  /// no_space, io_error, failed.
  void recover(std::span<const RecoveredRun> runs);
  /// The highest GSN of any map page; the clock is raised above it before the log is begun.
  [[nodiscard]] Gsn newest_gsn() const noexcept;
  /// From now on what Changes say is written; the logged bits start as the claims. Called once,
  /// before pages are taken or freed; the log outlives the map. Throws std::bad_alloc.
  void log_with(wal::Log& log);
  /// Begins a Change, around one append of a record that takes or frees pages. Waits for no longer
  /// than copying a page takes. Does nothing without a log.
  [[nodiscard]] Change change() noexcept;

  /// Frees pages by the record with this GSN, which was appended with Change::give(): they may be
  /// handed out once it is durable; at once with GSN 0 or without a log. Never blocks on I/O,
  /// throws nothing; called as free(). Without memory for the entry, the pages stay claimed, in
  /// memory only, until the file is opened again.
  void free_when_durable(PageRun run, Gsn gsn) noexcept;
  /// Lets pages be handed out once their freeing records are durable; allocation does so before the
  /// file grows.
  void complete_frees() noexcept;
  /// Whether the log says that the page is in use, which is what a flush would write. As
  /// is_allocated() without a log.
  [[nodiscard]] bool is_logged(PageId id) const noexcept;

  // Claims

  /// Takes a free page, growing the file if there is none; blocks on I/O then. `stripe`: any number
  /// that keeps concurrent callers apart (worker slot, thread index). Before it throws no_space it
  /// waits until all freed pages may be handed out. The caller holds no latch. Throws no_space,
  /// io_error, failed.
  [[nodiscard]] PageId allocate(std::uint32_t stripe);

  /// Takes the lowest free page from `begin` on (kNoPage: of the file), if it lies before `end`.
  /// Never grows the file.
  [[nodiscard]] std::optional<PageId> claim_between(PageId begin, PageId end) noexcept;
  /// From now on allocate() and allocate_extent() take pages from the file's beginning again,
  /// wherever their callers took theirs before.
  void allocate_from_beginning() noexcept;
  /// Free pages before `end`, as allocate_extent() takes them, the first of a run; none if there
  /// are too few. Never grows the file. Throws std::bad_alloc.
  [[nodiscard]] std::vector<PageRun> claim_extent_before(PageId end, std::uint32_t pages,
                                                         std::uint32_t max_runs);

  /// Frees a page that was handed out and that no record has named. Never blocks, throws nothing.
  /// The caller has no write of it in flight. If the page was free already, the map on disk was
  /// wrong: the file enters its failed state.
  void free(PageId id) noexcept { free(PageRun{id, 1}); }
  void free(PageRun run) noexcept;

  /// Takes `pages` pages in at most `max_runs` runs; none crosses a map page. One run where the
  /// free pages or a growing file allow it. Waits as allocate(). If the file grows, it grows by
  /// `more` free pages beyond that, if it can. Throws no_space, io_error, failed, or
  /// invalid_argument if no file could hold that many pages in so few runs.
  [[nodiscard]] std::vector<PageRun> allocate_extent(std::uint32_t pages, std::uint32_t max_runs,
                                                     std::uint32_t more = 0);

  [[nodiscard]] bool is_allocated(PageId id) const noexcept;
  [[nodiscard]] bool is_map_page(PageId id) const noexcept;

  /// Pages behind the ring: in use (map pages included) and free; counted by walking the map.
  struct Counts {
    std::uint64_t allocated = 0;
    std::uint64_t free = 0;
  };
  [[nodiscard]] Counts counts() const noexcept;

  /// Cuts the free pages off the end of the file, if there are at least `pages_min`, and returns
  /// how many it cut. Safe against concurrent callers. Throws io_error, failed.
  std::uint64_t truncate_free_tail(std::uint64_t pages_min = 1);
  /// How many pages at the end of the file are free; stale at once.
  [[nodiscard]] std::uint64_t free_tail_pages() const noexcept;
  /// By how many pages the file grows next: its size doubles up to a MiB, then grows by a MiB or a
  /// sixteenth.
  [[nodiscard]] std::uint64_t growth_pages() const noexcept;

  /// Writes all map pages that changed before the call (5). They are durable after writer.harden().
  /// Waits for the page writer's mutex.
  void flush(PageWriter& writer);

  /// Pages one map page covers, itself included.
  [[nodiscard]] std::uint64_t stretch_pages() const noexcept { return stretch_pages_; }

 private:
  struct Logged;

  void load();
  void load_stretch(std::uint64_t stretch, ConstBytes image);
  void judge(const RecoveredRun& recovered) const;
  void make_map_page(std::uint64_t stretch, MutableBytes image) const noexcept;
  void flush_some(PageWriter& writer, std::span<const std::uint64_t> stretches);
  template <class Take>
  auto take_or_wait(Take take);
  [[nodiscard]] bool await_frees();
  [[nodiscard]] PageId allocate_growing(std::uint32_t stripe);
  [[nodiscard]] std::vector<BitRange> claim_extent(std::uint32_t pages, std::uint32_t max_runs,
                                                   std::uint32_t more);
  void add_stretches(std::uint64_t count);
  [[nodiscard]] BitRange grow(std::uint64_t bits_min, std::uint64_t bits_wanted = 0);
  template <class Find>
  [[nodiscard]] std::vector<BitRange> claim_found(Find find);
  [[nodiscard]] std::vector<BitRange> extent_from_free(std::uint32_t pages, std::uint32_t max_runs);
  [[nodiscard]] std::vector<BitRange> extent_from_growth(std::uint32_t pages,
                                                         std::uint32_t max_runs,
                                                         std::uint32_t more);
  [[nodiscard]] BitRange claim_free_tail(std::uint64_t end) noexcept;
  void require_own_pages(PageRun run) const noexcept;

  [[nodiscard]] Logged* logged() const noexcept { return logged_.load(std::memory_order_acquire); }
  /// The bits that are written: logged, or claims without a log.
  [[nodiscard]] PageBitmap& written_bits() noexcept;
  [[nodiscard]] const PageBitmap& written_bits() const noexcept;
  [[nodiscard]] std::uint64_t word_in_file(const PageBitmap& bits,
                                           std::uint64_t first) const noexcept;
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

  PageFile& file_;
  const std::uint64_t first_page_;
  const std::uint64_t stretch_pages_;
  PageBitmap claims_;
  std::mutex structure_mutex_;
  std::uint64_t extents_from_ = 0;  ///< where the last one ends; protected by structure_mutex_
  std::unique_ptr<Logged> owned_logged_;
  std::atomic<Logged*> logged_{nullptr};  ///< null without a log
};

/// Joins a record that takes or frees pages with the bits it sets, against a thread that copies an
/// image meanwhile. Append the record first, then call take() and give() with its GSN. One at a
/// time for a thread, and short.
class SpaceMap::Change {
 public:
  Change(Change&& other) noexcept : map_(std::exchange(other.map_, nullptr)) {}
  Change& operator=(Change&&) = delete;
  ~Change();

  /// The record uses these pages, which were handed out to its owner and are not in use by the log.
  /// If they are, the map on disk was wrong, and the file enters its failed state.
  void take(PageRun run, Gsn gsn) noexcept { say(run, gsn, true); }
  /// The record frees these pages, which are in use by the log; its GSN is above that of the record
  /// that took them (the page that named them has it). As take() if they are not in use. Afterwards
  /// free_when_durable() ends their claim.
  void give(PageRun run, Gsn gsn) noexcept { say(run, gsn, false); }

 private:
  friend class SpaceMap;
  explicit Change(SpaceMap* map) noexcept : map_(map) {}
  void say(PageRun run, Gsn gsn, bool in_use) noexcept;

  SpaceMap* map_;  ///< null: nothing to do
};

}  // namespace palimpsest::buffer
