// Attachments of pages that are not in memory (orphans), by page id.
//
// Invariants: (1) a page has an orphan only while it is in no frame: eviction enters it, and the
//                 thread that makes the page resident again takes it, both with the page's parent
//                 exclusively latched, in the same step as the swip;
//             (2) a page that is freed has no orphan: only resident pages are freed.
// Why one load of count_ tells a loader that there is no orphan: eviction enters the orphan before
// it puts the page id into the swip, and the loader looks here after it has read that page id from
// the swip with acquire. The load also acquires the pruning of orphans that are gone, and so all
// that justified it.
// Entering cannot fail: the links lie in the orphans, and a shard that cannot grow its buckets has
// longer chains.
// Absorbed attachments (page_attachment.h) become orphans again before their pages are read:
// making one needs memory, and so may fail, which it must not once the page is there. Between
// prepare_return() and page_returns() the page is in the fault table, loading or ready: it is not
// brought in and evicted meanwhile, so it is not absorbed again.
// Thread-safety: all functions, from any thread. Shard mutexes are leaves of the latch order,
//                except that PageAttachment::prune() runs under them; it takes no latch.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/ids.h"
#include "buffer/frame.h"
#include "buffer/page_attachment.h"

namespace palimpsest::buffer {

class OrphanRegistry {
 public:
  /// `attachment` outlives the registry; null: pages have no attachments. Throws std::bad_alloc.
  explicit OrphanRegistry(PageAttachment* attachment);
  OrphanRegistry(const OrphanRegistry&) = delete;
  OrphanRegistry& operator=(const OrphanRegistry&) = delete;
  /// Destroys the orphans.
  ~OrphanRegistry();

  [[nodiscard]] PageAttachment* attachment() const noexcept { return attachment_; }

  /// Takes the attachment of the page in this frame; false: the page has to stay. Caller holds the
  /// exclusive latches of the page, which is about to leave the frame, and of its parent.
  [[nodiscard]] bool page_leaves(Frame& frame, MutableBytes page) noexcept {
    return frame.attached.load(std::memory_order_relaxed) == nullptr || detach(frame, page);
  }

  /// Makes the orphan of a page whose attachment is absorbed, so that page_returns() finds it.
  /// Called by the thread that has entered the page in the fault table, before it reads the page.
  /// Throws std::bad_alloc.
  void prepare_return(PageId page) {
    if (attachment_ != nullptr && attachment_->has_absorbed()) [[unlikely]] {
      attachment_->restore(page, [&](Attached& orphan) { enter(page, orphan); });
    }
  }

  /// Removes and returns the attachment of a page that comes back; null if there is none. The page
  /// is private to the caller. A thread has called prepare_return() since the page has an
  /// entry in the fault table.
  [[nodiscard]] Attached* page_returns(PageId page) noexcept {
    return count_.load(std::memory_order_acquire) == 0 ? nullptr : take(page);
  }

  /// Prunes some of the orphans, different ones each time; for threads that have done I/O. Returns
  /// how many are gone. Caller holds no latch that it should not hold for long.
  std::size_t prune_some() noexcept;
  /// Prunes all orphans, until is_enough().
  void prune_all(FunctionRef<bool()> is_enough) noexcept;

  /// How many orphans there are; stale at once.
  [[nodiscard]] std::size_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kShards = 64;
  static constexpr std::size_t kBucketsMin = 16;
  /// The most buckets that prune_some() looks at.
  static constexpr std::size_t kPrunedBuckets = 64;

  struct alignas(64) Shard {
    std::mutex mutex;
    std::vector<Attached*> buckets;  // a power of two of them
    std::size_t count = 0;
    std::size_t pruned_next = 0;  // bucket
  };

  [[nodiscard]] Shard& shard_of(PageId page) noexcept { return shards_[raw(page) % kShards]; }
  [[nodiscard]] static Attached*& bucket_of(Shard& shard, PageId page) noexcept {
    return shard.buckets[raw(page) / kShards & (shard.buckets.size() - 1)];
  }
  [[nodiscard]] bool detach(Frame& frame, MutableBytes page) noexcept;
  std::size_t prune_next(Shard& shard, std::size_t buckets) noexcept;
  void enter(PageId page, Attached& orphan) noexcept;
  [[nodiscard]] Attached* take(PageId page) noexcept;
  static void grow(Shard& shard) noexcept;

  PageAttachment* attachment_;
  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> next_shard_{0};  ///< for prune_some()
  alignas(64) std::atomic<std::size_t> count_{0};
};

}  // namespace palimpsest::buffer
