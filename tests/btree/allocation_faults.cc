#include "tests/btree/allocation_faults.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

namespace palimpsest::btree::test {
namespace {

// operator new has nowhere else to look.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
thread_local std::uint64_t allocations_left = 0;  // until the one that fails; 0: none fails
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

void* allocate(std::size_t bytes, std::size_t alignment) {
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

class SuspendingFile final : public io::File {
 public:
  SuspendingFile(std::unique_ptr<io::File> file, std::shared_ptr<io::IoCounters> counters)
      : File(file->name(), std::move(counters)), file_(std::move(file)) {}

  std::size_t alignment_bytes() const noexcept override { return file_->alignment_bytes(); }
  std::size_t atomic_write_bytes_max() const noexcept override {
    return file_->atomic_write_bytes_max();
  }

 private:
  void do_transfer(std::span<Attempted> batch) noexcept override {
    const Suspension during;
    for (Attempted& attempted : batch) {
      io::Transfer transfer = *attempted.transfer;
      transfer.offset_bytes += attempted.already_bytes;
      transfer.data = transfer.data.subspan(attempted.already_bytes);
      file_->run({&transfer, 1});
      attempted.result = transfer.error == 0 ? static_cast<std::int64_t>(transfer.data.size())
                                             : -std::int64_t{EIO};
    }
  }
  template <class Call>
  static int errno_of(Call call) noexcept {
    const Suspension during;
    try {
      call();
      return 0;
    } catch (const Error&) {
      return EIO;
    }
  }
  int do_sync() noexcept override {
    return errno_of([&] { file_->sync(); });
  }
  int do_allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) noexcept override {
    return errno_of([&] { file_->allocate(offset_bytes, length_bytes); });
  }
  int do_truncate(std::uint64_t size_bytes) noexcept override {
    return errno_of([&] { file_->truncate(size_bytes); });
  }
  int do_size(std::uint64_t& size_bytes) noexcept override {
    return errno_of([&] { size_bytes = file_->size_bytes(); });
  }

  std::unique_ptr<io::File> file_;
};

class SuspendingDevice final : public io::Device {
 public:
  explicit SuspendingDevice(io::Device& device) : device_(device) {}

  std::unique_ptr<io::File> open(std::string_view name, io::OpenMode mode,
                                 bool exclusive) override {
    const Suspension during;
    return std::make_unique<SuspendingFile>(device_.open(name, mode, exclusive), counters());
  }
  bool exists(std::string_view name) override { return device_.exists(name); }
  void remove(std::string_view name) override { device_.remove(name); }
  void rename(std::string_view from, std::string_view to) override { device_.rename(from, to); }
  void sync_directory() override { device_.sync_directory(); }
  std::vector<std::string> list() override { return device_.list(); }
  std::unique_ptr<io::BufferRegistration> register_buffer(MutableBytes memory) override {
    return device_.register_buffer(memory);
  }
  std::string description() const override { return device_.description(); }
  const std::string& path() const noexcept override { return device_.path(); }

 private:
  io::Device& device_;
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
