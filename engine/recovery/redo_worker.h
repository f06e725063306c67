// One worker of redo: brings the records of its pages together, window by window, and applies them.
//
// Memory: a few words for every page that the log names, beside the frames of ReplayPages.
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
    std::uint32_t newest_item = kNone;   ///< of the window; the others follow in earlier_
    bool formatted = false;              ///< by a record of the window
  };

  Page& page_of(PageId id);
  void insert_slot(std::uint32_t number) noexcept;
  void collect(std::span<const ReplayItem> items);
  void replay_group(const ReplayWindow& window, std::span<const ReplayItem> items,
                    std::span<const std::uint32_t> group);
  void take_frame(Page& page);
  void gather(const Page& page, std::span<const ReplayItem> items);
  void apply(Page& page, const ReplayWindow& window);

  const RecoveryAnalysis& analysis_;
  const btree::SwipRule swips_;
  ReplayPages pages_;
  std::vector<Page> known_;
  std::vector<std::uint32_t> slots_;  ///< hash table of numbers in known_, open addressing
  // Of the window:
  std::vector<std::uint32_t> earlier_;  ///< by item: the item before of the same page
  std::vector<std::uint32_t> touched_;  ///< pages with items to apply
  std::vector<const ReplayItem*> chain_;  ///< of one page, ascending by GSN
  std::uint64_t changes_ = 0;
  std::uint64_t applied_ = 0;
};

}  // namespace palimpsest::engine
