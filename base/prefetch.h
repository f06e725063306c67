// Prefetching memory into the processor's caches.
#pragma once

#include <cstddef>

namespace palimpsest {

inline constexpr std::size_t kCacheLineBytes = 64;

/// Prefetches the line that holds the byte at `at`; any address is allowed, null too. The empty asm
/// statement counts as an effect: g++ 12 takes a function that only prefetches for one without
/// effects, and drops the calls.
inline void prefetch_line(const void* at) noexcept {
  __builtin_prefetch(at);
  asm volatile("");
}

/// As prefetch_line(), for a line that will be written.
inline void prefetch_to_write(const void* at) noexcept {
  __builtin_prefetch(at, 1);
  asm volatile("");
}

/// Prefetches the lines of [begin, end), counted from `begin`; any addresses are allowed.
inline void prefetch(const std::byte* begin, const std::byte* end) noexcept {
  for (; begin < end; begin += kCacheLineBytes) {
    prefetch_line(begin);
  }
}

}  // namespace palimpsest
