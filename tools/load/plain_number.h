// Numbers as most stand in files: a few digits, of which the last ones may be behind a point.
//
// Why not a loop over the digits: numbers of a column differ in length, so that a processor guesses
// the end of the loop wrong about once in each. Up to eight bytes are one word, in which the point
// is found, taken out, and the digits are judged and added up, all at once (Lemire, SPE 2021).
// Thread-safety: pure functions. Failure: none; what is not plain may still be a number.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace palimpsest::load {

struct PlainNumber {
  /// With so many characters the digits fit into 64 bits.
  static constexpr std::size_t kSizeMax = 18;

  std::int64_t digits = 0;
  std::size_t before = 0;  ///< digits before the point, or all; at least one
  std::size_t behind = 0;  ///< at least one if there is a point
};

namespace detail {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::size_t kDigitWordBytes = 8;
inline constexpr std::uint64_t kZeroDigits = 0x3030'3030'3030'3030;

template <class Word>
[[nodiscard]] inline std::uint64_t load_digits(const char* from) noexcept {
  Word word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

/// One to eight bytes, the last one highest, with digits 0 below the first one.
[[nodiscard]] inline std::uint64_t digit_word(std::string_view text) noexcept {
  const std::size_t size = text.size();
  const char* const begin = text.data();
  if (size == kDigitWordBytes) {
    return load_digits<std::uint64_t>(begin);
  }
  const std::size_t below = 8 * (kDigitWordBytes - size);  // bits
  std::uint64_t word = 0;
  if (size >= sizeof(std::uint32_t)) {
    const std::uint64_t last = load_digits<std::uint32_t>(begin + size - sizeof(std::uint32_t));
    word = load_digits<std::uint32_t>(begin) << below | last << 32;
  } else {  // the first, the middle, and the last one, which may be the same
    const std::size_t middle = size / 2;
    word = load_digits<std::uint8_t>(begin) << below |
           load_digits<std::uint8_t>(begin + middle) << (below + 8 * middle) |
           load_digits<std::uint8_t>(begin + size - 1) << 56;
  }
  return word | kZeroDigits >> 8 * size;
}

/// Whether all eight bytes are digits.
[[nodiscard]] inline bool are_eight_digits(std::uint64_t word) noexcept {
  constexpr std::uint64_t kHighs = 0x8080'8080'8080'8080;
  return (((word + 0x4646'4646'4646'4646) | (word - kZeroDigits)) & kHighs) == 0;
}

/// The number that they are, the lowest byte first.
[[nodiscard]] inline std::uint64_t number_of_eight(std::uint64_t word) noexcept {
  word -= kZeroDigits;
  word = word * 10 + (word >> 8);  // of two digits, in every second byte
  constexpr std::uint64_t kPairs = 0x0000'00FF'0000'00FF;
  return ((word & kPairs) * (100 + (std::uint64_t{1'000'000} << 32)) +
          ((word >> 16) & kPairs) * (1 + (std::uint64_t{10'000} << 32))) >>
         32;
}

/// The lowest bit of it is the highest one of the first byte that is a point; 0: there is none.
[[nodiscard]] inline std::uint64_t find_point(std::uint64_t word) noexcept {
  constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
  constexpr std::uint64_t kHighs = kOnes * 0x80;
  const std::uint64_t zero_where = word ^ (kOnes * '.');
  // A byte above a zero one may be found though it is none.
  return (zero_where - kOnes) & ~zero_where & kHighs;
}

/// Of one to eight bytes.
[[nodiscard]] inline std::optional<PlainNumber> short_number(std::string_view text) noexcept {
  std::uint64_t word = digit_word(text);
  std::size_t behind = 0;
  std::size_t before = text.size();
  if (const std::uint64_t points = find_point(word); points != 0) {
    const auto at = static_cast<std::size_t>(std::countr_zero(points)) / 8;
    behind = kDigitWordBytes - 1 - at;
    before = text.size() - 1 - behind;
    if (behind == 0 || before == 0) {
      return std::nullopt;
    }
    const std::uint64_t lower = (std::uint64_t{1} << 8 * at) - 1;  // the bytes before the point
    const std::uint64_t upper = ~lower << 8;
    word = (word & upper) | (word & lower) << 8 | '0';
  }
  if (!are_eight_digits(word)) {
    return std::nullopt;
  }
  return PlainNumber{.digits = static_cast<std::int64_t>(number_of_eight(word)),
                     .before = before,
                     .behind = behind};
}

/// Of any length that is allowed.
[[nodiscard]] std::optional<PlainNumber> long_number(std::string_view text) noexcept;

}  // namespace detail

/// Nothing if the text has anything but digits and a point between two of them, or is too long.
[[nodiscard]] inline std::optional<PlainNumber> plain_number(std::string_view text) noexcept {
  return text.empty() || text.size() > detail::kDigitWordBytes ? detail::long_number(text)
                                                               : detail::short_number(text);
}

}  // namespace palimpsest::load
