// One worker of redo: groups the records of its pages, window by window, and applies them.
//
// Why a counting sort: the records of a page are scattered over the window, and there are many more
// records than pages. Two passes over the items, counting and placing, put the records of each page
// next to each other, with the pages in ascending order. The worker then runs through one array
// from front to back, and so knows early which bodies and pages it needs next, and prefetches them.
// A GSN on a page may not be durable (I-14 in docs/invariants.md): the page's write may be visible
// although its sync failed. Where pages are written twice, restoring torn ones has written all such
// pages again. Otherwise a page that the replayed log names is written even if no record is
// applied: replay starts before whatever the successful syncs have left out, so other pages are not
// affected.
// Memory: a few words for every page that the log names and for every item of a window, in addition
// to the frames of ReplayPages.
// Thread-safety: belongs to one thread. Failure: as redo.h says.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/recovery/analysis.h"
#include "engine/recovery/redo.h"
#include "engine/recovery/replay_pages.h"
#include "engine/recovery/replay_window.h"

namespace palimpsest::engine {

class RedoWorker {
 public:
  /// All references outlive this, and so does `lost` (RedoOptions::lost).
  RedoWorker(const RecoveryAnalysis& analysis, buffer::PageFile& file, buffer::PageWriter& writer,
             std::size_t frames_max, LostPages* lost = nullptr);

  /// Applies the items, which are for this worker's pages.
  void replay(const ReplayWindow& window, std::span<const ReplayItem> items);
  /// Writes all dirty pages.
  void write_pages() { pages_.write_all(); }

  [[nodiscard]] RedoStatistics statistics() const noexcept;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// A page that some record has named so far.
  struct Page {
    PageId id{};
    Gsn ended{};                         ///< records up to this are of an earlier life
    ReplayFrame frame = kNoReplayFrame;  ///< its last frame; perhaps taken by another page since
    std::uint32_t records = 0;           ///< in the window, to be applied
    std::uint32_t end = 0;               ///< end of its records in records_
    bool formatted = false;              ///< by a record of the window
    bool is_durable = false;             ///< as it was found; or it has been marked dirty
    bool is_lost = false;                ///< until a record formats it
  };

  std::uint32_t number_of(PageId id);
  std::uint32_t add_page(PageId id);
  void insert_slot(std::uint32_t number) noexcept;
  void count(std::span<const ReplayItem> items);
  void place(std::span<const ReplayItem> items);
  void replay_group(const ReplayWindow& window, std::span<const std::uint32_t> group);
  void take_frame(Page& page);
  void load_group(std::span<const std::uint32_t> group);
  void lose(Page& page);
  void prefetch_page(const Page& page) const noexcept;
  [[nodiscard]] std::span<ReplayRecord> records_of(const Page& page) noexcept {
    return std::span(records_).subspan(page.end - page.records, page.records);
  }
  void put_in_order(Page& page) noexcept;
  void apply(Page& page, const ReplayWindow& window);
  [[nodiscard]] bool redo_one(Page& page, const ReplayWindow& window, const ReplayRecord& record);

  const RecoveryAnalysis& analysis_;
  const btree::SwipRule swips_;
  const bool found_durable_;  ///< pages are durable as found on disk
  LostPages* const lost_;     ///< null: a page that cannot be redone ends the redo
  ReplayPages pages_;
  std::vector<Page> known_;
  std::vector<std::uint32_t> slots_;  ///< hash table of indexes into known_, open addressing
  // Of the current window:
  std::vector<std::uint32_t> numbers_;  ///< by item: index of its page; kNone if it is not to be
                                        ///< applied
  std::vector<std::uint32_t> touched_;  ///< pages with records to apply
  std::vector<ReplayRecord> records_;   ///< to apply, by page in the order of touched_
  std::uint64_t changes_ = 0;
  std::uint64_t applied_ = 0;
};

}  // namespace palimpsest::engine
