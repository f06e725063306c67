#include "tests/btree/allocation_faults.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "base/io/forwarding_device.h"

namespace palimpsest::btree::test {
namespace {

// operator new has nowhere else to look.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
// countdown to the allocation that fails; 0: none fails
thread_local std::uint64_t allocations_left = 0;
thread_local bool suspended = false;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void count_allocation() {
  if (suspended || allocations_left == 0) {
    return;
  }
  --allocations_left;
  if (allocations_left == 0) {
    throw std::bad_alloc();
  }
}

[[maybe_unused]] void* allocate(std::size_t bytes, std::size_t alignment) {
  count_allocation();
  void* memory = nullptr;
  if (posix_memalign(&memory, std::max(alignment, sizeof(void*)), bytes) != 0) {
    throw std::bad_alloc();
  }
  return memory;
}

class Suspension {
 public:
  Suspension() noexcept : before_(std::exchange(suspended, true)) {}
  Suspension(const Suspension&) = delete;
  Suspension& operator=(const Suspension&) = delete;
  ~Suspension() { suspended = before_; }

 private:
  bool before_;
};

class SuspendingFile final : public io::ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;

 private:
  void do_transfer(std::span<Attempted> batch) noexcept override {
    const Suspension during;
    ForwardingFile::do_transfer(batch);
  }
  int do_sync() noexcept override {
    const Suspension during;
    return ForwardingFile::do_sync();
  }
  int do_allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) noexcept override {
    const Suspension during;
    return ForwardingFile::do_allocate(offset_bytes, length_bytes);
  }
  int do_truncate(std::uint64_t size_bytes) noexcept override {
    const Suspension during;
    return ForwardingFile::do_truncate(size_bytes);
  }
  int do_size(std::uint64_t& size_bytes) noexcept override {
    const Suspension during;
    return ForwardingFile::do_size(size_bytes);
  }
};

class SuspendingDevice final : public io::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  std::unique_ptr<io::File> open(std::string_view name, io::OpenMode mode,
                                 bool exclusive) override {
    const Suspension during;
    return std::make_unique<SuspendingFile>(device().open(name, mode, exclusive), counters());
  }
};

}  // namespace

AllocationFault::AllocationFault(std::uint64_t nth) noexcept {
  allocations_left = nth;
}

AllocationFault::~AllocationFault() {
  allocations_left = 0;
}

bool AllocationFault::met() const noexcept {
  return allocations_left == 0;
}

std::unique_ptr<io::Device> without_allocation_faults(io::Device& device) {
  return std::make_unique<SuspendingDevice>(device);
}

}  // namespace palimpsest::btree::test

#ifndef PALIMPSEST_TSAN
void* operator new(std::size_t bytes) {
  return palimpsest::btree::test::allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return palimpsest::btree::test::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif
