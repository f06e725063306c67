// Byte views: keys and values as the engine passes them around.
#pragma once

#include <algorithm>
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

[[nodiscard]] inline std::span<char> as_chars(MutableBytes bytes) noexcept {
  return {static_cast<char*>(static_cast<void*>(bytes.data())), bytes.size()};
}

[[nodiscard]] inline ByteView as_view(const std::byte* data, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(data), size};
}

[[nodiscard]] inline bool is_zero(ConstBytes bytes) noexcept {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

/// Whether `length` bytes are equal; inlined for prefixes and short keys. Reads no byte beyond
/// them: memcmp loads a whole vector and masks the excess, which costs a cache miss if the excess
/// lies in another line.
[[nodiscard]] inline bool equal_bytes(const char* a, const char* b, std::size_t length) noexcept {
  const auto differ = [&]<class Word>(Word, std::size_t at) {
    Word x = 0;
    Word y = 0;
    std::memcpy(&x, a + at, sizeof x);
    std::memcpy(&y, b + at, sizeof y);
    return x ^ y;
  };
  if (length >= 8) {
    for (std::size_t i = 0; i + 8 < length; i += 8) {
      if (differ(std::uint64_t{}, i) != 0) {
        return false;
      }
    }
    return differ(std::uint64_t{}, length - 8) == 0;
  }
  if (length >= 4) {
    return (differ(std::uint32_t{}, 0) | differ(std::uint32_t{}, length - 4)) == 0;
  }
  if (length >= 2) {
    return (differ(std::uint16_t{}, 0) | differ(std::uint16_t{}, length - 2)) == 0;
  }
  return length == 0 || a[0] == b[0];
}

}  // namespace palimpsest
