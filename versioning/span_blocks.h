// Pages that are not in memory and whose records were all made in one span: many pages in one
// object.
//
// Appends beside an old reader fill leaf after leaf. Once such a leaf is evicted, its mapping table
// says only that a snapshot below the span's start sees none of its records (spans.h), in 192
// bytes. Pages with neighbouring ids say the same, of other dates. Where no snapshot lies between
// these, one span serves all of them: a *block* has a span, the youngest start, and one bit for
// each of 512 page ids.
//
//   page evicted, its table has all its records in one span    enter()   a bit in a block
//   page needed again, before it is read                       take()    a table of its own again
//   every snapshot sees the block's span                       prune()   the block is freed
//
// Invariants: (1) a page has a bit in at most one block, and only while it is in no frame and has
//                 no orphan: eviction sets it, with the page and its parent exclusively latched,
//                 before the swip names the page again; a loader clears it while the page is its
//                 own (buffer/page_loader.h);
//             (2) no snapshot in use lies in [from, to) of a block's span, and none will: pages are
//                 joined under the condition under which two leaves are (Pruner::can_join()). A
//                 leaf of a tree that is being emptied may have a span across a snapshot, which
//                 does not see that tree (Pruner::begin_unseen()): such a page is not entered;
//             (3) a block's youngest start is not below that of any of its pages' tables.
// So a table that take() makes says of each snapshot in use what the page's own said: by (2) both
// spans hide the records from the same ones. That its span may be wider makes it go later.
// The bit is cleared only after the table has been made and entered as an orphan, in one step under
// the shard's mutex; the count falls, with release, after that. So without memory the page stays in
// its block, and at no moment has it neither.
// Latching: a shard's mutex, by page id. Those of the orphan registry are taken under it.
// Failure: enter() without memory leaves the page its table; take() throws std::bad_alloc and
//          changes nothing.
// Memory: 128 bytes a block, counted by EntryMemory; 8 a hash bucket, not counted.
// Thread-safety: all functions, from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/ids.h"
#include "versioning/entry_memory.h"
#include "versioning/spans.h"

namespace palimpsest::versioning {

class SpanBlocks {
 public:
  /// What is known of a page: the span of all its records, and the youngest start of a transaction
  /// that has left a version there (MappingTable::youngest()).
  struct Made {
    Span span;
    Gsn youngest{0};
  };
  /// Whether two spans can be joined (Pruner::can_join()).
  using CanJoin = FunctionRef<bool(const Span&, const Span&)>;

  explicit SpanBlocks(EntryMemory& memory);
  SpanBlocks(const SpanBlocks&) = delete;
  SpanBlocks& operator=(const SpanBlocks&) = delete;
  ~SpanBlocks();

  /// Enters a page that leaves memory; false: a snapshot lies in its span, or there is no memory.
  [[nodiscard]] bool enter(PageId page, const Made& made, CanJoin can_join) noexcept;

  /// If the page is in a block: calls restore(), then takes the page out. What restore() throws
  /// leaves the page where it is.
  void take(PageId page, FunctionRef<void(const Made&)> restore);

  /// Frees blocks whose span every snapshot from `horizon` on sees: of some buckets, others at each
  /// call, or of all until is_enough(). Returns how many.
  std::size_t prune_some(Gsn horizon) noexcept;
  std::size_t prune_all(Gsn horizon, FunctionRef<bool()> is_enough) noexcept;

  /// The number of pages in blocks. If it is 0, a loader that read a page id from a swip will find
  /// what the page has, if anything, in the orphan registry.
  [[nodiscard]] std::size_t pages() const noexcept {
    return pages_.load(std::memory_order_acquire);
  }

 private:
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kBucketsMin = 16;
  static constexpr std::size_t kPrunedBuckets = kBucketsMin;  ///< at a time
  static constexpr std::uint64_t kPagesOfBlock = 512;
  static constexpr std::size_t kBitsOfWord = 64;

  struct Block {
    Block* next = nullptr;
    std::uint64_t range = 0;  ///< its first page id / kPagesOfBlock
    Made made;
    std::uint32_t count = 0;
    std::array<std::uint64_t, kPagesOfBlock / kBitsOfWord> pages{};
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    std::vector<Block*> buckets;  // a power of two of them
    std::size_t count = 0;        // blocks
    std::size_t pruned_next = 0;  // bucket
  };

  [[nodiscard]] static std::uint64_t range_of(PageId page) noexcept {
    return raw(page) / kPagesOfBlock;
  }
  [[nodiscard]] static std::uint64_t& word_of(Block& block, PageId page) noexcept {
    return block.pages[raw(page) % kPagesOfBlock / kBitsOfWord];
  }
  [[nodiscard]] static std::uint64_t bit_of(PageId page) noexcept {
    return std::uint64_t{1} << (raw(page) % kBitsOfWord);
  }
  [[nodiscard]] Shard& shard_of(PageId page) noexcept { return shards_[range_of(page) % kShards]; }
  [[nodiscard]] static Block*& bucket_of(Shard& shard, std::uint64_t range) noexcept {
    return shard.buckets[range / kShards & (shard.buckets.size() - 1)];
  }
  [[nodiscard]] Block* block_for(Shard& shard, PageId page, const Span& span,
                                 CanJoin can_join) noexcept;
  [[nodiscard]] static Block** link_of(Shard& shard, PageId page) noexcept;
  [[nodiscard]] Block* make_block(Shard& shard, std::uint64_t range) noexcept;
  void free_block(Block* block) noexcept;
  static void grow(Shard& shard) noexcept;
  std::size_t prune(Shard& shard, std::size_t buckets, Gsn horizon) noexcept;

  EntryMemory& memory_;
  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> next_shard_{0};  ///< for prune_some()
  alignas(64) std::atomic<std::size_t> pages_{0};
};

}  // namespace palimpsest::versioning
