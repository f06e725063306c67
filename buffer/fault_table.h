// The pages that are in a frame but not yet below their parent: being loaded, or loaded and waiting
// to be attached.
//
// Why it exists: a page must never be in two frames. A resident page is named by its one swip; from
// the moment a thread decides to load an evicted page until its frame is in the swip, the entry
// here says so.
// Invariant: an entry for page p counts once its owner, having inserted it, has seen that p's swip
//            still holds the page id (page_loader.h); a swip seen before proves nothing. From then
//            on nobody else swizzles p, and the owner removes the entry after he has.
// The owner is who loads the page, then nobody while it is ready, then who claims or takes it; who
// has claimed it may give it back.
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
    nothing = 1,  ///< insert(): now ours
    loading,      ///< somebody is loading it into `frame`
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

  /// The load has succeeded, or who has claimed the page gives it back: the frame is ready for
  /// whoever attaches it.
  void mark_ready(PageId page, FrameIndex frame);

  /// The entry is its owner's, who has swizzled the page, or does not need it, or has failed.
  void remove_loading(PageId page, FrameIndex frame);

  /// A ready page is the caller's, to be attached: it counts as being loaded again. kNoFrame if it
  /// is not there or not ready.
  [[nodiscard]] FrameIndex claim_ready(PageId page);
  /// Takes a ready page out, to drop it; false if it is not there or not ready, or not in this
  /// frame.
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
