#include "base/reserved_memory.h"

#include <sys/mman.h>

namespace palimpsest {

namespace {

std::byte* map(std::size_t size_bytes) noexcept {
  void* const memory = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace

ReservedMemory::ReservedMemory(std::size_t size_bytes) noexcept
    : memory_(map(size_bytes), Unmap{size_bytes}) {}

void ReservedMemory::Unmap::operator()(std::byte* memory) const noexcept {
  ::munmap(memory, size_bytes);
}

}  // namespace palimpsest
