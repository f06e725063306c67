#include "base/epoch.h"

#include <algorithm>
#include <utility>

namespace palimpsest {
namespace {

struct Retired {
  void* object;
  Deleter deleter;
};

/// Objects that share a tag.
struct Batch {
  std::uint64_t tag = 0;  ///< set when closed
  std::size_t count = 0;
  std::array<Retired, EpochParticipant::kBatchObjects> objects;
  std::unique_ptr<Batch> next;

  [[nodiscard]] bool full() const noexcept { return count == objects.size(); }
};

/// What one participant has retired: an open batch, closed ones by ascending tag, and empty spares.
class RetireList {
 public:
  RetireList() = default;
  RetireList(const RetireList&) = delete;
  RetireList& operator=(const RetireList&) = delete;
  ~RetireList() {
    if (open_) {
      close(0);
    }
    while (oldest_) {
      free_oldest();
    }
    while (spare_) {  // one by one: a chain of destructors would use the stack
      spare_ = std::move(spare_->next);
    }
  }

  [[nodiscard]] std::size_t pending_count() const noexcept { return pending_count_; }
  [[nodiscard]] bool open_full() const noexcept { return open_ && open_->full(); }
  [[nodiscard]] bool open_empty() const noexcept { return !open_; }
  /// The closed batch with the smallest tag, or null.
  [[nodiscard]] const Batch* oldest() const noexcept { return oldest_.get(); }

  void add(Retired retired) {
    if (!open_) {
      open_ = take_spare();
    }
    open_->objects[open_->count++] = retired;
    ++pending_count_;
  }

  /// Closes the open batch, which is not empty.
  void close(std::uint64_t tag) noexcept {
    open_->tag = tag;
    Batch* closed = open_.get();
    (newest_ != nullptr ? newest_->next : oldest_) = std::move(open_);
    newest_ = closed;
  }

  /// Frees the objects of oldest() and returns how many.
  std::size_t free_oldest() noexcept {
    auto batch = std::move(oldest_);
    oldest_ = std::move(batch->next);
    if (!oldest_) {
      newest_ = nullptr;
    }
    const std::size_t freed_count = std::exchange(batch->count, 0);
    for (std::size_t i = 0; i < freed_count; ++i) {
      const auto& [object, deleter] = batch->objects[i];
      deleter.function(object, deleter.context);
    }
    pending_count_ -= freed_count;
    if (spare_count_ < kSparesKept) {
      keep_spare(std::move(batch));
    }
    return freed_count;
  }

  void reserve_batches(std::size_t batches_count) {
    while (spare_count_ < batches_count) {
      keep_spare(std::make_unique<Batch>());
    }
  }

 private:
  static constexpr std::size_t kSparesKept = 4;

  std::unique_ptr<Batch> take_spare() {
    if (!spare_) {
      return std::make_unique<Batch>();
    }
    auto batch = std::move(spare_);
    spare_ = std::move(batch->next);
    --spare_count_;
    return batch;
  }

  void keep_spare(std::unique_ptr<Batch> batch) noexcept {
    batch->next = std::move(spare_);
    spare_ = std::move(batch);
    ++spare_count_;
  }

  std::unique_ptr<Batch> open_;    ///< null or not empty
  std::unique_ptr<Batch> oldest_;  ///< closed batches, linked by next
  Batch* newest_ = nullptr;        ///< the last of them
  std::unique_ptr<Batch> spare_;   ///< empty batches, linked by next
  std::size_t spare_count_ = 0;
  std::size_t pending_count_ = 0;
};

}  // namespace

struct alignas(64) EpochParticipant::Slot {
  std::atomic<std::uint64_t> entered{kIdle};  ///< written by the owner, read by scans
  std::atomic<bool> claimed{false};
  RetireList retired;  ///< the owner's, that is, who set claimed
};

struct EpochManager::Chunk {
  std::array<EpochParticipant::Slot, kChunkSlots> slots;
};

EpochParticipant::EpochParticipant(EpochManager& manager, Slot& slot) noexcept
    : global_(&manager.global_), entered_(&slot.entered), manager_(&manager), slot_(&slot) {}

EpochParticipant::EpochParticipant(EpochParticipant&& other) noexcept
    : global_(other.global_),
      entered_(other.entered_),
      manager_(other.manager_),
      slot_(std::exchange(other.slot_, nullptr)) {}

EpochParticipant::~EpochParticipant() {
  if (slot_ == nullptr) {
    return;
  }
  check(slot_->entered.load(std::memory_order_relaxed) == kIdle,
        "epoch participant ended inside a guard");
  reclaim();
  slot_->claimed.store(false, std::memory_order_release);
}

void EpochParticipant::retire(void* object, Deleter deleter) noexcept {
  if (slot_->retired.open_full()) {
    manager_->close_batch(*slot_);
    manager_->reclaim(*slot_);
  }
  slot_->retired.add({object, deleter});
}

void EpochParticipant::reserve(std::size_t objects_count) {
  slot_->retired.reserve_batches((objects_count + kBatchObjects - 1) / kBatchObjects);
}

std::size_t EpochParticipant::reclaim() noexcept {
  manager_->close_batch(*slot_);
  return manager_->reclaim(*slot_);
}

std::size_t EpochParticipant::pending_count() const noexcept {
  return slot_->retired.pending_count();
}

EpochManager::EpochManager(std::size_t participants_max)
    : participants_max_(participants_max),
      chunks_((participants_max + kChunkSlots - 1) / kChunkSlots) {}

EpochManager::~EpochManager() {
  for (std::size_t i = 0; i < used_count_.load(std::memory_order_acquire); ++i) {
    check(!slot(i).claimed.load(std::memory_order_acquire),
          "epoch manager destroyed before its participants");
  }
  for (auto& chunk : chunks_) {
    delete chunk.load(std::memory_order_relaxed);
  }
}

std::optional<EpochParticipant> EpochManager::claim() {
  for (std::size_t i = 0; i < participants_max_; ++i) {
    auto& slot = chunk(i / kChunkSlots).slots[i % kChunkSlots];
    bool claimed = slot.claimed.load(std::memory_order_relaxed);
    if (!claimed && slot.claimed.compare_exchange_strong(claimed, true, std::memory_order_acquire,
                                                         std::memory_order_relaxed)) {
      raise_used(i + 1);
      return EpochParticipant(*this, slot);
    }
  }
  return std::nullopt;
}

std::size_t EpochManager::reclaim_abandoned() noexcept {
  std::size_t freed_count = 0;
  const std::size_t used_count = used_count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used_count; ++i) {
    auto& abandoned = slot(i);
    bool claimed = false;
    if (!abandoned.claimed.compare_exchange_strong(claimed, true, std::memory_order_acquire,
                                                   std::memory_order_relaxed)) {
      continue;
    }
    freed_count += reclaim(abandoned);
    abandoned.claimed.store(false, std::memory_order_release);
  }
  return freed_count;
}

/// The chunk, allocated by whoever needs it first.
EpochManager::Chunk& EpochManager::chunk(std::size_t index) {
  Chunk* present = chunks_[index].load(std::memory_order_acquire);
  if (present == nullptr) {
    auto fresh = std::make_unique<Chunk>();
    if (chunks_[index].compare_exchange_strong(present, fresh.get(), std::memory_order_acq_rel,
                                               std::memory_order_acquire)) {
      present = fresh.release();
    }
  }
  return *present;
}

/// A slot below used_count_.
EpochParticipant::Slot& EpochManager::slot(std::size_t index) const noexcept {
  return chunks_[index / kChunkSlots].load(std::memory_order_acquire)->slots[index % kChunkSlots];
}

void EpochManager::raise_used(std::size_t count) noexcept {
  std::size_t used = used_count_.load(std::memory_order_relaxed);
  while (used < count && !used_count_.compare_exchange_weak(used, count, std::memory_order_acq_rel,
                                                            std::memory_order_relaxed)) {
  }
}

void EpochManager::full_fence() noexcept {
#ifdef PALIMPSEST_TSAN
  global_.fetch_add(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// Closes the slot's open batch, if there is one, and moves the global epoch on from its tag, so
/// that the batch becomes safe as soon as today's readers have left.
void EpochManager::close_batch(EpochParticipant::Slot& slot) noexcept {
  if (slot.retired.open_empty()) {
    return;
  }
  full_fence();                                                 // R2
  std::uint64_t tag = global_.load(std::memory_order_relaxed);  // R3
  slot.retired.close(tag);
  global_.compare_exchange_strong(tag, tag + 1, std::memory_order_acq_rel,
                                  std::memory_order_relaxed);
}

/// Finds out what is safe now, and publishes it.
std::uint64_t EpochManager::scan() noexcept {
  std::uint64_t safe = global_.load(std::memory_order_relaxed);  // S1
  full_fence();                                                  // S2
  const std::size_t used_count = used_count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used_count; ++i) {  // S3
    const std::uint64_t entered = slot(i).entered.load(std::memory_order_acquire);
    if (entered != EpochParticipant::kIdle) {
      safe = std::min(safe, entered);
    }
  }
  std::uint64_t published = safe_.load(std::memory_order_acquire);
  while (published < safe &&
         !safe_.compare_exchange_weak(published, safe, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
  }
  return std::max(published, safe);
}

std::size_t EpochManager::reclaim(EpochParticipant::Slot& slot) noexcept {
  const Batch* oldest = slot.retired.oldest();
  if (oldest == nullptr) {
    return 0;
  }
  std::uint64_t safe = safe_.load(std::memory_order_acquire);
  if (oldest->tag >= safe) {
    safe = scan();
  }
  std::size_t freed_count = 0;
  while (oldest != nullptr && oldest->tag < safe) {
    freed_count += slot.retired.free_oldest();
    oldest = slot.retired.oldest();
  }
  return freed_count;
}

}  // namespace palimpsest
