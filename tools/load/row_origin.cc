#include "tools/load/row_origin.h"

#include <array>
#include <cstring>

namespace palimpsest::load {

void RowOrigin::encode(std::string& into) const {
  const std::array numbers{file, line, byte};
  into.append(reinterpret_cast<const char*>(numbers.data()), sizeof numbers);
  into.append(record);
}

RowOrigin RowOrigin::decode(std::string_view bytes) noexcept {
  std::array<std::uint64_t, 3> numbers{};
  std::memcpy(numbers.data(), bytes.data(), sizeof numbers);
  return {.file = numbers[0],
          .line = numbers[1],
          .byte = numbers[2],
          .record = bytes.substr(sizeof numbers)};
}

}  // namespace palimpsest::load
