// Byte views: keys and values as the engine passes them around.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace palimpsest {

/// A view of key or value bytes. `std::string_view` because its comparison is `memcmp` order
/// (`char_traits<char>` compares as unsigned), because callers have it, and because it prints.
using ByteView = std::string_view;

/// Raw memory of pages and I/O buffers.
using MutableBytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

[[nodiscard]] inline ByteView as_view(const std::byte* data, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(data), size};
}

/// memcpy, inlined for a few bytes whose number is known at run time only: suffixes of keys.
inline void copy_short(char* to, const char* from, std::size_t size) noexcept {
  const auto copy_ends = [&]<class Word>(Word) {
    Word first;
    Word last;
    std::memcpy(&first, from, sizeof first);
    std::memcpy(&last, from + size - sizeof last, sizeof last);
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + size - sizeof last, &last, sizeof last);
  };
  if (size > 16) {
    std::memcpy(to, from, size);
  } else if (size >= 8) {
    copy_ends(std::uint64_t{});
  } else if (size >= 4) {
    copy_ends(std::uint32_t{});
  } else if (size >= 2) {
    copy_ends(std::uint16_t{});
  } else if (size == 1) {
    *to = *from;
  }
}

}  // namespace palimpsest
