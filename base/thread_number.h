// A small number for each thread, for spreading threads over stripes, shards and slots.
//
// Thread-safety: any thread. Failure: none.
#pragma once

#include <atomic>
#include <cstddef>

namespace palimpsest {

/// Constant for the life of a thread; threads numbered one after the other get consecutive numbers.
[[nodiscard]] inline std::size_t thread_number() noexcept {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace palimpsest
