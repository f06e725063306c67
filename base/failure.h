// A permanent failure: once a component has failed, it stays failed and keeps the first reason.
//
// Invariants: (1) a thread that sees has_happened() also sees the reason, unless there was no
//                 memory for it.
// Thread-safety: all functions, from any thread; the mutex is a leaf.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>

namespace palimpsest {

class Failure {
 public:
  /// Records the failure. A later call keeps the first reason. Whether this is the first call.
  bool happen(std::string_view reason) noexcept {
    {
      const std::lock_guard guard(mutex_);
      try {
        if (reason_.empty()) {
          reason_ = reason;
        }
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory for the reason
      }
    }
    return !happened_.exchange(true, std::memory_order_acq_rel);
  }

  [[nodiscard]] bool has_happened() const noexcept {
    return happened_.load(std::memory_order_acquire);
  }
  /// The reason, for messages.
  [[nodiscard]] std::string reason() const {
    const std::lock_guard guard(mutex_);
    return reason_.empty() ? "a sync or a write" : reason_;
  }

 private:
  std::atomic<bool> happened_{false};
  mutable std::mutex mutex_;
  std::string reason_;  ///< protected by mutex_
};

}  // namespace palimpsest
