#include "tools/load/special_bytes.h"

#include <cstring>

#include "tools/load/special_places.h"

namespace palimpsest::load {
namespace {

std::size_t find(const char* text, std::size_t blocks, const SpecialBytes::Set& set,
                 SpecialBytes::Place* into) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi")) [[likely]] {
    return find_special_avx2(text, blocks, set.data(), into);
  }
#endif
  return find_special_sse2(text, blocks, set.data(), into);
}

}  // namespace

void SpecialBytes::fill(std::size_t begin) noexcept {
  static_assert(kSpecialPlacesSlack <= kBlock);
  const std::size_t bytes = std::min(kWindow, text_.size() - begin);
  window_ = begin;
  window_end_ = begin + bytes;
  next_ = 0;
  const char* const text = text_.data() + begin;
  const std::size_t whole = bytes / kBlock;
  count_ = find(text, whole, set_, places_.data());
  if (const std::size_t left = bytes % kBlock; left != 0) {
    std::array<char, kBlock> rest{};
    std::memcpy(rest.data(), text + whole * kBlock, left);
    std::array<Place, kBlock + kSpecialPlacesSlack> places;
    const std::size_t found = find(rest.data(), 1, set_, places.data());
    for (std::size_t i = 0; i < found && places[i] < left; ++i) {
      places_[count_++] = static_cast<Place>(whole * kBlock + places[i]);
    }
  }
}

}  // namespace palimpsest::load
