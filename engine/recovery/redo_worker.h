// One worker of redo: brings the records of its pages together, window by window, and applies them.
//
// Why a counting sort: the records of a page lie anywhere in the window, and there are many more of
// them than pages. Two passes over the items, counting and placing, put the records of each page
// next to each other, the pages in ascending order. What follows runs through one array from front
// to back, and so knows early which bodies and pages it needs next, and asks for them.
// What a page says it has already may not be durable (I-14 in docs/invariants.md): its write may be
// seen and its sync have failed. Where pages are written twice, restoring torn ones has written all
// of these again. Else a page that the replayed log names is written even if no record is applied:
// replay starts before whatever the syncs that succeeded have left out, so no other page is meant.
// Memory: a few words for every page that the log names and for every item of a window, beside the
// frames of ReplayPages.
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
  /// All references outlive it.
  RedoWorker(const RecoveryAnalysis& analysis, buffer::PageFile& file, buffer::PageWriter& writer,
             std::size_t frames_max);

  /// Applies the items, which are of this worker's pages.
  void replay(const ReplayWindow& window, std::span<const ReplayItem> items);
  /// Writes what is dirty.
  void write_pages() { pages_.write_all(); }

  [[nodiscard]] RedoStatistics statistics() const noexcept;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// A page that some record has named so far.
  struct Page {
    PageId id{};
    Gsn ended{};                         ///< records up to here are of an earlier life
    ReplayFrame frame = kNoReplayFrame;  ///< where it was last; perhaps not any more
    std::uint32_t records = 0;           ///< of the window, to apply
    std::uint32_t end = 0;               ///< of its records in records_
    bool formatted = false;              ///< by a record of the window
    bool is_durable = false;             ///< as it was found; or it has been marked dirty
  };

  std::uint32_t number_of(PageId id);
  std::uint32_t add_page(PageId id);
  void insert_slot(std::uint32_t number) noexcept;
  void count(std::span<const ReplayItem> items);
  void place(std::span<const ReplayItem> items);
  void replay_group(const ReplayWindow& window, std::span<const std::uint32_t> group);
  void take_frame(Page& page);
  void prefetch_page(const Page& page) const noexcept;
  [[nodiscard]] std::span<ReplayRecord> records_of(const Page& page) noexcept {
    return std::span(records_).subspan(page.end - page.records, page.records);
  }
  void put_in_order(Page& page) noexcept;
  void apply(Page& page, const ReplayWindow& window);

  const RecoveryAnalysis& analysis_;
  const btree::SwipRule swips_;
  const bool found_durable_;  ///< what lies in place is
  ReplayPages pages_;
  std::vector<Page> known_;
  std::vector<std::uint32_t> slots_;  ///< hash table of numbers in known_, open addressing
  // Of the window:
  std::vector<std::uint32_t> numbers_;  ///< by item: of its page; kNone if it is not to be applied
  std::vector<std::uint32_t> touched_;  ///< pages with records to apply
  std::vector<ReplayRecord> records_;   ///< to apply, by page in the order of touched_
  std::uint64_t changes_ = 0;
  std::uint64_t applied_ = 0;
};

}  // namespace palimpsest::engine
