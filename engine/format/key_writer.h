// Writes keys column by column into the caller's memory: bytes with the memcmp order of the
// columns.
//
// A caller that knows the columns' types calls put() with C++ values; key_codec.h does it by a
// schema.
//
// On disk, by type ("sign flipped": the top bit is inverted, so that negative numbers come first):
//   boolean            1 byte: 0 or 1
//   int8 to int64, date, timestamp    big-endian, sign flipped
//   float32, float64   big-endian: of a negative number all bits inverted, of others the sign
//                      flipped. -0 is written as +0, any NaN as the positive quiet one: it is last
//   decimal            the unscaled integer in 8 bytes (up to 18 digits) or 16, big-endian, sign
//                      flipped
//   character          its length, padded with spaces
//   varchar, bytes     closed: 00 as 00 FF, then 00 00. Open: the bytes as they are
//   nullable           00 for null and nothing else; 01 and the value otherwise: nulls are first
// The key decides whether a text is open or closed (key_codec.h): only the last one can be open.
//
// Failure: an overflow of the memory is noted, and nothing is written beyond its end.
// Thread-safety: one object belongs to one thread.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "palimpsest/types.h"

#include "base/bytes.h"

namespace palimpsest::engine {

inline constexpr char kNullMark = 0x00;
inline constexpr char kValueMark = 0x01;
inline constexpr char kEscape = 0x00;         ///< a zero in a closed text is written as this,
inline constexpr char kEscapedZero = '\xFF';  ///< then this
inline constexpr char kEndOfText = 0x00;      ///< behind the last byte: kEscape, then this

namespace detail {

/// An unsigned integer of the number's width, with the same order.
template <std::integral Number>
[[nodiscard]] constexpr auto ordered(Number number) noexcept {
  using Bits = std::make_unsigned_t<Number>;
  constexpr Bits kSign = std::signed_integral<Number> ? Bits{1} << (8 * sizeof(Bits) - 1) : 0;
  return static_cast<Bits>(static_cast<Bits>(number) ^ kSign);
}

template <std::floating_point Number>
[[nodiscard]] auto ordered(Number number) noexcept {
  using Bits = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  if (std::isnan(number)) {
    number = std::numeric_limits<Number>::quiet_NaN();
  } else if (number == 0) {
    number = 0;
  }
  const auto bits = std::bit_cast<Bits>(number);
  return static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign);
}

}  // namespace detail

class KeyWriter {
 public:
  explicit KeyWriter(std::span<char> into) noexcept
      : begin_(into.data()), at_(into.data()), end_(into.data() + into.size()) {}

  /// What was written; not a key if overflowed().
  [[nodiscard]] ByteView key() const noexcept {
    return {begin_, static_cast<std::size_t>(at_ - begin_)};
  }
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }

  void put_null() noexcept { put_byte(kNullMark); }
  /// Called before the value of a nullable column.
  void put_present() noexcept { put_byte(kValueMark); }

  void put(bool value) noexcept { put_byte(value ? '\1' : '\0'); }
  template <class Number>
    requires(std::floating_point<Number> ||
             (std::signed_integral<Number> && !std::same_as<Number, char>))
  void put(Number number) noexcept {
    put_big_endian(detail::ordered(number));
  }
  void put(Date date) noexcept { put(date.days_since_1970()); }
  void put(Timestamp timestamp) noexcept { put(timestamp.microseconds_since_1970()); }
  /// The unscaled integer of a decimal of more than 18 digits; shorter ones use std::int64_t.
  void put_wide(Int128 unscaled) noexcept {
    put(static_cast<std::int64_t>(unscaled >> 64U));
    put_big_endian(static_cast<std::uint64_t>(unscaled));
  }

  /// A character column: text not longer than `length`.
  void put_padded(ByteView text, std::size_t length) noexcept {
    if (char* into = take(length)) {
      text.copy(into, length);
      std::memset(into + text.size(), ' ', length - text.size());
    }
  }
  /// A text, or bytes, as the last column of a key.
  void put_open(ByteView text) noexcept {
    if (char* into = take(text.size()); into != nullptr && !text.empty()) {
      std::memcpy(into, text.data(), text.size());
    }
  }
  /// A text, or bytes, before other columns.
  void put_closed(ByteView text) noexcept {
    for (std::size_t zero = text.find(kEscape); zero != ByteView::npos; zero = text.find(kEscape)) {
      put_open(text.substr(0, zero + 1));
      put_byte(kEscapedZero);
      text.remove_prefix(zero + 1);
    }
    put_open(text);
    put_byte(kEscape);
    put_byte(kEndOfText);
  }

 private:
  /// The next `size` bytes; null if there are fewer.
  [[nodiscard]] char* take(std::size_t size) noexcept {
    if (static_cast<std::size_t>(end_ - at_) < size || overflowed_) [[unlikely]] {
      overflowed_ = true;
      return nullptr;
    }
    char* taken = at_;
    at_ += size;
    return taken;
  }
  void put_byte(char byte) noexcept {
    if (char* into = take(1)) {
      *into = byte;
    }
  }
  template <std::unsigned_integral Bits>
  void put_big_endian(Bits bits) noexcept {
    static_assert(std::endian::native == std::endian::little);
    if (char* into = take(sizeof bits)) {
      if constexpr (sizeof bits == 8) {
        bits = __builtin_bswap64(bits);
      } else if constexpr (sizeof bits == 4) {
        bits = __builtin_bswap32(bits);
      } else if constexpr (sizeof bits == 2) {
        bits = __builtin_bswap16(bits);
      }
      std::memcpy(into, &bits, sizeof bits);
    }
  }

  char* begin_;
  char* at_;
  char* end_;
  bool overflowed_ = false;
};

}  // namespace palimpsest::engine
