#include "experiments/common/flag_checks.h"

#include <gtest/gtest.h>

#include <limits>

namespace palimpsest::experiments {
namespace {

enum class Colour : std::uint8_t { red = 1, blue };

std::string_view name_of(Colour colour) noexcept {
  return colour == Colour::red ? "red" : "blue";
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(FlagChecks, RangesIncludeTheirEnds) {
  EXPECT_EQ(in_range("n", 1, 1, 3), 1);
  EXPECT_EQ(in_range("n", 3, 1, 3), 3);
  EXPECT_EQ(message_of([] { in_range("n", 4, 1, 3); }), "--n=4: must be from 1 to 3");
  EXPECT_EQ(message_of([] { in_range("n", 0, 1, 3); }), "--n=0: must be from 1 to 3");
}

TEST(FlagChecks, NamesAreParsed) {
  constexpr std::array kColours{Colour::red, Colour::blue};
  EXPECT_EQ(parse_name("colour", "blue", kColours), Colour::blue);
  EXPECT_EQ(message_of([&] { (void)parse_name("colour", "pink", kColours); }),
            "--colour=pink: unknown; one of red, blue");
}

TEST(FlagChecks, SecondsAreFinite) {
  EXPECT_EQ(seconds_in_range("s", 0.0, true), 0.0);
  EXPECT_THROW((void)seconds_in_range("s", 0.0, false), UsageError);
  EXPECT_THROW((void)seconds_in_range("s", -1.0, true), UsageError);
  EXPECT_THROW((void)seconds_in_range("s", std::numeric_limits<double>::infinity(), true),
               UsageError);
  EXPECT_THROW((void)seconds_in_range("s", std::numeric_limits<double>::quiet_NaN(), true),
               UsageError);
}

TEST(FlagChecks, SwitchesAreOnOrOff) {
  EXPECT_TRUE(parse_switch("x", "on"));
  EXPECT_FALSE(parse_switch("x", "off"));
  EXPECT_THROW((void)parse_switch("x", "yes"), UsageError);
}

TEST(FlagChecks, OnlyGivenFlagsAreRefused) {
  const GivenFlags given{"theta"};
  const MeaningCheck check(given);
  check.require(false, {"other"}, "here");
  check.require(true, {"theta"}, "here");
  EXPECT_EQ(message_of([&] { check.require(false, {"other", "theta"}, "here"); }),
            "--theta has no effect here");
}

}  // namespace
}  // namespace palimpsest::experiments
