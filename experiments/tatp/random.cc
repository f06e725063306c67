#include "experiments/tatp/random.h"

#include <array>

#include "base/check.h"

namespace palimpsest::experiments::tatp {

std::string_view name_of(Choice choice) noexcept {
  return choice == Choice::uniform ? "uniform" : "nonuniform";
}

PhoneNumber number_of(Number subscriber) noexcept {
  check(subscriber >= 0, "a subscriber below zero");
  std::array<char, PhoneNumber::kMaxBytes> digits;
  for (std::size_t at = digits.size(); at-- > 0; subscriber /= 10) {
    digits[at] = static_cast<char>('0' + subscriber % 10);
  }
  return PhoneNumber({digits.data(), digits.size()});
}

}  // namespace palimpsest::experiments::tatp
