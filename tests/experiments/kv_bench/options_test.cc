#include "experiments/kv_bench/options.h"

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

EngineTraits traits() {
  return {.name = "own", .memory_mib_min = 8, .takes_double_write = true};
}

FlagValues flags() {
  FlagValues values;
  values.path = "somewhere";
  return values;
}

std::string refusal(const FlagValues& values, const EngineTraits& engine = traits()) {
  try {
    (void)make_options(values, engine);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Options, DefaultsAreAccepted) {
  const Options options = make_options(flags(), traits());
  EXPECT_EQ(options.mode, Mode::lookup);
  EXPECT_EQ(options.memory_bytes, std::uint64_t{1} << 30U);
  EXPECT_EQ(options.page_bytes, 4096U);
  EXPECT_EQ(options.warmup_threads, options.threads);
  EXPECT_EQ(options.double_write, true);
  EXPECT_FALSE(options.load_order_given);
}

TEST(Options, NonsenseIsRefusedByName) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::string, std::function<void(FlagValues&)>>> cases = {
      {"--threads=0", [](FlagValues& f) { f.threads = 0; }},
      {"--threads=-1", [](FlagValues& f) { f.threads = -1; }},
      {"--threads=1025", [](FlagValues& f) { f.threads = 1025; }},
      {"--warmup_threads=-2", [](FlagValues& f) { f.warmup_threads = -2; }},
      {"--records=0", [](FlagValues& f) { f.records = 0; }},
      {"--records=-5", [](FlagValues& f) { f.records = -5; }},
      {"--value_bytes=15", [](FlagValues& f) { f.value_bytes = 15; }},
      {"--value_bytes=65537", [](FlagValues& f) { f.value_bytes = 65537; }},
      {"--value_bytes=1017",
       [](FlagValues& f) {
         f.value_bytes = 1017;
         f.mode = "mixed";
       }},
      {"--page_kib=2", [](FlagValues& f) { f.page_kib = 2; }},
      {"--page_kib=128", [](FlagValues& f) { f.page_kib = 128; }},
      {"--page_kib=5", [](FlagValues& f) { f.page_kib = 5; }},
      {"--memory_mib=0", [](FlagValues& f) { f.memory_mib = 0; }},
      {"--memory_mib=7", [](FlagValues& f) { f.memory_mib = 7; }},
      {"--mode=delete", [](FlagValues& f) { f.mode = "delete"; }},
      {"--distribution=normal", [](FlagValues& f) { f.distribution = "normal"; }},
      {"--theta=1", [](FlagValues& f) { f.theta = 1; }},
      {"--theta=0", [](FlagValues& f) { f.theta = 0; }},
      {"--theta=nan", [nan](FlagValues& f) { f.theta = nan; }},
      {"--seconds=0", [](FlagValues& f) { f.seconds = 0; }},
      {"--seconds=nan", [nan](FlagValues& f) { f.seconds = nan; }},
      {"--warmup=-1", [](FlagValues& f) { f.warmup = -1; }},
      {"--sample_ms=-1", [](FlagValues& f) { f.sample_ms = -1; }},
      {"--update_percent=101", [](FlagValues& f) { f.update_percent = 101; }},
      {"--scan_length=1000001", [](FlagValues& f) { f.scan_length = 1'000'001; }},
      {"--latency_every=-1", [](FlagValues& f) { f.latency_every = -1; }},
      {"--double_write=maybe", [](FlagValues& f) { f.double_write = "maybe"; }},
      {"--load_order=downwards", [](FlagValues& f) { f.load_order = "downwards"; }},
      {"--path", [](FlagValues& f) { f.path = ""; }},
  };
  for (const auto& [name, break_it] : cases) {
    FlagValues values = flags();
    break_it(values);
    EXPECT_THAT(refusal(values), HasSubstr(name));
  }
}

TEST(Options, MessagesNameTheLimit) {
  FlagValues values = flags();
  values.threads = 0;
  EXPECT_THAT(refusal(values), HasSubstr("from 1 to 1024"));
  values = flags();
  values.memory_mib = 7;
  EXPECT_THAT(refusal(values), HasSubstr("own needs at least 8 MiB"));
  values = flags();
  values.mode = "delete";
  EXPECT_THAT(refusal(values), HasSubstr("load, lookup, update, scan, mixed"));
}

TEST(Options, FlagsWithoutMeaningAreRefused) {
  const std::vector<std::pair<std::string, FlagValues>> cases = [] {
    std::vector<std::pair<std::string, FlagValues>> all;
    const auto add = [&](const std::string& flag, std::string mode,
                         std::string distribution = "uniform") {
      FlagValues values = flags();
      values.mode = std::move(mode);
      values.distribution = std::move(distribution);
      values.given = {flag};
      all.emplace_back(flag, values);
    };
    add("theta", "lookup", "uniform");
    add("distribution", "scan", "zipf");
    add("update_percent", "lookup");
    add("scan_length", "mixed");
    add("sample_ms", "lookup");
    add("seconds", "load");
    add("warmup", "load");
    add("latency_every", "load");
    add("seed", "load");
    add("seed", "scan");
    return all;
  }();
  for (const auto& [flag, values] : cases) {
    EXPECT_THAT(refusal(values), HasSubstr("--" + flag + " has no effect"));
  }
  FlagValues values = flags();
  values.mode = "mixed";
  values.distribution = "zipf";
  values.json = "-";
  values.given = {"theta", "update_percent", "sample_ms", "seconds", "distribution", "seed"};
  EXPECT_EQ(refusal(values), "accepted");
}

TEST(Options, EnginesRefuseWhatTheyDoNotHave) {
  FlagValues values = flags();
  values.given = {"double_write"};
  EngineTraits peer = traits();
  peer.takes_double_write = false;
  EXPECT_THAT(refusal(values, peer), HasSubstr("--double_write has no effect for engine own"));
  EXPECT_EQ(make_options(flags(), peer).double_write, std::nullopt);

  values = flags();
  values.page_kib = 16;
  peer.page_kib_fixed = 4;
  EXPECT_THAT(refusal(values, peer), HasSubstr("pages of 4 KiB only"));

  values = flags();
  values.given = {"memory_mib"};
  EngineTraits memory = traits();
  memory.persistent = false;
  EXPECT_THAT(refusal(values, memory), HasSubstr("--memory_mib has no effect"));
}

TEST(Options, TimesEveryOperationOnlyBeyondMemory) {
  FlagValues values = flags();
  values.records = 1'000'000;  // 122 MiB of payload
  values.memory_mib = 1024;
  EXPECT_EQ(make_options(values, traits()).latency_every, 16U);
  values.memory_mib = 32;
  EXPECT_EQ(make_options(values, traits()).latency_every, 1U);
  values.latency_every = 5;
  EXPECT_EQ(make_options(values, traits()).latency_every, 5U);
}

}  // namespace
}  // namespace palimpsest::experiments
