// Latches for calls that take turns: a mutex with an inlined uncontended path, and a recursive one.
//
// Every call of a transaction locks one, and hardly ever finds it held by another call: what counts
// is the uncontended cost. A thread that must wait sleeps on a futex ("Futexes Are Tricky", Drepper
// 2011, the mutex of its section 6).
// Thread-safety: all functions, from any thread; unlock() by the holder.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/futex.h"
#include "base/thread_number.h"

namespace palimpsest {

class TurnLatch {
 public:
  TurnLatch() = default;
  TurnLatch(const TurnLatch&) = delete;
  TurnLatch& operator=(const TurnLatch&) = delete;

  void lock() noexcept {
    if (!try_lock()) [[unlikely]] {
      while (word_.exchange(kHasWaiters, std::memory_order_acquire) != kFree) {
        futex_wait(word_, kHasWaiters);
      }
    }
  }
  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t free = kFree;
    return word_.compare_exchange_strong(free, kHeld, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  /// Whether it is free now; if so, the last holder's writes are visible.
  [[nodiscard]] bool is_free() const noexcept {
    return word_.load(std::memory_order_acquire) == kFree;
  }
  /// A hint for the holder: true if a thread may be waiting. Also true when the holder itself had
  /// to wait; never because of a try_lock() alone.
  [[nodiscard]] bool is_wanted() const noexcept {
    return word_.load(std::memory_order_relaxed) == kHasWaiters;
  }
  /// After the exchange it uses only the address, to wake a sleeper; the next holder may destroy
  /// the latch.
  void unlock() noexcept {
    if (word_.exchange(kFree, std::memory_order_release) == kHasWaiters) [[unlikely]] {
      futex_wake_one(word_);  // the woken thread sets kHasWaiters: the next is woken too
    }
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kHasWaiters = 2;

  std::atomic<std::uint32_t> word_{kFree};
};

/// A TurnLatch that its holder may lock again, and must unlock as many times.
class RecursiveTurnLatch {
 public:
  void lock() noexcept {
    const std::size_t me = thread_number() + 1;
    if (holder_.load(std::memory_order_relaxed) == me) [[unlikely]] {
      ++again_;
      return;
    }
    latch_.lock();
    holder_.store(me, std::memory_order_relaxed);
  }
  void unlock() noexcept {
    if (again_ != 0) [[unlikely]] {
      --again_;
      return;
    }
    holder_.store(kNoHolder, std::memory_order_relaxed);
    latch_.unlock();
  }

 private:
  static constexpr std::size_t kNoHolder = 0;

  TurnLatch latch_;
  std::atomic<std::size_t> holder_{kNoHolder};
  std::size_t again_ = 0;  ///< only the holder accesses it
};

}  // namespace palimpsest
