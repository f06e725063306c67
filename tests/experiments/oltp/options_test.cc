#include "experiments/oltp/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace palimpsest::experiments::oltp {
namespace {

using testing::HasSubstr;

WorkloadTraits workload() {
  return {.name = "tpcc", .label = "TPC-C-like", .scale_flag = "warehouses", .scale_max = 100};
}

StoreTraits engine() {
  return {.name = "own",
          .isolations = {Isolation::none, Isolation::snapshot},
          .durabilities = {Durability::async, Durability::sync},
          .memory_mib_min = 8};
}

FlagValues flags() {
  FlagValues values;
  values.path = "somewhere";
  return values;
}

std::string refusal(const FlagValues& values, const StoreTraits& of = engine(),
                    const WorkloadTraits& runs = workload()) {
  try {
    (void)make_options(values, runs, of);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(OltpOptions, DefaultsAreAccepted) {
  const Options options = make_options(flags(), workload(), engine());
  EXPECT_EQ(options.memory_bytes, std::uint64_t{1} << 30U);
  EXPECT_EQ(options.scale, 10U);
  EXPECT_EQ(options.threads, 1U);
  EXPECT_EQ(options.isolation, Isolation::none);
  EXPECT_EQ(options.durability, Durability::async);
  EXPECT_EQ(options.sample, std::chrono::milliseconds(100));
  EXPECT_FALSE(options.rate.has_value());
}

TEST(OltpOptions, WhatIsGivenIsTaken) {
  FlagValues values = flags();
  values.isolation = "snapshot";
  values.durability = "sync";
  values.rate = 2'000;
  values.threads = 4;
  values.seed = -3;
  values.given = {"isolation", "durability", "rate", "threads", "seed"};
  const Options options = make_options(values, workload(), engine());
  EXPECT_EQ(options.isolation, Isolation::snapshot);
  EXPECT_EQ(options.durability, Durability::sync);
  EXPECT_EQ(options.rate, 2'000);
  EXPECT_EQ(options.threads, 4U);
  EXPECT_EQ(options.seed, static_cast<std::uint64_t>(-3));
}

TEST(OltpOptions, AnEngineThatIsDifferentHasOtherDefaults) {
  StoreTraits traits = engine();
  traits.isolations = {Isolation::serializable};
  traits.durabilities = {Durability::sync};
  const Options options = make_options(flags(), workload(), traits);
  EXPECT_EQ(options.isolation, Isolation::serializable);
  EXPECT_EQ(options.durability, Durability::sync);
}

TEST(OltpOptions, NonsenseIsRefusedByName) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::string, std::function<void(FlagValues&)>>> cases = {
      {"--threads=0", [](FlagValues& f) { f.threads = 0; }},
      {"--threads=1025", [](FlagValues& f) { f.threads = 1025; }},
      {"--warehouses=0", [](FlagValues& f) { f.scale = 0; }},
      {"--warehouses=101", [](FlagValues& f) { f.scale = 101; }},
      {"--memory_mib=0", [](FlagValues& f) { f.memory_mib = 0; }},
      {"--memory_mib=7: too small", [](FlagValues& f) { f.memory_mib = 7; }},
      {"--seconds=-1", [](FlagValues& f) { f.seconds = -1; }},
      {"--seconds=nan", [nan](FlagValues& f) { f.seconds = nan; }},
      {"--warmup=-1", [](FlagValues& f) { f.warmup = -1; }},
      {"--isolation=some: unknown", [](FlagValues& f) { f.isolation = "some"; }},
      {"--isolation=serializable: engine own has none, snapshot",
       [](FlagValues& f) { f.isolation = "serializable"; }},
      {"--durability=never", [](FlagValues& f) { f.durability = "never"; }},
      {"--rate=0", [](FlagValues& f) { f.given = {"rate"}; }},
      {"--rate=-5", [](FlagValues& f) { f.rate = -5; }},
      {"--rate=nan", [nan](FlagValues& f) { f.rate = nan; }},
      {"--sample_ms=0", [](FlagValues& f) { f.sample_ms = 0; }},
      {"--seconds=100000: more than",
       [](FlagValues& f) {
         f.seconds = 100'000;
         f.sample_ms = 10;
       }},
      {"--path", [](FlagValues& f) { f.path = ""; }},
  };
  for (const auto& [name, break_it] : cases) {
    FlagValues values = flags();
    break_it(values);
    EXPECT_THAT(refusal(values), HasSubstr(name));
  }
}

TEST(OltpOptions, ALongReaderNeedsASnapshot) {
  FlagValues values = flags();
  values.long_reader = true;
  EXPECT_THAT(refusal(values), HasSubstr("--long_reader: at isolation none"));
  values.isolation = "snapshot";
  EXPECT_EQ(refusal(values), "accepted");
  EXPECT_FALSE(make_options(values, workload(), engine()).reader_turns.has_value());
}

TEST(OltpOptions, AReaderThatComesAndGoesHasTimeForATurn) {
  FlagValues values = flags();
  values.isolation = "snapshot";
  values.seconds = 10;
  values.reader_turns = 4;
  values.given = {"reader_turns"};
  EXPECT_EQ(refusal(values), "--reader_turns has no effect without --long_reader");
  values.long_reader = true;
  EXPECT_EQ(make_options(values, workload(), engine()).reader_turns, 4.0);
  for (const double turns : {0.0, -1.0, 5.0, std::numeric_limits<double>::quiet_NaN()}) {
    values.reader_turns = turns;
    EXPECT_THAT(refusal(values), HasSubstr("less than half of --seconds=10"));
  }
}

TEST(OltpOptions, ChecksUnderIsolationNoneAreForOneThread) {
  FlagValues values = flags();
  values.check = true;
  EXPECT_EQ(refusal(values), "accepted");
  values.threads = 2;
  EXPECT_THAT(refusal(values), HasSubstr("--check: at isolation none"));
  values.isolation = "snapshot";
  EXPECT_EQ(refusal(values), "accepted");
  values.isolation = "none";
  values.seconds = 0;
  EXPECT_EQ(refusal(values), "accepted") << "threads load";
}

TEST(OltpOptions, ConflictsAreIgnoredByEnginesThatCanAndOneThread) {
  FlagValues values = flags();
  EXPECT_EQ(make_options(values, workload(), engine()).write_conflicts, std::nullopt);
  StoreTraits careless = engine();
  careless.has_measuring_switches = true;
  EXPECT_EQ(make_options(values, workload(), careless).write_conflicts, true);
  values.write_conflicts = "off";
  values.given = {"write_conflicts"};
  EXPECT_EQ(make_options(values, workload(), careless).write_conflicts, false);
  EXPECT_EQ(refusal(values), "--write_conflicts has no effect with engine own");
  values.threads = 2;
  EXPECT_THAT(refusal(values, careless), HasSubstr("--write_conflicts=off: for one thread only"));
  values.write_conflicts = "maybe";
  EXPECT_THAT(refusal(values, careless), HasSubstr("on or off"));
}

TEST(OltpOptions, VersionsAreLeftOutAtSnapshotByOneThreadWithoutAReader) {
  StoreTraits lean = engine();
  lean.has_measuring_switches = true;
  lean.isolations = {Isolation::snapshot, Isolation::none};
  FlagValues values = flags();
  EXPECT_EQ(make_options(values, workload(), lean).versions, true);
  values.versions = "off";
  values.given = {"versions"};
  EXPECT_EQ(make_options(values, workload(), lean).versions, false);
  EXPECT_EQ(refusal(values), "--versions has no effect with engine own");
  values.long_reader = true;
  EXPECT_THAT(refusal(values, lean), HasSubstr("only one transaction runs at a time"));
  values.long_reader = false;
  values.isolation = "none";
  EXPECT_EQ(refusal(values, lean), "--versions has no effect without snapshots");
  values.isolation = "";
  values.threads = 2;
  EXPECT_THAT(refusal(values, lean), HasSubstr("--versions=off: for one thread only"));
}

WorkloadTraits workload_with_flags() {
  WorkloadTraits traits = workload();
  traits.flags = {{.name = "keys", .values = {"uniform", "skewed"}},
                  {.name = "order", .values = {"up"}}};
  return traits;
}

TEST(OltpOptions, WorkloadsHaveFlagsOfTheirOwn) {
  FlagValues values = flags();
  EXPECT_TRUE(make_options(values, workload(), engine()).of_workload.empty());
  const WorkloadOptions defaults = {{"keys", "uniform"}, {"order", "up"}};
  EXPECT_EQ(make_options(values, workload_with_flags(), engine()).of_workload, defaults);
  values.of_workload = {{"keys", "skewed"}};
  const WorkloadOptions given = {{"keys", "skewed"}, {"order", "up"}};
  EXPECT_EQ(make_options(values, workload_with_flags(), engine()).of_workload, given);
}

TEST(OltpOptions, FlagsOfOtherWorkloadsAreRefused) {
  FlagValues values = flags();
  values.of_workload = {{"keys", "uniform"}};
  EXPECT_EQ(refusal(values), "--keys has no effect with tpcc");
  values.of_workload = {{"keys", "some"}};
  EXPECT_EQ(refusal(values, engine(), workload_with_flags()),
            "--keys=some: unknown; one of uniform, skewed");
  values.of_workload = {{"keys", "skewed"}};
  values.given = {"keys"};
  EXPECT_EQ(refusal(values, engine(), workload_with_flags()), "accepted");
  values.seconds = 0;
  EXPECT_EQ(refusal(values, engine(), workload_with_flags()),
            "--keys has no effect with --seconds=0");
}

TEST(OltpOptions, FlagsWithoutEffectAreRefused) {
  for (const char* flag :
       {"warmup", "rate", "sample_ms", "series", "durability", "long_reader", "reader_turns"}) {
    FlagValues values = flags();
    values.rate = 10;
    values.reader_turns = 0.1;
    values.long_reader = true;
    values.isolation = "snapshot";
    values.series = "series.csv";
    values.given = {flag};
    EXPECT_EQ(refusal(values), "accepted");
    values.seconds = 0;
    EXPECT_EQ(refusal(values), std::string("--") + flag + " has no effect with --seconds=0");
  }
}

TEST(OltpOptions, TheLengthOfIntervalsIsThatOfASeries) {
  FlagValues values = flags();
  EXPECT_EQ(refusal(values), "accepted") << "a default says nothing";
  values.given = {"sample_ms"};
  EXPECT_EQ(refusal(values), "--sample_ms has no effect without --series");
}

}  // namespace
}  // namespace palimpsest::experiments::oltp
