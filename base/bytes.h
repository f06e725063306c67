// Byte views: keys and values as the engine passes them around.
#pragma once

#include <cstddef>
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

}  // namespace palimpsest
