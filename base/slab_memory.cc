#include "base/slab_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <mutex>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/futex.h"
#include "base/round_up.h"
#include "base/thread_number.h"

namespace palimpsest {
namespace {

constexpr std::align_val_t kAlignment{kCacheLineBytes};

/// Locks a latch that is held only for a few loads and stores: spins first, because sleeping takes
/// longer than waiting unless the holder is not running.
class BriefHold {
 public:
  explicit BriefHold(TurnLatch& latch) noexcept : latch_(latch) {
    for (int i = 0; i < kPausesMax; ++i) {
      if (latch_.is_free() && latch_.try_lock()) [[likely]] {
        return;
      }
      spin_pause();
    }
    latch_.lock();
  }
  BriefHold(const BriefHold&) = delete;
  BriefHold& operator=(const BriefHold&) = delete;
  ~BriefHold() { latch_.unlock(); }

 private:
  static constexpr int kPausesMax = 64;
  TurnLatch& latch_;
};

constexpr std::uint64_t without_lowest(std::uint64_t bits) noexcept {
  return bits & (bits - 1);
}

}  // namespace

// Reserves addresses only; regions become usable one by one, so that memory not yet used counts
// against no limit.
SlabMemory::SlabMemory(std::size_t range_bytes) {
  if (range_bytes == 0) {
    return;
  }
  const std::size_t usable = round_up(range_bytes, kRegionBytes);
  blocks_ = std::make_unique<Block[]>(usable / kBlockBytes);
  regions_.resize(usable / kRegionBytes);
  stripe_count_ = std::min(regions_.size(), kStripesMax);
  void* const at = ::mmap(nullptr, usable + kRegionBytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    return;
  }
  ::madvise(at, usable + kRegionBytes, MADV_DONTFORK);  // no child has a use for it
  mapped_ = static_cast<std::byte*>(at);
  mapped_bytes_ = usable + kRegionBytes;
  range_ = mapped_ + (round_up(std::bit_cast<std::uintptr_t>(at), kRegionBytes) -
                      std::bit_cast<std::uintptr_t>(at));
  range_bytes_ = usable;
}

SlabMemory::~SlabMemory() {
  check(bytes_in_use() == 0, "objects end before their memory does");
  if (mapped_ != nullptr) {
    ::munmap(mapped_, mapped_bytes_);
  }
}

// Sizes

std::size_t SlabMemory::size_for(std::size_t size_bytes) noexcept {
  const std::size_t lines = (size_bytes + kCacheLineBytes - 1) / kCacheLineBytes;
  if (lines <= kExactLines) {
    return lines == 0 ? 0 : lines - 1;
  }
  const auto doubling = static_cast<std::size_t>(std::bit_width(lines - 1)) - 4;  // (8, 16]: 0
  const std::size_t step = std::size_t{2} << doubling;
  return kExactLines + doubling * 4 + (lines - 1 - (kExactLines << doubling)) / step;
}

std::size_t SlabMemory::bytes_of(std::size_t size) noexcept {
  if (size < kExactLines) {
    return (size + 1) * kCacheLineBytes;
  }
  const std::size_t doubling = (size - kExactLines) / 4;
  const std::size_t step = std::size_t{2} << doubling;
  return ((kExactLines << doubling) + ((size - kExactLines) % 4 + 1) * step) * kCacheLineBytes;
}

// Objects

void* SlabMemory::allocate(std::size_t size_bytes) {
  if (size_bytes <= kObjectBytesMax && range_ != nullptr) [[likely]] {
    const std::size_t size = size_for(size_bytes);
    const std::size_t number = thread_number() % stripe_count_;
    Stripe& stripe = stripes_[number];
    const BriefHold latch(stripe.latch);
    Block* block = stripe.with_room[size];
    if (block == nullptr && !is_full_.load(std::memory_order_relaxed)) [[unlikely]] {
      block = take_block(number, size);
    }
    if (block != nullptr) [[likely]] {
      stripe.bytes.store(
          stripe.bytes.load(std::memory_order_relaxed) + static_cast<std::int64_t>(size_bytes),
          std::memory_order_relaxed);
      return take_object(stripe, *block);
    }
  }
  void* const object = ::operator new(size_bytes, kAlignment);
  heap_bytes_.fetch_add(static_cast<std::int64_t>(size_bytes), std::memory_order_relaxed);
  return object;
}

// Prefetches the line of an object that will be taken soon: the caller will write to it then.
void* SlabMemory::take_object(Stripe& stripe, Block& block) noexcept {
  while (block.free[block.first] == 0) {
    ++block.first;
  }
  std::uint64_t& free = block.free[block.first];
  const std::size_t bytes = block.object_bytes;
  std::byte* const word = begin_of(block) + block.first * kBits * bytes;
  std::byte* const object = word + static_cast<std::size_t>(std::countr_zero(free)) * bytes;
  free = without_lowest(free);
  ++block.used;
  if (!has_room(block)) {
    delist(stripe, block);
  }
  const std::uint64_t soon = without_lowest(without_lowest(free));
  if (soon != 0) {
    prefetch_to_write(word + static_cast<std::size_t>(std::countr_zero(soon)) * bytes);
  }
  return object;
}

void SlabMemory::deallocate(void* object, std::size_t size_bytes) noexcept {
  if (!is_in_range(object)) [[unlikely]] {
    ::operator delete(object, kAlignment);
    heap_bytes_.fetch_sub(static_cast<std::int64_t>(size_bytes), std::memory_order_relaxed);
    return;
  }
  Block& block = block_of(object);
  Stripe& stripe = stripes_[block.stripe];
  const BriefHold latch(stripe.latch);
  PALIMPSEST_DEBUG_CHECK(block.size == size_for(size_bytes),
                         "an object is given back with the size that it was allocated with");
  if (!has_room(block)) {
    enlist(stripe, block);
  }
  const std::size_t number = number_of(block, object);
  const auto word = static_cast<std::uint8_t>(number / kBits);
  const std::uint64_t bit = std::uint64_t{1} << number % kBits;
  PALIMPSEST_DEBUG_CHECK((block.free[word] & bit) == 0, "an object is given back only once");
  block.free[word] |= bit;
  block.first = std::min(block.first, word);
  --block.used;
  stripe.bytes.store(
      stripe.bytes.load(std::memory_order_relaxed) - static_cast<std::int64_t>(size_bytes),
      std::memory_order_relaxed);
  if (block.used == 0) {
    give_empty(stripe, block);
  }
}

/// Keeps one empty block per size: otherwise a block would be taken and returned again and again.
void SlabMemory::give_empty(Stripe& stripe, Block& block) noexcept {
  Block*& spare = stripe.empty[block.size];
  if (spare != nullptr && spare != &block && spare->used == 0) {
    delist(stripe, block);
    give_block(block);
  } else {
    spare = &block;
  }
}

std::uint64_t SlabMemory::bytes_in_use() const noexcept {
  std::int64_t sum = heap_bytes_.load(std::memory_order_relaxed);
  for (const Stripe& stripe : stripes_) {
    sum += stripe.bytes.load(std::memory_order_relaxed);
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0));
}

// Blocks

bool SlabMemory::is_in_range(const void* object) const noexcept {
  const auto* const at = static_cast<const std::byte*>(object);
  return std::greater_equal<>{}(at, range_) && std::less<>{}(at, range_ + range_bytes_);
}

SlabMemory::Block& SlabMemory::block_of(const void* object) const noexcept {
  const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(object) - range_);
  return blocks_[at / kBlockBytes];
}

std::byte* SlabMemory::begin_of(const Block& block) const noexcept {
  return range_ + static_cast<std::size_t>(&block - blocks_.get()) * kBlockBytes;
}

/// The index of the object within its block.
std::size_t SlabMemory::number_of(const Block& block, const void* object) const noexcept {
  const auto offset =
      static_cast<std::uint32_t>(static_cast<const std::byte*>(object) - begin_of(block));
  return offset / block.object_bytes;
}

void SlabMemory::enlist(Stripe& stripe, Block& block) noexcept {
  Block*& first = stripe.with_room[block.size];
  block.before = nullptr;
  block.next = first;
  if (first != nullptr) {
    first->before = &block;
  }
  first = &block;
}

void SlabMemory::delist(Stripe& stripe, Block& block) noexcept {
  (block.before != nullptr ? block.before->next : stripe.with_room[block.size]) = block.next;
  if (block.next != nullptr) {
    block.next->before = block.before;
  }
}

/// Null if the range has no room.
SlabMemory::Block* SlabMemory::take_block(std::size_t stripe, std::size_t size) noexcept {
  const std::lock_guard latch(range_latch_);
  if (free_blocks_.empty() && !add_region()) {
    is_full_.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  std::ranges::pop_heap(free_blocks_, std::greater<>{});
  const std::uint32_t number = free_blocks_.back();
  free_blocks_.pop_back();
  Region& region = regions_[number / kBlocksOfRegion];
  if (is_idle(region)) {
    idle_least_ = std::min(idle_least_, --idle_);
  }
  ++region.used;
  region.has_memory = true;
  blocks_in_use_.fetch_add(1, std::memory_order_relaxed);
  Block& block = blocks_[number];
  const std::size_t object_bytes = bytes_of(size);
  block = {.capacity = static_cast<std::uint16_t>(kBlockBytes / object_bytes),
           .object_bytes = static_cast<std::uint16_t>(object_bytes),
           .size = static_cast<std::uint8_t>(size),
           .stripe = static_cast<std::uint8_t>(stripe)};
  for (std::size_t left = block.capacity, word = 0; left > 0; ++word) {
    const std::size_t bits = std::min(left, kBits);
    block.free[word] = ~std::uint64_t{0} >> (kBits - bits);
    left -= bits;
  }
  enlist(stripes_[stripe], block);
  return &block;
}

void SlabMemory::give_block(Block& block) noexcept {
  const std::lock_guard latch(range_latch_);
  const auto number = static_cast<std::uint32_t>(&block - blocks_.get());
  free_blocks_.push_back(number);  // has the capacity: see add_region()
  is_full_.store(false, std::memory_order_relaxed);
  std::ranges::push_heap(free_blocks_, std::greater<>{});
  blocks_in_use_.fetch_sub(1, std::memory_order_relaxed);
  Region& region = regions_[number / kBlocksOfRegion];
  --region.used;
  idle_ += is_idle(region) ? 1U : 0U;
}

// Returned memory stays usable: it reads as zeros when it is touched again.
void SlabMemory::give_back_idle() noexcept {
  give_spares();
  std::size_t left = 0;
  {
    const std::lock_guard latch(range_latch_);
    left = std::min(std::exchange(idle_least_, idle_), kGivenBackMax);
  }
  for (; left > 0 && give_back_highest(); --left) {
  }
}

/// An empty block that a stripe keeps as its spare would keep its region in use.
void SlabMemory::give_spares() noexcept {
  for (Stripe& stripe : stripes_) {
    for (Block*& spare : stripe.empty) {
      const BriefHold latch(stripe.latch);
      Block* const block = std::exchange(spare, nullptr);
      if (block != nullptr && block->used == 0) {
        delist(stripe, *block);
        give_block(*block);
      }
    }
  }
}

/// One region at a time: other threads wait for the range's latch meanwhile.
bool SlabMemory::give_back_highest() noexcept {
  const std::lock_guard latch(range_latch_);
  for (std::size_t i = regions_usable_; i > 0; --i) {
    if (is_idle(regions_[i - 1])) {
      ::madvise(range_ + (i - 1) * kRegionBytes, kRegionBytes, MADV_DONTNEED);
      regions_[i - 1].has_memory = false;
      idle_least_ = std::min(idle_least_, --idle_);
      return true;
    }
  }
  return false;
}

// If the system refuses a region, no further one is asked for.
bool SlabMemory::add_region() noexcept {
  if (regions_usable_ == regions_.size()) {
    return false;
  }
  try {
    const std::size_t all = (regions_usable_ + 1) * kBlocksOfRegion;
    if (free_blocks_.capacity() < all) {
      free_blocks_.reserve(2 * all);
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  std::byte* const at = range_ + regions_usable_ * kRegionBytes;
  if (::mprotect(at, kRegionBytes, PROT_READ | PROT_WRITE) != 0) {
    regions_.resize(regions_usable_);
    return false;
  }
  // Advice only: if the kernel refuses it, only speed is lost.
  ::madvise(at, kRegionBytes,
            range_bytes_ >= kRangeBytesForHugePages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < kBlocksOfRegion; ++i) {
    free_blocks_.push_back(static_cast<std::uint32_t>(regions_usable_ * kBlocksOfRegion + i));
  }
  std::ranges::make_heap(free_blocks_, std::greater<>{});
  ++regions_usable_;
  return true;
}

}  // namespace palimpsest
