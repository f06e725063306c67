// Unsigned numbers in as few bytes as they need: seven bits a byte, the lowest first, and the top
// bit set in all but the last (LEB128). Small numbers of formats in which bytes count.
//
// A number has one form: what is longer than it need be is refused.
// Failure: take_varint() says when bytes, which may be hostile, are no such number; nothing else
//          fails. Thread-safety: pure functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace palimpsest {

[[nodiscard]] constexpr std::size_t varint_bytes(std::uint64_t number) noexcept {
  return (static_cast<std::size_t>(std::bit_width(number | 1U)) + 6) / 7;
}

/// Writes varint_bytes(number) bytes; returns what is behind them.
[[nodiscard]] inline std::byte* put_varint(std::byte* into, std::uint64_t number) noexcept {
  while (number >= 0x80U) {
    *into++ = static_cast<std::byte>(number | 0x80U);
    number >>= 7U;
  }
  *into++ = static_cast<std::byte>(number);
  return into;
}

/// Reads the number at `from`, which ends before `end`. What is behind it, or nullptr if there is
/// none; `number` is meaningless then.
[[nodiscard]] inline const std::byte* take_varint(const std::byte* from, const std::byte* end,
                                                  std::uint64_t& number) noexcept {
  number = 0;
  for (unsigned shift = 0; from != end && shift < 64; shift += 7) {
    const auto byte = static_cast<std::uint64_t>(*from++);
    number |= (byte & 0x7FU) << shift;
    if (byte < 0x80U) {
      const bool overlong = byte == 0 && shift != 0;
      const bool overflows = shift == 63 && byte > 1;
      return overlong || overflows ? nullptr : from;
    }
  }
  return nullptr;
}

}  // namespace palimpsest
