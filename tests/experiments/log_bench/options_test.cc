#include "experiments/log_bench/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace palimpsest::experiments {
namespace {

using testing::HasSubstr;

CommitEngineTraits traits() {
  return {.name = "own", .takes_delta = true};
}

CommitFlags flags() {
  CommitFlags values;
  values.path = "somewhere";
  return values;
}

std::string refusal(const CommitFlags& values, const CommitEngineTraits& engine = traits()) {
  try {
    (void)make_options(values, engine);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CommitOptions, DefaultsAreAccepted) {
  const CommitOptions options = make_options(flags(), traits());
  EXPECT_EQ(options.durability, Durability::sync);
  EXPECT_EQ(options.records, 100'000U);
  EXPECT_EQ(options.steps, 50U);
  EXPECT_DOUBLE_EQ(options.seconds(), 5.0);
  EXPECT_EQ(options.memory_bytes, std::uint64_t{256} << 20U);
  EXPECT_EQ(options.delta, false);
}

TEST(CommitOptions, NonsenseIsRefusedByName) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::string, std::function<void(CommitFlags&)>>> cases = {
      {"--threads=0", [](CommitFlags& f) { f.threads = 0; }},
      {"--threads=-1", [](CommitFlags& f) { f.threads = -1; }},
      {"--threads=257", [](CommitFlags& f) { f.threads = 257; }},
      {"--records=0", [](CommitFlags& f) { f.records = 0; }},
      {"--records=1000001", [](CommitFlags& f) { f.records = 1'000'001; }},
      {"--durability=lazy", [](CommitFlags& f) { f.durability = "lazy"; }},
      {"--seconds=0", [](CommitFlags& f) { f.seconds = 0; }},
      {"--seconds=nan", [nan](CommitFlags& f) { f.seconds = nan; }},
      {"--seconds=0.05", [](CommitFlags& f) { f.seconds = 0.05; }},
      {"--seconds=1001", [](CommitFlags& f) { f.seconds = 1001; }},
      {"--warmup=-1", [](CommitFlags& f) { f.warmup = -1; }},
      {"--sample_ms=0", [](CommitFlags& f) { f.sample_ms = 0; }},
      {"--flush_ms=0", [](CommitFlags& f) { f.flush_ms = 0; }},
      {"--checkpoint_ms=-5", [](CommitFlags& f) { f.checkpoint_ms = -5; }},
      {"--log_mib=63", [](CommitFlags& f) { f.log_mib = 63; }},
      {"--memory_mib=63", [](CommitFlags& f) { f.memory_mib = 63; }},
      {"--delta=maybe", [](CommitFlags& f) { f.delta = "maybe"; }},
      {"--path", [](CommitFlags& f) { f.path = ""; }},
  };
  for (const auto& [name, break_it] : cases) {
    CommitFlags values = flags();
    break_it(values);
    EXPECT_THAT(refusal(values), HasSubstr(name));
  }
}

TEST(CommitOptions, StepsThatDoNotDivideTheTimeAreRoundedDown) {
  CommitFlags values = flags();
  values.seconds = 1.0;
  values.sample_ms = 300;
  const CommitOptions options = make_options(values, traits());
  EXPECT_EQ(options.steps, 3U);
  EXPECT_DOUBLE_EQ(options.seconds(), 0.9);
  values.seconds = 0.3;  // 0.3 * 1000 is below 300
  EXPECT_EQ(make_options(values, traits()).steps, 1U);
}

TEST(CommitOptions, FlagsWithoutMeaningAreRefused) {
  CommitFlags values = flags();
  values.given = {"flush_ms"};
  EXPECT_THAT(refusal(values), HasSubstr("--flush_ms has no effect without --durability=async"));
  values.durability = "async";
  EXPECT_EQ(refusal(values), "accepted");

  values.given = {"delta"};
  CommitEngineTraits whole = traits();
  whole.takes_delta = false;
  EXPECT_THAT(refusal(values, whole), HasSubstr("--delta has no effect for engine own"));
  EXPECT_EQ(make_options(flags(), whole).delta, std::nullopt);

  values.given = {"log_mib"};
  EXPECT_THAT(refusal(values, whole), HasSubstr("--log_mib has no effect for engine own"));
  EXPECT_EQ(make_options(flags(), traits()).log_bytes_max, std::nullopt);
  whole.bounds_log = true;
  values.log_mib = 100;
  EXPECT_EQ(make_options(values, whole).log_bytes_max, std::uint64_t{100} << 20U);

  values.given = {"checkpoint_ms"};
  EXPECT_THAT(refusal(values, whole), HasSubstr("--checkpoint_ms has no effect for engine own"));
  whole.checkpoints_by_time = true;
  EXPECT_EQ(refusal(values, whole), "accepted");

  CommitEngineTraits memory = traits();
  memory.persistent = false;
  values.given = {"durability"};
  EXPECT_THAT(refusal(values, memory), HasSubstr("--durability has no effect"));
  values = CommitFlags();
  EXPECT_EQ(refusal(values, memory), "accepted");
}

}  // namespace
}  // namespace palimpsest::experiments
