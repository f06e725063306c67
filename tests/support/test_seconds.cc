#include "tests/support/test_seconds.h"

#include <fmt/core.h>

#include <cstdlib>
#include <numeric>

namespace palimpsest::test {

double test_seconds(double otherwise) {
  const char* given = std::getenv("PALIMPSEST_TEST_SECONDS");
  return given != nullptr ? std::strtod(given, nullptr) : otherwise;
}

Rounds::Rounds(int rounds_min, double seconds)
    : rounds_min_(rounds_min),
      until_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 std::chrono::duration<double>(test_seconds(seconds)))) {}

Rounds::~Rounds() {
  fmt::print("{} rounds\n", rounds_);
}

bool Rounds::next() {
  if (rounds_ >= rounds_min_ && std::chrono::steady_clock::now() >= until_) {
    return false;
  }
  ++rounds_;
  return true;
}

std::vector<std::size_t> spread(std::size_t count) {
  std::size_t stride = count * 5 / 8 + 1;
  while (std::gcd(stride, count) > 1) {
    ++stride;
  }
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    numbers.push_back(i * stride % count);
  }
  return numbers;
}

}  // namespace palimpsest::test
