#include "base/reserved_memory.h"

#include <sys/mman.h>

namespace palimpsest {

namespace {

/// Excluded from children of fork(), which have no use for it. Copy-on-write would cost a fault for
/// each page that the parent changes while the child lives and, before Linux 6.3, could lose what a
/// device is reading into it.
std::byte* map(std::size_t size_bytes) noexcept {
  void* const memory = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  ::madvise(memory, size_bytes, MADV_DONTFORK);
  return static_cast<std::byte*>(memory);
}

}  // namespace

ReservedMemory::ReservedMemory(std::size_t size_bytes) noexcept
    : memory_(map(size_bytes), Unmap{size_bytes}) {}

void ReservedMemory::Unmap::operator()(std::byte* memory) const noexcept {
  ::munmap(memory, size_bytes);
}

}  // namespace palimpsest
