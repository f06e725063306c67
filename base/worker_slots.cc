#include "base/worker_slots.h"

namespace palimpsest {

bool WorkerSlots::try_claim(std::uint32_t slot) noexcept {
  std::atomic<bool>& claimed = slots_[slot].claimed_;
  bool expected = false;
  return !claimed.load(std::memory_order_relaxed) &&
         claimed.compare_exchange_strong(expected, true);
}

std::optional<SlotId> WorkerSlots::claim(SlotId hint) noexcept {
  std::uint32_t count = this->count();
  if (raw(hint) < count && try_claim(raw(hint))) {
    return hint;
  }
  for (std::uint32_t slot = 0; slot < count; ++slot) {
    if (try_claim(slot)) {
      return SlotId{slot};
    }
  }
  // None in use is free: add the next one. The thread that counts it may lose it to another thread.
  while (count < slots_max_) {
    const std::uint32_t slot = count;
    if (count_.compare_exchange_strong(count, count + 1)) {
      ++count;
    }
    if (try_claim(slot)) {
      return SlotId{slot};
    }
  }
  return std::nullopt;
}

Gsn WorkerSlots::newest_gsn() const noexcept {
  Gsn newest{0};
  for (std::uint32_t slot = 0; slot < count(); ++slot) {
    newest = std::max(newest, slots_[slot].gsn());
  }
  return newest;
}

void WorkerSlots::release(SlotId slot) noexcept {
  std::atomic<bool>& claimed = slots_[raw(slot)].claimed_;
  check(claimed.load(std::memory_order_relaxed), "only a claimed slot can be given back");
  claimed.store(false, std::memory_order_release);
}

}  // namespace palimpsest
