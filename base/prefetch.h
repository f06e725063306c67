// Asking the processor for memory that will be read soon.
#pragma once

#include <cstddef>

namespace palimpsest {

inline constexpr std::size_t kCacheLineBytes = 64;

/// Asks for the lines of [begin, end), counted from `begin`; any address will do. This function and
/// those that do nothing but call it are always inlined: g++ 12 takes them for functions without
/// effect and drops the calls.
[[gnu::always_inline]] inline void prefetch(const std::byte* begin, const std::byte* end) noexcept {
  for (; begin < end; begin += kCacheLineBytes) {
    __builtin_prefetch(begin);
  }
}

/// Asks for the line that holds the byte at `at`; any address will do, null too.
[[gnu::always_inline]] inline void prefetch_line(const void* at) noexcept {
  __builtin_prefetch(at);
}

}  // namespace palimpsest
