#include <immintrin.h>

#include "tools/load/special_places.h"

namespace palimpsest::load {
namespace {

uint64_t mask_of(const char* bytes, const __m256i* needles) noexcept {
  const __m256i loaded =
      _mm256_loadu_si256(static_cast<const __m256i*>(static_cast<const void*>(bytes)));
  const __m256i first =
      _mm256_or_si256(_mm256_cmpeq_epi8(loaded, needles[0]), _mm256_cmpeq_epi8(loaded, needles[1]));
  const __m256i second =
      _mm256_or_si256(_mm256_cmpeq_epi8(loaded, needles[2]), _mm256_cmpeq_epi8(loaded, needles[3]));
  return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_or_si256(first, second)));
}

}  // namespace

size_t find_special_avx2(const char* text, size_t blocks, const char* set,
                         uint16_t* into) noexcept {
  const __m256i needles[4] = {_mm256_set1_epi8(set[0]), _mm256_set1_epi8(set[1]),
                              _mm256_set1_epi8(set[2]), _mm256_set1_epi8(set[3])};
  size_t count = 0;
  for (size_t block = 0; block < blocks; ++block) {
    const char* const bytes = text + block * 64;
    uint64_t mask = mask_of(bytes, needles) | mask_of(bytes + 32, needles) << 32;
    const size_t end = count + static_cast<size_t>(_mm_popcnt_u64(mask));
    for (; count < end; count += kSpecialPlacesSlack) {
      for (size_t i = 0; i < kSpecialPlacesSlack; ++i) {
        into[count + i] = static_cast<uint16_t>(block * 64 + _tzcnt_u64(mask));
        mask = _blsr_u64(mask);
      }
    }
    count = end;
  }
  return count;
}

}  // namespace palimpsest::load
