#include "tests/support/test_seconds.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace palimpsest::test {

namespace {

#ifdef PALIMPSEST_DEBUG_CHECKS
constexpr bool kDear = true;
#else
constexpr bool kDear = false;
#endif
#ifdef PALIMPSEST_SANITIZED
constexpr double kBuildShare = 0.6;
#else
constexpr double kBuildShare = 1;
#endif
constexpr double kCheapSeconds = 12;

double number_in_environment(const char* name, double otherwise) {
  const char* given = std::getenv(name);
  return given != nullptr ? std::strtod(given, nullptr) : otherwise;
}

std::chrono::steady_clock::time_point in_seconds(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(seconds));
}

}  // namespace

double test_seconds(double otherwise) {
  const double share = kBuildShare * number_in_environment("PALIMPSEST_TEST_SHARE", 1);
  return number_in_environment("PALIMPSEST_TEST_SECONDS", share * otherwise);
}

int repeats(int count) {
  return kDear ? (count + 3) / 4 : count;
}

Rounds::Rounds(int rounds_min, double seconds)
    : rounds_min_(rounds_min), until_(in_seconds(test_seconds(seconds))) {}

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

Sweep::Sweep(std::uint64_t count, std::uint64_t count_min, double seconds)
    : count_(count),
      count_min_(count_min),
      stride_(count * 5 / 8 + 1),
      until_(in_seconds(test_seconds(kDear ? seconds : std::max(seconds, kCheapSeconds)))) {
  while (std::gcd(stride_, count_) > 1) {
    ++stride_;
  }
}

Sweep::~Sweep() {
  fmt::print("{} of {}\n", done_, count_);
}

std::optional<std::uint64_t> Sweep::next() {
  if (done_ == count_ || (done_ >= count_min_ && std::chrono::steady_clock::now() >= until_)) {
    return std::nullopt;
  }
  return done_++ * stride_ % count_;
}

}  // namespace palimpsest::test
