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
#include <cstring>

namespace palimpsest {

[[nodiscard]] constexpr std::size_t varint_bytes(std::uint64_t number) noexcept {
  // (bits + 6) / 7, without the division; for 64 bits, too.
  return (static_cast<std::size_t>(std::bit_width(number | 1U)) * 9 + 64) / 64;
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

namespace detail {

/// take_varint() of any number, byte by byte.
[[nodiscard]] inline const std::byte* take_varint_slowly(const std::byte* from,
                                                         const std::byte* end,
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

/// take_varint() of 3 bytes or more. Up to 8 are taken in one word, without a branch for each.
[[nodiscard]] inline const std::byte* take_long_varint(const std::byte* from, const std::byte* end,
                                                       std::uint64_t& number) noexcept {
  static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");
  constexpr std::uint64_t kTopBits = 0x8080808080808080U;
  std::uint64_t word = 0;
  if (end - from < static_cast<std::ptrdiff_t>(sizeof word)) {
    return take_varint_slowly(from, end, number);
  }
  std::memcpy(&word, from, sizeof word);
  const std::uint64_t lasts = ~word & kTopBits;  // of bytes that may be the last
  if (lasts == 0) {
    return take_varint_slowly(from, end, number);
  }
  const int bits = std::countr_zero(lasts) + 1;
  word &= lasts ^ (lasts - 1);
  if (word >> (bits - 8) == 0) {
    return nullptr;  // overlong
  }
  // Seven bits of each byte, then fourteen of each two, then 28 of each four.
  word = (word & 0x007F007F007F007FU) | (word & 0x7F007F007F007F00U) >> 1U;
  word = (word & 0x00003FFF00003FFFU) | (word & 0x3FFF00003FFF0000U) >> 2U;
  number = (word & 0x000000000FFFFFFFU) | (word & 0x0FFFFFFF00000000U) >> 4U;
  return from + bits / 8;
}

}  // namespace detail

/// Reads the number at `from`, which ends before `end`. What is behind it, or nullptr if there is
/// none; `number` is meaningless then. Inlined for one byte and two, which most numbers have.
[[nodiscard]] inline const std::byte* take_varint(const std::byte* from, const std::byte* end,
                                                  std::uint64_t& number) noexcept {
  if (from == end) [[unlikely]] {
    return nullptr;
  }
  number = static_cast<std::uint64_t>(from[0]);
  if (number < 0x80U) [[likely]] {
    return from + 1;
  }
  if (end - from >= 2) [[likely]] {
    const auto second = static_cast<std::uint64_t>(from[1]);
    if (second < 0x80U) {
      number = (number & 0x7FU) | second << 7U;
      return second == 0 ? nullptr : from + 2;
    }
  }
  return detail::take_long_varint(from, end, number);
}

}  // namespace palimpsest
