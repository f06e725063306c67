// Texts with spaces behind them, as columns of type character have them.
//
// Texts of a column differ in length, so that a processor guesses a copy's branches wrong. Here
// they depend on nothing but the width: whole words are copied, and what is behind the text is
// replaced by spaces on the way.
// Thread-safety: pure functions.
#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace palimpsest::load {

/// Of the widths that are copied so.
inline constexpr std::size_t kPaddedBytesMax = 64;

namespace detail {

/// The bytes of a text from `at` on, with spaces behind the text.
[[nodiscard]] inline __m128i padded_block(std::string_view text, std::size_t at) noexcept {
  const __m128i numbers = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto left = static_cast<int>(text.size()) - static_cast<int>(at);  // may be negative
  const __m128i is_text = _mm_cmplt_epi8(numbers, _mm_set1_epi8(static_cast<char>(left)));
  const __m128i bytes =
      _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(text.data() + at)));
  return _mm_or_si128(_mm_and_si128(is_text, bytes), _mm_andnot_si128(is_text, _mm_set1_epi8(' ')));
}

[[nodiscard]] inline std::uint64_t padded_word(std::string_view text, std::size_t at) noexcept {
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(padded_block(text, at)));
}

inline void pad_any(std::string_view text, std::span<char> into) noexcept {
  std::memset(into.data(), ' ', into.size());
  text.copy(into.data(), into.size());
}

}  // namespace detail

/// Fills `into` with a text that is not empty, and spaces; false if it is longer. Behind the text
/// kPaddedBytesMax bytes can be read.
[[nodiscard]] inline bool pad(std::string_view text, std::span<char> into) noexcept {
  const std::size_t width = into.size();
  char* const to = into.data();
  if (text.size() > width) {
    return false;
  }
  if (width == 1) {
    *to = text[0];
  } else if (width < sizeof(std::uint64_t) || width > kPaddedBytesMax) {
    detail::pad_any(text, into);
  } else if (width < sizeof(__m128i)) {
    const std::size_t last = width - sizeof(std::uint64_t);
    const std::uint64_t begin_word = detail::padded_word(text, 0);
    const std::uint64_t end_word = detail::padded_word(text, last);
    std::memcpy(to, &begin_word, sizeof begin_word);
    std::memcpy(to + last, &end_word, sizeof end_word);
  } else {
    const std::size_t last = width - sizeof(__m128i);
    for (std::size_t at = 0; at < last; at += sizeof(__m128i)) {
      const __m128i block = detail::padded_block(text, at);
      std::memcpy(to + at, &block, sizeof block);
    }
    const __m128i block = detail::padded_block(text, last);
    std::memcpy(to + last, &block, sizeof block);
  }
  return true;
}

}  // namespace palimpsest::load
