#include "versioning/entry_memory.h"

#include <functional>
#include <new>

#include "base/check.h"
#include "base/thread_number.h"

namespace palimpsest::versioning {

EntryMemory::~EntryMemory() {
  check(entries() == 0 && tables() == 0 && bytes_in_use() == 0,
        "entries and mapping tables end before their memory does");
}

void* EntryMemory::allocate(std::size_t size_bytes) {
  void* memory = ::operator new(size_bytes);
  add(&Stripe::bytes, static_cast<std::int64_t>(size_bytes));
  return memory;
}

void EntryMemory::deallocate(void* memory, std::size_t size_bytes) noexcept {
  ::operator delete(memory);
  add(&Stripe::bytes, -static_cast<std::int64_t>(size_bytes));
}

EmptyCounter& EntryMemory::counter_for(const void* table) noexcept {
  return counters_[std::hash<const void*>{}(table) / alignof(std::max_align_t) % kCounters];
}

void EntryMemory::add(Figure figure, std::int64_t more) noexcept {
  (stripes_[thread_number() % kStripes].*figure).fetch_add(more, std::memory_order_relaxed);
}

std::uint64_t EntryMemory::sum(Figure figure) const noexcept {
  std::int64_t sum = 0;
  for (const Stripe& stripe : stripes_) {
    sum += (stripe.*figure).load(std::memory_order_relaxed);
  }
  return static_cast<std::uint64_t>(sum < 0 ? 0 : sum);
}

}  // namespace palimpsest::versioning
