// Finds the few bytes of a text that matter to a parser, a few kilobytes at a time.
//
// Comparisons of whole words give a mask of 64 bytes; the places of its bits are written to a list,
// eight at a time, so that a processor guesses seldom how many there are. A parser walks the list
// and never looks at the bytes in between, one by one.
// Thread-safety: belongs to one thread.
#pragma once

#include <emmintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace palimpsest::load {

class SpecialBytes {
 public:
  /// One to four bytes; a byte may be there twice.
  using Set = std::array<char, 4>;
  /// In a window.
  using Place = std::uint16_t;

  SpecialBytes(std::string_view text, const Set& set) noexcept : text_(text), set_(set) {}

  /// The place of the next byte of the set, each once; the text's size behind the last one.
  [[nodiscard]] std::size_t next() noexcept {
    while (next_ == count_) {
      if (window_end_ >= text_.size()) {
        return text_.size();
      }
      fill(window_end_);
    }
    return window_ + places_[next_++];
  }

  /// next() returns `at`, which it has just returned, once more.
  void go_back_to(std::size_t at) noexcept { next_ -= at < text_.size() ? 1U : 0U; }

  /// Goes on at `at`, which is not before what next() has returned.
  void go_to(std::size_t at) noexcept {
    if (at >= window_end_) {
      window_end_ = at;
      next_ = count_;
    }
    while (next_ != count_ && window_ + places_[next_] < at) {
      ++next_;
    }
  }

  // All at once, instead of by next():

  /// The next places, behind window(): at least `wanted`, unless the window that begins at `from`
  /// has not so many. No byte of the set that is still to come is before `from`.
  [[nodiscard]] std::span<const Place> ahead(std::size_t from, std::size_t wanted) noexcept {
    if (count_ - next_ < wanted && window_end_ < text_.size()) {
      fill(from);
    }
    return std::span(places_).subspan(next_, count_ - next_);
  }
  [[nodiscard]] std::size_t window() const noexcept { return window_; }
  /// Passes so many of these.
  void pass(std::size_t places) noexcept { next_ += places; }

 private:
  static constexpr std::size_t kBlock = 64;
  static constexpr std::size_t kWindow = 64 * kBlock;

  /// The window begins at `begin`.
  void fill(std::size_t begin) noexcept;

  std::string_view text_;
  Set set_;
  std::size_t window_ = 0;                      ///< where it begins
  std::size_t window_end_ = 0;                  ///< where the next one begins
  std::size_t next_ = 0;                        ///< of the places
  std::size_t count_ = 0;                       ///< of these
  std::array<Place, kWindow + kBlock> places_;  ///< in the window; as many as it has bytes, at most
};

/// How often a byte is there.
[[nodiscard]] inline std::uint64_t count_of(std::string_view text, char byte) noexcept {
  constexpr std::size_t kBlock = 16;
  const __m128i needle = _mm_set1_epi8(byte);
  std::uint64_t count = 0;
  for (; text.size() >= kBlock; text.remove_prefix(kBlock)) {
    const __m128i loaded =
        _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(text.data())));
    const auto found = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(loaded, needle)));
    count += static_cast<std::uint64_t>(std::popcount(found));
  }
  return count + static_cast<std::uint64_t>(std::ranges::count(text, byte));
}

}  // namespace palimpsest::load
