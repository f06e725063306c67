// A thread with a small stack, whose use is measured: the memory is painted before, and what lost
// its paint was used. Below it lies a page that cannot be touched, so that what needs more crashes.
#pragma once

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "palimpsest/function_ref.h"

namespace palimpsest::test {

class SmallStack {
 public:
  /// All that the thread has: its stack, what the C library keeps of a thread, thread-local memory.
  explicit SmallStack(std::size_t bytes) : bytes_(bytes) {
    void* const memory = ::mmap(nullptr, kGuardBytes + bytes_, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || ::mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
      throw std::runtime_error("no memory for a stack");
    }
    memory_ = static_cast<unsigned char*>(memory);
  }
  SmallStack(const SmallStack&) = delete;
  SmallStack& operator=(const SmallStack&) = delete;
  ~SmallStack() { ::munmap(memory_, kGuardBytes + bytes_); }

  /// Does `work` in a thread of its own; throws what that throws. How many bytes it has used.
  std::size_t run(FunctionRef<void()> work) {
    unsigned char* const stack = memory_ + kGuardBytes;
    std::memset(stack, kPaint, bytes_);
    Task task{.work = work, .error = {}};
    pthread_attr_t attributes;
    pthread_t thread{};
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstack(&attributes, stack, bytes_);
    const int error = ::pthread_create(&thread, &attributes, &SmallStack::start, &task);
    ::pthread_attr_destroy(&attributes);
    if (error != 0) {
      throw std::system_error(error, std::generic_category(), "a thread with a small stack");
    }
    ::pthread_join(thread, nullptr);
    if (task.error != nullptr) {
      std::rethrow_exception(task.error);
    }
    const auto* const used =
        std::find_if(stack, stack + bytes_, [](unsigned char byte) { return byte != kPaint; });
    return static_cast<std::size_t>(stack + bytes_ - used);
  }

 private:
  static constexpr std::size_t kGuardBytes = 64 << 10;  ///< more than any frame
  static constexpr unsigned char kPaint = 0xA7;

  struct Task {
    FunctionRef<void()> work;
    std::exception_ptr error;
  };

  static void* start(void* argument) noexcept {
    auto& task = *static_cast<Task*>(argument);
    try {
      task.work();
    } catch (...) {
      task.error = std::current_exception();
    }
    return nullptr;
  }

  const std::size_t bytes_;
  unsigned char* memory_ = nullptr;
};

}  // namespace palimpsest::test
