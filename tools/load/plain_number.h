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

/// The word without its byte `at`, with a digit 0 below the others.
[[nodiscard]] inline std::uint64_t without_point(std::uint64_t word, std::size_t at) noexcept {
  const std::uint64_t lower = (std::uint64_t{1} << 8 * at) - 1;  // the bytes before the point
  const std::uint64_t upper = ~lower << 8;
  return (word & upper) | (word & lower) << 8 | '0';
}

/// Of `size` bytes, one to eight, and their digit_word().
[[nodiscard]] inline std::optional<PlainNumber> number_of_word(std::uint64_t word,
                                                               std::size_t size) noexcept {
  std::size_t behind = 0;
  std::size_t before = size;
  if (const std::uint64_t points = find_point(word); points != 0) {
    const auto at = static_cast<std::size_t>(std::countr_zero(points)) / 8;
    behind = kDigitWordBytes - 1 - at;
    before = size - 1 - behind;
    if (behind == 0 || before == 0) {
      return std::nullopt;
    }
    word = without_point(word, at);
  }
  if (!are_eight_digits(word)) {
    return std::nullopt;
  }
  return PlainNumber{.digits = static_cast<std::int64_t>(number_of_eight(word)),
                     .before = before,
                     .behind = behind};
}

/// The digit_word() of a text behind which there are kDigitWordBytes more.
[[nodiscard]] inline std::uint64_t padded_digit_word(std::string_view text) noexcept {
  const std::size_t below = 8 * (kDigitWordBytes - text.size());  // bits
  const std::uint64_t zeros = (kZeroDigits >> 8) >> 8 * (text.size() - 1);
  return load_digits<std::uint64_t>(text.data()) << below | zeros;
}

/// Of nine to sixteen bytes, of which only the last eight may have a point; behind them there are
/// kDigitWordBytes more.
[[nodiscard]] inline std::optional<PlainNumber> number_of_two_words(
    std::string_view text) noexcept {
  const std::uint64_t first = padded_digit_word(text.substr(0, text.size() - kDigitWordBytes));
  std::uint64_t last = load_digits<std::uint64_t>(text.data() + text.size() - kDigitWordBytes);
  std::size_t behind = 0;
  std::uint64_t scale = 100'000'000;  // of the first ones
  if (const std::uint64_t points = find_point(last); points != 0) {
    const auto at = static_cast<std::size_t>(std::countr_zero(points)) / 8;
    behind = kDigitWordBytes - 1 - at;
    last = without_point(last, at);
    scale = 10'000'000;
  }
  const bool ends_in_point = scale != 100'000'000 && behind == 0;
  if (!are_eight_digits(first) || !are_eight_digits(last) || ends_in_point) {
    return std::nullopt;
  }
  return PlainNumber{
      .digits = static_cast<std::int64_t>(number_of_eight(first) * scale + number_of_eight(last)),
      .before = text.size() - behind - (behind == 0 ? 0 : 1),
      .behind = behind};
}

/// Of any length that is allowed.
[[nodiscard]] std::optional<PlainNumber> long_number(std::string_view text) noexcept;

}  // namespace detail

/// Nothing if the text has anything but digits and a point between two of them, or is too long.
[[nodiscard]] inline std::optional<PlainNumber> plain_number(std::string_view text) noexcept {
  return text.empty() || text.size() > detail::kDigitWordBytes
             ? detail::long_number(text)
             : detail::number_of_word(detail::digit_word(text), text.size());
}

/// The same, quickly, of a text behind which kNumberPaddingBytes can be read, whatever they are.
/// Nothing also if there are many digits behind the point.
inline constexpr std::size_t kNumberPaddingBytes = detail::kDigitWordBytes;
[[nodiscard]] inline std::optional<PlainNumber> padded_plain_number(
    std::string_view text) noexcept {
  if (text.size() - 1 < detail::kDigitWordBytes) [[likely]] {
    return detail::number_of_word(detail::padded_digit_word(text), text.size());
  }
  return text.size() > detail::kDigitWordBytes && text.size() <= 2 * detail::kDigitWordBytes
             ? detail::number_of_two_words(text)
             : std::nullopt;
}

}  // namespace palimpsest::load
