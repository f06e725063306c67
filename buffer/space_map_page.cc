#include "buffer/space_map_page.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "buffer/page_header.h"

namespace palimpsest::buffer {
namespace {

constexpr std::uint64_t kWordBits = 64;

constexpr std::size_t offset_of(std::uint64_t word) noexcept {
  return sizeof(PageHeader) + word * sizeof(word);
}

}  // namespace

std::uint64_t map_word(ConstBytes page, std::uint64_t word) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, page.data() + offset_of(word), sizeof bits);
  return bits;
}

void set_map_word(MutableBytes page, std::uint64_t word, std::uint64_t bits) noexcept {
  std::memcpy(page.data() + offset_of(word), &bits, sizeof bits);
}

bool is_blank_map_page(ConstBytes page) noexcept {
  return is_zero(page);
}

std::string print_space_map_page(ConstBytes page) {
  std::string text = print_page_header(page) + "\n  in use:";
  const std::uint64_t bits = (page.size() - sizeof(PageHeader)) * 8;
  const auto is_set = [&](std::uint64_t bit) {
    return (map_word(page, bit / kWordBits) >> (bit % kWordBits) & 1) != 0;
  };
  const std::uint64_t base = raw(header_of(page).page_id);
  for (std::uint64_t first = 0; first < bits; ++first) {
    if (is_set(first)) {
      std::uint64_t last = first;
      while (last + 1 < bits && is_set(last + 1)) {
        ++last;
      }
      text += fmt::format(" {}", base + first);
      if (last != first) {
        text += fmt::format("-{}", base + last);
      }
      first = last;
    }
  }
  return text + "\n";
}

}  // namespace palimpsest::buffer
