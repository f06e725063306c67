#include "base/io/ring_pool.h"

#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/io/io_counters.h"

namespace palimpsest::io {

RingPool::Lease RingPool::lend() noexcept {
  const auto existing_and_free = [](const FreeWord& word) {
    return word.existing.load(std::memory_order_relaxed) &
           word.bits.load(std::memory_order_relaxed);
  };
  const auto free = [](const FreeWord& word) { return word.bits.load(std::memory_order_relaxed); };
  const std::size_t first_word = processor_hint();
  Lease idle = lend_one_of(existing_and_free, first_word);
  return idle ? std::move(idle) : lend_one_of(free, first_word);
}

/// Lends the lowest ring among `candidates(word)` of the first word that has any. Without a lock,
/// so a ring given back behind the search is missed.
template <class Candidates>
RingPool::Lease RingPool::lend_one_of(Candidates candidates, std::size_t first_word) noexcept {
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::size_t word = (first_word + i) % kWords;
    std::uint64_t bits = candidates(words_[word]);
    for (; bits != 0; bits = candidates(words_[word])) {
      const std::size_t index =
          word * kRingsPerWord + static_cast<std::size_t>(std::countr_zero(bits));
      if (take(index)) {
        return prepare(index) ? Lease(*this, index) : Lease();
      }
    }
  }
  return {};
}

bool RingPool::take(std::size_t index) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (index % kRingsPerWord);
  std::atomic<std::uint64_t>& bits = words_[index / kRingsPerWord].bits;
  // Acquire pairs with the release in give_back(); sequentially consistent for the reason given
  // there.
  return (bits.fetch_and(~bit, std::memory_order_seq_cst) & bit) != 0;
}

/// Makes a taken ring ready for use. False if none can be created; its bit is set again.
bool RingPool::prepare(std::size_t index) noexcept {
  std::unique_ptr<Ring>& ring = rings_[index];
  FreeWord& word = words_[index / kRingsPerWord];
  const std::uint64_t bit = std::uint64_t{1} << (index % kRingsPerWord);
  if (ring == nullptr) {
    int error = 0;
    ring = Ring::create(error);
    if (ring == nullptr) {
      word.bits.fetch_or(bit, std::memory_order_seq_cst);
      log_no_ring(error);
      return false;
    }
    word.existing.fetch_or(bit, std::memory_order_seq_cst);
  }
  catch_up(*ring);
  return true;
}

/// Reports it once.
void RingPool::log_no_ring(int error) noexcept {
  if (logged_no_ring_.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  log_to(log_, LogLevel::warning, component::kDevice,
         "no further io_uring can be created; batches are read and written block by block until "
         "one can",
         {{"errno", std::int64_t{error}}});
}

void RingPool::give_back(std::size_t index) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (index % kRingsPerWord);
  FreeWord& word = words_[index / kRingsPerWord];
  for (;;) {
    if (rings_[index]->is_broken()) {
      word.existing.fetch_and(~bit, std::memory_order_seq_cst);
      rings_[index].reset();
    }
    const std::uint64_t seen = rings_[index] == nullptr ? 0 : rings_[index]->seen_change;
    const bool exists = rings_[index] != nullptr;
    // Either update_idle_rings() finds the bit set and takes the ring, or this thread sees the
    // change that update_idle_rings() announced before it looked: both are sequentially consistent.
    word.bits.fetch_or(bit, std::memory_order_seq_cst);
    if (!exists || changes_.load(std::memory_order_seq_cst) == seen || !take(index)) {
      return;
    }
    if (rings_[index] == nullptr) {
      word.bits.fetch_or(bit, std::memory_order_seq_cst);
      return;
    }
    catch_up(*rings_[index]);
  }
}

void RingPool::catch_up(Ring& ring) noexcept {
  if (ring.seen_change == changes_.load(std::memory_order_acquire)) {
    return;
  }
  const std::lock_guard guard(tables_mutex_);
  ring.adopt(files_, regions_);
  ring.seen_change = changes_.load(std::memory_order_relaxed);
  if (!ring.has_all_regions() && !logged_no_region_.exchange(true, std::memory_order_relaxed)) {
    log_to(log_, LogLevel::info, component::kDevice,
           "the system does not let io_uring register buffers (see the limit of locked memory); "
           "transfers continue without registered buffers");
  }
}

void RingPool::update_idle_rings() noexcept {
  for (std::size_t word = 0; word < kWords; ++word) {
    std::uint64_t existing = words_[word].existing.load(std::memory_order_seq_cst);
    for (; existing != 0; existing &= existing - 1) {
      const std::size_t index =
          word * kRingsPerWord + static_cast<std::size_t>(std::countr_zero(existing));
      if (take(index)) {
        if (rings_[index] == nullptr) {  // broke and was destroyed meanwhile
          words_[word].bits.fetch_or(std::uint64_t{1} << (index % kRingsPerWord),
                                     std::memory_order_seq_cst);
          continue;
        }
        catch_up(*rings_[index]);
        give_back(index);
      }
    }
  }
}

RingFile RingPool::add_file(int descriptor) noexcept {
  const std::lock_guard guard(tables_mutex_);
  for (std::size_t slot = 0; slot < files_.size(); ++slot) {
    if (files_[slot] == 0) {
      files_[slot] = ++last_id_;
      return {.descriptor = descriptor, .slot = slot, .id = files_[slot]};
    }
  }
  return {.descriptor = descriptor};
}

void RingPool::forget_file(const RingFile& file) noexcept {
  if (file.slot == RingFile::kNone) {
    return;
  }
  {
    const std::lock_guard guard(tables_mutex_);
    files_[file.slot] = 0;
    changes_.fetch_add(1, std::memory_order_seq_cst);
  }
  update_idle_rings();
}

std::uint64_t RingPool::add_region(MutableBytes memory) noexcept {
  if (memory.empty() || memory.size() > kRegionBytesMax) {
    return 0;
  }
  const std::lock_guard guard(tables_mutex_);
  for (RingRegion& region : regions_) {
    if (region.id == 0) {
      region = {.id = ++last_id_, .memory = memory};
      changes_.fetch_add(1, std::memory_order_seq_cst);
      return region.id;
    }
  }
  return 0;
}

void RingPool::forget_region(std::uint64_t id) noexcept {
  if (id == 0) {
    return;
  }
  {
    const std::lock_guard guard(tables_mutex_);
    for (RingRegion& region : regions_) {
      if (region.id == id) {
        region = {};
        changes_.fetch_add(1, std::memory_order_seq_cst);
      }
    }
  }
  update_idle_rings();
}

std::size_t RingPool::rings_count() const noexcept {
  std::size_t count = 0;
  for (const FreeWord& word : words_) {
    count += static_cast<std::size_t>(std::popcount(word.existing.load(std::memory_order_relaxed)));
  }
  return count;
}

}  // namespace palimpsest::io
