// Asking the processor for memory that will be read soon.
#pragma once

#include <cstddef>

namespace palimpsest {

inline constexpr std::size_t kCacheLineBytes = 64;

/// Asks for the line that holds the byte at `at`; any address will do, null too. The statement
/// behind it does nothing, but is an effect: g++ 12 takes a function that only prefetches for one
/// without any, and drops the calls.
inline void prefetch_line(const void* at) noexcept {
  __builtin_prefetch(at);
  asm volatile("");
}

/// The same, for who will write there.
inline void prefetch_to_write(const void* at) noexcept {
  __builtin_prefetch(at, 1);
  asm volatile("");
}

/// Asks for the lines of [begin, end), counted from `begin`; any address will do.
inline void prefetch(const std::byte* begin, const std::byte* end) noexcept {
  for (; begin < end; begin += kCacheLineBytes) {
    prefetch_line(begin);
  }
}

}  // namespace palimpsest
