// The crash campaign's share of the tests: all crash points of scripted workloads, then as many of
// random ones as the time allows.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/crash/campaign.h"
#include "tests/support/seed.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::crash {

static void PrintTo(const Profile& profile, std::ostream* out) {
  *out << profile.name;
}

namespace {

using SteadyClock = std::chrono::steady_clock;

SteadyClock::time_point in(double seconds) {
  return SteadyClock::now() +
         std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
}

unsigned number_of(const char* variable, unsigned otherwise) {
  const char* given = std::getenv(variable);
  return given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : otherwise;
}

class ScriptedWorkload : public ::testing::TestWithParam<Profile> {};

TEST_P(ScriptedWorkload, EveryCrashPoint) {
  const double share =
      palimpsest::test::test_seconds(40) * 0.6 / static_cast<double>(profiles().size());
  Campaign campaign({.deadline = in(share)});
  EXPECT_EQ(campaign.run(GetParam(), 1, 40), "");
  std::cout << "  " << campaign.totals().text() << "\n";
}

INSTANTIATE_TEST_SUITE_P(Profiles, ScriptedWorkload,
                         ::testing::ValuesIn(profiles().begin(), profiles().end()),
                         [](const auto& the_info) { return std::string(the_info.param.name); });

TEST(CrashCampaign, RandomWorkloads) {
  const std::uint64_t seed = palimpsest::test::seed() % 1'000'000'007;
  Campaign campaign({.deadline = in(palimpsest::test::test_seconds(40) * 0.4),
                     .depth = number_of("PALIMPSEST_CRASH_DEPTH", 2),
                     .damages = number_of("PALIMPSEST_CRASH_DAMAGES", 4)});
  for (std::uint64_t n = 0; !campaign.is_over(); ++n) {
    const Profile& profile = profiles()[(seed + n) % profiles().size()];
    ASSERT_EQ(campaign.run(profile, seed + n, 60), "")
        << "workload " << n << ", profile " << profile.name;
  }
  std::cout << "  " << campaign.totals().text() << "\n";
  EXPECT_GT(campaign.totals().all_states(), 0U);
}

}  // namespace
}  // namespace palimpsest::crash
