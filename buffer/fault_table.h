// The pages that are in a frame but not yet below their parent: being loaded, or loaded and waiting
// to be attached.
//
// Why it exists: a page must never be in two frames. A resident page is named by its one swip. From
// the moment a thread decides to load an evicted page until the page's frame is in the swip, the
// entry here names it.
// Invariant: an entry for page p counts once its owner, having inserted it, has seen that p's swip
//            still holds the page id (page_loader.h); a look at the swip before that proves
//            nothing. From then on no other thread swizzles p, and the owner removes the entry
//            after it has done so.
// Owner of an entry: the thread that loads the page; then none while the page is ready; then the
// thread that claims or takes it. A thread that has claimed a page may give it back.
// Thread-safety: all functions, from any thread. Shard mutexes are leaves of the latch order; a
//                page latch may be held when one is taken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/ids.h"
#include "buffer/frame_table.h"

namespace palimpsest::buffer {

class FaultTable {
 public:
  explicit FaultTable(const FrameTable& frames) : frames_(frames) {}

  enum class Found : std::uint8_t {
    nothing = 1,  ///< insert(): the entry is the caller's now
    loading,      ///< another thread is loading it into `frame`
    ready,        ///< loaded into `frame`, waiting to be attached
  };
  struct Lookup {
    Found found = Found::nothing;
    FrameIndex frame = kNoFrame;
  };

  /// Enters `page` as being loaded into `frame` (state loading, exclusively latched by the caller),
  /// unless there is an entry.
  [[nodiscard]] Lookup insert(PageId page, FrameIndex frame);

  [[nodiscard]] Lookup find(PageId page);

  /// The frame is ready for any thread to attach it: the load has succeeded, or a thread that had
  /// claimed the page gives it back.
  void mark_ready(PageId page, FrameIndex frame);

  /// Called by the entry's owner, which has swizzled the page, or does not need it, or has failed.
  void remove_loading(PageId page, FrameIndex frame);

  /// Makes the caller the owner of a ready page, to attach it: the page counts as being loaded
  /// again. kNoFrame if it is not there or not ready.
  [[nodiscard]] FrameIndex claim_ready(PageId page);
  /// Takes a ready page out, to drop it; false if it is not there, not ready, or not in this frame.
  [[nodiscard]] bool take_ready(PageId page, FrameIndex expected);

 private:
  static constexpr std::size_t kShards = 64;

  struct Entry {
    PageId page;
    FrameIndex frame;
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    std::vector<Entry> entries;  // few: searched linearly
  };

  [[nodiscard]] Shard& shard_of(PageId page) noexcept { return shards_[raw(page) % kShards]; }
  [[nodiscard]] Lookup find_in(const Shard& shard, PageId page) const noexcept;
  static void erase(Shard& shard, PageId page) noexcept;

  const FrameTable& frames_;
  std::array<Shard, kShards> shards_;
};

}  // namespace palimpsest::buffer
