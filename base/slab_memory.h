// Memory for very many small objects of few sizes, that come and go from any thread: whole cache
// lines, in huge pages, out of one range of addresses ("The Slab Allocator", Bonwick 1994).
//
// Why not the heap: objects that an old reader keeps are spread over hundreds of MiB and are met
// one here, one there. In huge pages that costs no walk of page tables; the heap has neither huge
// pages nor lines of their own for objects, and takes a tenth of the time of a transaction for
// merging and splitting what lies between (decision 024).
//
// A block is a piece of the range for objects of one size, and belongs to a stripe, the one of the
// thread that took it. One bit for each of its objects says which are free; the lowest is taken
// first. So an object's own memory is not looked at when it comes or goes: it may lie in another
// processor's cache, or in none. When a block's last object goes it can be of any size again, and
// of another stripe. Blocks of low addresses are taken first. Regions without blocks in use keep
// their memory until give_back_idle().
//
// Latching: an object is taken under its thread's stripe's latch, and given back under the one of
//           its block's; blocks come and go under the range's, taken within a stripe's.
// Thread-safety: allocate() and deallocate() from any thread; so is bytes_in_use(), which is exact
//                once the threads have stopped.
// Failure: allocate() throws std::bad_alloc. Without a range of addresses all comes from the heap,
//          as do objects that are larger than kObjectBytesMax, and those that have no room.
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

  /// A range of so many bytes at least; 0: none, all comes from the heap. It takes no memory before
  /// it is used. Regions are huge pages if there are many.
  explicit SlabMemory(std::size_t range_bytes);
  SlabMemory(const SlabMemory&) = delete;
  SlabMemory& operator=(const SlabMemory&) = delete;
  /// Nothing of it is in use.
  ~SlabMemory();

  /// Aligned to cache lines.
  [[nodiscard]] void* allocate(std::size_t size_bytes);
  /// `size_bytes`: as it was allocated.
  void deallocate(void* object, std::size_t size_bytes) noexcept;

  /// Gives memory of regions back to the system, those of the highest addresses: as many as nobody
  /// has needed since the last call, but some at a time, for others wait for it. What comes and
  /// goes in between stays.
  void give_back_idle() noexcept;

  /// As they were asked for.
  [[nodiscard]] std::uint64_t bytes_in_use() const noexcept;
  /// In blocks that have an object, or are a thread's next; without what comes from the heap.
  [[nodiscard]] std::uint64_t block_bytes() const noexcept {
    return blocks_in_use_.load(std::memory_order_relaxed) * kBlockBytes;
  }

 private:
  static constexpr std::size_t kStripesMax = 32;
  /// Sizes: each number of lines up to eight, then four to each doubling.
  static constexpr std::size_t kExactLines = 8;
  static constexpr std::size_t kSizes = kExactLines + std::size_t{3} * 4;
  static constexpr std::size_t kBlocksOfRegion = kRegionBytes / kBlockBytes;
  static constexpr std::size_t kGivenBackMax = 32;  ///< regions
  static constexpr std::size_t kRangeBytesForHugePages = std::size_t{64} << 20;

  static constexpr std::size_t kObjectsMax = kBlockBytes / kCacheLineBytes;
  static constexpr std::size_t kBits = 64;  ///< of a word
  /// Under its stripe's latch, but for `stripe`, which stays while an object is in use.
  struct alignas(kCacheLineBytes) Block {
    std::array<std::uint64_t, kObjectsMax / kBits> free{};  ///< one bit for each object
    Block* next = nullptr;  ///< of its stripe and size, that have a free object
    Block* before = nullptr;
    std::uint16_t used = 0;      ///< objects
    std::uint16_t capacity = 0;  ///< objects
    std::uint16_t object_bytes = 0;
    std::uint8_t size = 0;
    std::uint8_t stripe = 0;
    std::uint8_t first = 0;  ///< the words of `free` before it have no bit
  };
  struct alignas(kCacheLineBytes) Stripe {
    TurnLatch latch;
    std::atomic<std::int64_t> bytes{0};
    std::array<Block*, kSizes> with_room{};  ///< the first of each size
    std::array<Block*, kSizes> empty{};      ///< one that was empty when it was looked at last
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

  std::byte* mapped_ = nullptr;  ///< of addresses, regions and what aligns them
  std::size_t mapped_bytes_ = 0;
  std::byte* range_ = nullptr;
  std::size_t range_bytes_ = 0;
  std::unique_ptr<Block[]> blocks_;
  std::size_t stripe_count_ = 1;  ///< one for each region, up to the most
  std::array<Stripe, kStripesMax> stripes_;
  std::atomic<std::int64_t> heap_bytes_{0};
  std::atomic<std::uint64_t> blocks_in_use_{0};
  std::atomic<bool> is_full_{false};  ///< no block is free; a hint

  TurnLatch range_latch_;
  std::vector<std::uint32_t> free_blocks_;  ///< a heap, the lowest first; has room for all of them
  std::vector<Region> regions_;
  std::size_t regions_usable_ = 0;
  std::size_t idle_ = 0;        ///< regions
  std::size_t idle_least_ = 0;  ///< since the last give_back_idle()
};

}  // namespace palimpsest
