// Memory for a very large number of small objects of few sizes, allocated and freed by any thread:
// whole cache lines, in huge pages, from one range of addresses ("The Slab Allocator", Bonwick
// 1994).
//
// Why not the heap: objects that an old reader keeps alive are spread over hundreds of MiB and are
// visited in no order. In huge pages such a visit costs no walk of page tables. The heap has
// neither huge pages nor separate cache lines for objects, and spends a tenth of a transaction's
// time on merging and splitting free memory (decision 024).
//
//   range    all addresses, in regions of kRegionBytes, which become usable one after the other
//   region   blocks of kBlockBytes
//   block    objects of one size; belongs to a stripe, that of the thread that took the block
//   stripe   the blocks of a group of threads, under one latch
//
// A block has one bit per object that says whether it is free; the lowest free object is taken
// first. So neither allocating nor freeing touches the object's own memory, which may lie in
// another processor's cache or in none. When a block's last object is freed, the block can serve
// any size and any stripe. Blocks at low addresses are taken first. Regions without blocks in use
// keep their memory until give_back_idle().
//
// Latching: allocate() takes the latch of the calling thread's stripe, deallocate() that of the
//           block's stripe; the range's latch, for taking and returning blocks, is taken within a
//           stripe's.
// Thread-safety: allocate(), deallocate() and bytes_in_use() from any thread; bytes_in_use() is
//                exact once no thread allocates or frees.
// Failure: allocate() throws std::bad_alloc. Objects larger than kObjectBytesMax and objects for
//          which the range has no room come from the heap, and all objects do if no range could be
//          reserved.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/prefetch.h"
#include "base/turn_latch.h"

namespace palimpsest {

class SlabMemory {
 public:
  static constexpr std::size_t kObjectBytesMax = 4096;
  static constexpr std::size_t kBlockBytes = std::size_t{32} << 10;
  static constexpr std::size_t kRegionBytes = std::size_t{2} << 20;

  /// Reserves a range of at least `range_bytes`; 0: no range, everything comes from the heap. The
  /// range takes no memory before it is used. Large ranges use huge pages.
  explicit SlabMemory(std::size_t range_bytes);
  SlabMemory(const SlabMemory&) = delete;
  SlabMemory& operator=(const SlabMemory&) = delete;
  /// No object is in use any more.
  ~SlabMemory();

  /// Aligned to cache lines.
  [[nodiscard]] void* allocate(std::size_t size_bytes);
  /// `size_bytes` is the size given to allocate().
  void deallocate(void* object, std::size_t size_bytes) noexcept;

  /// Returns idle regions to the system, the highest addresses first: as many as have stayed idle
  /// since the last call, at most kGivenBackMax, because allocating threads wait meanwhile. Regions
  /// that were used in between keep their memory.
  void give_back_idle() noexcept;

  /// The sum of the sizes asked for.
  [[nodiscard]] std::uint64_t bytes_in_use() const noexcept;
  /// Memory of the blocks that hold an object or are kept as a stripe's spare; excludes the heap.
  [[nodiscard]] std::uint64_t block_bytes() const noexcept {
    return blocks_in_use_.load(std::memory_order_relaxed) * kBlockBytes;
  }

 private:
  static constexpr std::size_t kStripesMax = 32;
  /// Object sizes: each number of lines up to eight, then four sizes to each doubling.
  static constexpr std::size_t kExactLines = 8;
  static constexpr std::size_t kSizes = kExactLines + std::size_t{3} * 4;
  static constexpr std::size_t kBlocksOfRegion = kRegionBytes / kBlockBytes;
  static constexpr std::size_t kGivenBackMax = 32;  ///< regions per give_back_idle()
  static constexpr std::size_t kRangeBytesForHugePages = std::size_t{64} << 20;

  static constexpr std::size_t kObjectsMax = kBlockBytes / kCacheLineBytes;
  static constexpr std::size_t kBits = 64;  ///< in a word of Block::free
  /// Protected by its stripe's latch, except `stripe`, which is constant while an object is in use.
  struct alignas(kCacheLineBytes) Block {
    std::array<std::uint64_t, kObjectsMax / kBits> free{};  ///< one bit for each object
    Block* next = nullptr;  ///< in the list of its stripe's blocks of this size with a free object
    Block* before = nullptr;
    std::uint16_t used = 0;      ///< objects
    std::uint16_t capacity = 0;  ///< objects
    std::uint16_t object_bytes = 0;
    std::uint8_t size = 0;
    std::uint8_t stripe = 0;
    std::uint8_t first = 0;  ///< words of `free` before this one have no bit set
  };
  struct alignas(kCacheLineBytes) Stripe {
    TurnLatch latch;
    std::atomic<std::int64_t> bytes{0};
    std::array<Block*, kSizes> with_room{};  ///< list heads, by size
    std::array<Block*, kSizes> empty{};      ///< by size: a spare block, empty when last examined
  };

  struct Region {
    std::uint16_t used = 0;  ///< blocks
    bool has_memory = false;
  };
  [[nodiscard]] static bool is_idle(const Region& region) noexcept {
    return region.used == 0 && region.has_memory;
  }

  [[nodiscard]] static std::size_t size_for(std::size_t size_bytes) noexcept;
  [[nodiscard]] static std::size_t bytes_of(std::size_t size) noexcept;

  [[nodiscard]] bool is_in_range(const void* object) const noexcept;
  [[nodiscard]] Block& block_of(const void* object) const noexcept;
  [[nodiscard]] std::byte* begin_of(const Block& block) const noexcept;
  [[nodiscard]] std::size_t number_of(const Block& block, const void* object) const noexcept;
  [[nodiscard]] static bool has_room(const Block& block) noexcept {
    return block.used < block.capacity;
  }
  void enlist(Stripe& stripe, Block& block) noexcept;
  void delist(Stripe& stripe, Block& block) noexcept;
  [[nodiscard]] void* take_object(Stripe& stripe, Block& block) noexcept;
  void give_empty(Stripe& stripe, Block& block) noexcept;
  void give_spares() noexcept;
  [[nodiscard]] bool give_back_highest() noexcept;

  [[nodiscard]] Block* take_block(std::size_t stripe, std::size_t size) noexcept;
  void give_block(Block& block) noexcept;
  [[nodiscard]] bool add_region() noexcept;

  std::byte* mapped_ = nullptr;  ///< the mapping: the range, and the addresses skipped to align it
  std::size_t mapped_bytes_ = 0;
  std::byte* range_ = nullptr;
  std::size_t range_bytes_ = 0;
  std::unique_ptr<Block[]> blocks_;
  std::size_t stripe_count_ = 1;  ///< one per region, up to kStripesMax
  std::array<Stripe, kStripesMax> stripes_;
  std::atomic<std::int64_t> heap_bytes_{0};
  std::atomic<std::uint64_t> blocks_in_use_{0};
  std::atomic<bool> is_full_{false};  ///< a hint: no block is free

  TurnLatch range_latch_;
  std::vector<std::uint32_t> free_blocks_;  ///< min-heap; has room for all blocks
  std::vector<Region> regions_;
  std::size_t regions_usable_ = 0;
  std::size_t idle_ = 0;        ///< regions
  std::size_t idle_least_ = 0;  ///< since the last give_back_idle()
};

}  // namespace palimpsest
