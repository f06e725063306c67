// Which thread uses a transaction, so that a thread that would wait for its own transaction is told
// at once.
//
// A transaction may move between threads, so this states what the last call showed, not ownership:
//   used by thread t    t began it, or made its last call, and no other thread has made one since
//   bound to thread t   t is within Database::run(), and its body has the transaction: it ends when
//                       the body returns, so while t is in a call it does not end, unless the body
//                       has handed it to another thread. The first call by another thread unbinds
//                       it, and so does moving the handle.
//
// Thread-safety: all functions, from any thread. One word, written by the thread that makes a call.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/os_thread.h"

namespace palimpsest::txn {

class TransactionThread {
 public:
  /// This thread makes a call.
  void used() noexcept {
    if ((word_.load(std::memory_order_relaxed) & ~kBound) != os_thread()) [[unlikely]] {
      word_.store(os_thread(), std::memory_order_relaxed);
    }
  }
  void begin() noexcept { word_.store(os_thread(), std::memory_order_relaxed); }
  /// This thread is within run().
  void bind() noexcept { word_.store(os_thread() | kBound, std::memory_order_relaxed); }
  void unbind() noexcept { word_.fetch_and(~kBound, std::memory_order_relaxed); }

  [[nodiscard]] bool is_this() const noexcept { return number() == os_thread(); }
  [[nodiscard]] bool is_bound_to_this() const noexcept {
    return word_.load(std::memory_order_relaxed) == (os_thread() | kBound);
  }
  /// The operating system's number of the thread that used it last.
  [[nodiscard]] std::uint32_t number() const noexcept {
    return word_.load(std::memory_order_relaxed) & ~kBound;
  }

 private:
  static constexpr std::uint32_t kBound = std::uint32_t{1} << 31U;  ///< thread numbers are smaller

  std::atomic<std::uint32_t> word_{0};
};

}  // namespace palimpsest::txn
