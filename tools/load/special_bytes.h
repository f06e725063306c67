// Finds the few bytes of a text that matter to whoever takes it apart, 64 bytes at a time.
//
// Four comparisons for each 16 bytes give a mask of 64; walking the set bits costs a few
// instructions each, and the bytes between them are never looked at one by one.
// Thread-safety: belongs to one thread.
#pragma once

#include <emmintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace palimpsest::load {

class SpecialBytes {
 public:
  /// One to four bytes; a byte may be there twice.
  using Set = std::array<char, 4>;

  SpecialBytes(std::string_view text, const Set& set, std::size_t begin = 0) noexcept
      : text_(text), set_(set) {
    go_to(begin);
  }

  /// The place of the next byte of the set, each once; the text's size behind the last one.
  [[nodiscard]] std::size_t next() noexcept {
    while (mask_ == 0) {
      block_ += kBlock;
      if (block_ >= text_.size()) {
        return text_.size();
      }
      mask_ = mask_at(block_);
    }
    const auto bit = static_cast<std::size_t>(std::countr_zero(mask_));
    mask_ &= mask_ - 1;
    return block_ + bit;
  }

  /// next() returns `at`, which it has just returned, once more.
  void go_back_to(std::size_t at) noexcept {
    mask_ |= at < text_.size() ? std::uint64_t{1} << (at % kBlock) : 0;
  }

  /// Goes on at `at`, which is not before what next() has returned.
  void go_to(std::size_t at) noexcept {
    const std::size_t block = at / kBlock * kBlock;
    if (block != block_) {
      block_ = block;
      mask_ = block < text_.size() ? mask_at(block) : 0;
    }
    mask_ &= ~std::uint64_t{0} << (at % kBlock);
  }

 private:
  static constexpr std::size_t kBlock = 64;

  [[nodiscard]] std::uint64_t mask_at(std::size_t block) const noexcept {
    if (text_.size() - block >= kBlock) {
      return mask_of(text_.data() + block);
    }
    std::array<char, kBlock> rest{};
    const std::size_t bytes = text_.size() - block;
    std::memcpy(rest.data(), text_.data() + block, bytes);
    return mask_of(rest.data()) & ~(~std::uint64_t{0} << bytes);
  }
  [[nodiscard]] std::uint64_t mask_of(const char* bytes) const noexcept {
    const __m128i needle0 = _mm_set1_epi8(set_[0]);
    const __m128i needle1 = _mm_set1_epi8(set_[1]);
    const __m128i needle2 = _mm_set1_epi8(set_[2]);
    const __m128i needle3 = _mm_set1_epi8(set_[3]);
    std::uint64_t mask = 0;
    for (std::size_t part = 0; part < kBlock; part += 16) {
      const __m128i loaded =
          _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(bytes + part)));
      const __m128i first =
          _mm_or_si128(_mm_cmpeq_epi8(loaded, needle0), _mm_cmpeq_epi8(loaded, needle1));
      const __m128i second =
          _mm_or_si128(_mm_cmpeq_epi8(loaded, needle2), _mm_cmpeq_epi8(loaded, needle3));
      const auto bits = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(first, second)));
      mask |= std::uint64_t{bits} << part;
    }
    return mask;
  }

  std::string_view text_;
  Set set_;
  std::size_t block_ = ~std::size_t{0};  ///< none yet
  std::uint64_t mask_ = 0;
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
