#include "tests/support/test_seconds.h"

#include <fmt/core.h>

#include <cstdlib>

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

}  // namespace palimpsest::test
