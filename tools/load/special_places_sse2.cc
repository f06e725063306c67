#include <emmintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tools/load/special_places.h"

namespace palimpsest::load {
namespace {

constexpr std::size_t kBlock = 64;

std::uint64_t mask_of(const char* bytes, const __m128i* needles) noexcept {
  std::uint64_t mask = 0;
  for (std::size_t part = 0; part < kBlock; part += sizeof(__m128i)) {
    const __m128i loaded =
        _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(bytes + part)));
    const __m128i first =
        _mm_or_si128(_mm_cmpeq_epi8(loaded, needles[0]), _mm_cmpeq_epi8(loaded, needles[1]));
    const __m128i second =
        _mm_or_si128(_mm_cmpeq_epi8(loaded, needles[2]), _mm_cmpeq_epi8(loaded, needles[3]));
    const auto bits = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(first, second)));
    mask |= std::uint64_t{bits} << part;
  }
  return mask;
}

}  // namespace

std::size_t find_special_sse2(const char* text, std::size_t blocks, const char* set,
                              std::uint16_t* into) noexcept {
  const __m128i needles[4] = {_mm_set1_epi8(set[0]), _mm_set1_epi8(set[1]), _mm_set1_epi8(set[2]),
                              _mm_set1_epi8(set[3])};
  std::size_t count = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    std::uint64_t mask = mask_of(text + block * kBlock, needles);
    const std::size_t end = count + static_cast<std::size_t>(std::popcount(mask));
    for (; count < end; count += kSpecialPlacesSlack) {
      for (std::size_t i = 0; i < kSpecialPlacesSlack; ++i) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(mask));
        into[count + i] = static_cast<std::uint16_t>(block * kBlock + bit);
        mask &= mask - 1;
      }
    }
    count = end;
  }
  return count;
}

}  // namespace palimpsest::load
