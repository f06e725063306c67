#include "versioning/entry_memory.h"

#include <functional>

#include "base/check.h"
#include "base/thread_number.h"

namespace palimpsest::versioning {

EntryMemory::~EntryMemory() {
  check(entries() == 0 && tables() == 0 && bytes_in_use() == 0,
        "entries and mapping tables end before their memory does");
}

// A table takes two lines.
EmptyCounter& EntryMemory::counter_for(const void* table) noexcept {
  return counters_[std::hash<const void*>{}(table) / (2 * kCacheLineBytes) % kCounters];
}

void EntryMemory::add(Figure figure, std::int64_t more) noexcept {
  (stripes_[thread_number() % kStripes].*figure).fetch_add(more, std::memory_order_relaxed);
}

void EntryMemory::raise(std::atomic<Gsn>& highest, Gsn to) noexcept {
  Gsn now = highest.load(std::memory_order_relaxed);
  while (now < to && !highest.compare_exchange_weak(now, to, std::memory_order_release,
                                                    std::memory_order_relaxed)) {
  }
}

std::uint64_t EntryMemory::sum(Figure figure) const noexcept {
  std::int64_t sum = 0;
  for (const Stripe& stripe : stripes_) {
    sum += (stripe.*figure).load(std::memory_order_relaxed);
  }
  return static_cast<std::uint64_t>(sum < 0 ? 0 : sum);
}

}  // namespace palimpsest::versioning
