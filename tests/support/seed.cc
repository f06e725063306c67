#include "tests/support/seed.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <random>

#include "base/check.h"

namespace palimpsest::test {
namespace {

std::uint64_t fresh() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::uint64_t parse(const char* text) {
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoull(text, &end, 0);
  check(errno == 0 && end != text && *end == '\0' && *text != '-',
        "PALIMPSEST_SEED is not an unsigned 64-bit number");
  return value;
}

}  // namespace

std::uint64_t seed() {
  const char* given = std::getenv("PALIMPSEST_SEED");
  const std::uint64_t value = given != nullptr ? parse(given) : fresh();
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  if (info != nullptr) {
    fmt::print("PALIMPSEST_SEED={} reruns {}.{}\n", value, info->test_suite_name(), info->name());
  } else {
    fmt::print("PALIMPSEST_SEED={}\n", value);
  }
  std::fflush(stdout);
  return value;
}

}  // namespace palimpsest::test
