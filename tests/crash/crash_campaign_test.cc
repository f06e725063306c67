// The crash campaign's share of the tests: all crash points of scripted workloads, then as many of
// random ones as the time allows. PALIMPSEST_TEST_SECONDS sets the time, PALIMPSEST_CRASH_DEPTH the
// number of successive crashes and PALIMPSEST_CRASH_DAMAGES the number of damages of each point in
// the random part.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/crash/campaign.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::crash {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr double kSeconds = 30;
/// The share of the time for the scripted workloads.
constexpr double kScriptedShare = 0.6;

SteadyClock::duration seconds(double count) {
  return std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(count));
}

unsigned number_of(const char* variable, unsigned otherwise) {
  const char* given = std::getenv(variable);
  return given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : otherwise;
}

/// By the profile's index.
class ScriptedWorkload : public ::testing::TestWithParam<std::size_t> {
 protected:
  /// The time that one leaves goes to those after it.
  static SteadyClock::time_point deadline_of(std::size_t index) {
    static const SteadyClock::time_point begin = SteadyClock::now();
    const double share = test::test_seconds(kSeconds) * kScriptedShare;
    return begin +
           seconds(share * static_cast<double>(index + 1) / static_cast<double>(profiles().size()));
  }
};

TEST_P(ScriptedWorkload, EveryCrashPoint) {
  Campaign campaign({.deadline = deadline_of(GetParam())});
  EXPECT_EQ(campaign.run(profiles()[GetParam()], 1, profiles()[GetParam()].steps), "");
  EXPECT_GT(campaign.totals().all_states(), 0U);
  if (profiles()[GetParam()].warm_up != 0) {
    EXPECT_GT(campaign.totals().segments, 0U) << "the log was to be reused";
  }
  std::cout << "  " << campaign.totals().text() << "\n";
}

INSTANTIATE_TEST_SUITE_P(Profiles, ScriptedWorkload,
                         ::testing::Range<std::size_t>(0, profiles().size()),
                         [](const auto& chosen) {
                           return std::string(profiles()[chosen.param].name);
                         });

TEST(CrashCampaign, RandomWorkloads) {
  const std::uint64_t seed = test::seed() % 1'000'000'007;
  const double share = test::test_seconds(kSeconds) * (1 - kScriptedShare);
  Campaign campaign({.deadline = SteadyClock::now() + seconds(share),
                     .depth = number_of("PALIMPSEST_CRASH_DEPTH", 2),
                     .damages = number_of("PALIMPSEST_CRASH_DAMAGES", 4)});
  for (std::uint64_t n = 0; !campaign.is_over(); ++n) {
    const Profile& profile = profiles()[(seed + n) % profiles().size()];
    ASSERT_EQ(campaign.run(profile, seed + n, profile.steps + profile.steps / 2), "")
        << "workload " << n << ", profile " << profile.name;
  }
  EXPECT_GT(campaign.totals().all_states(), 0U);
  std::cout << "  " << campaign.totals().text() << "\n";
}

}  // namespace
}  // namespace palimpsest::crash
