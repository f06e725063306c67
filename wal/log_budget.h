// How much may still be appended: keeps the log within its segments, with room for every rollback.
//
// A transaction takes credit for what it will append, and for the compensation of what it may have
// to undo, in units large enough that the shared number is touched seldom. The bytes of all
// existing segments, less a margin for padding and half-filled segment ends, are in one of four
// states:
//     left + credit held + appended and not written yet + written and not released = total
// Invariants: (1) credit is only granted out of segments that exist: its holder can append and
//                 write even on a full disk;
//             (2) left falls below zero only through padding; no credit is granted then.
// Thread-safety: all functions, from any thread; none blocks.
#pragma once

#include <atomic>
#include <cstdint>

namespace palimpsest::wal {

class LogBudget {
 public:
  /// False, and nothing taken, if less is left.
  [[nodiscard]] bool take(std::int64_t bytes) noexcept {
    std::int64_t left = left_.load(std::memory_order_relaxed);
    while (left >= bytes) {
      if (left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  /// Adds returned credit, or a segment made or released; a negative number is padding written.
  void add(std::int64_t bytes) noexcept { left_.fetch_add(bytes, std::memory_order_relaxed); }

  [[nodiscard]] std::int64_t left() const noexcept { return left_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> left_{0};
};

}  // namespace palimpsest::wal
