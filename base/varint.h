// Unsigned integers in as few bytes as they need (LEB128): seven bits a byte, the lowest first,
// with the top bit set in all bytes but the last. For formats in which each byte counts.
//
// Each number has exactly one encoding: a longer one is refused.
// Failure: take_varint() reports bytes, possibly hostile, that are no such number; nothing else
// fails.
// Thread-safety: pure functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace palimpsest {

[[nodiscard]] constexpr std::size_t varint_bytes(std::uint64_t number) noexcept {
  // (bits + 6) / 7 without the division; also correct for 64 bits.
  return (static_cast<std::size_t>(std::bit_width(number | 1U)) * 9 + 64) / 64;
}

/// Writes varint_bytes(number) bytes; returns the address after them.
[[nodiscard]] inline std::byte* put_varint(std::byte* into, std::uint64_t number) noexcept {
  while (number >= 0x80U) {
    *into++ = static_cast<std::byte>(number | 0x80U);
    number >>= 7U;
  }
  *into++ = static_cast<std::byte>(number);
  return into;
}

namespace detail {

/// take_varint() for any number, byte by byte.
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

/// take_varint() for 3 bytes or more. Decodes up to 8 bytes as one word, without a branch for each.
[[nodiscard]] inline const std::byte* take_long_varint(const std::byte* from, const std::byte* end,
                                                       std::uint64_t& number) noexcept {
  static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");
  constexpr std::uint64_t kTopBits = 0x8080808080808080U;
  std::uint64_t word = 0;
  if (end - from < static_cast<std::ptrdiff_t>(sizeof word)) {
    return take_varint_slowly(from, end, number);
  }
  std::memcpy(&word, from, sizeof word);
  const std::uint64_t lasts = ~word & kTopBits;  // the top bits of bytes that may be the last
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

/// Decodes the number that starts at `from` and ends before `end`. Returns the address after it, or
/// nullptr if there is none; `number` is meaningless then. Inlined for one and two bytes, which
/// most numbers have.
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
