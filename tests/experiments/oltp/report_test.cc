#include "experiments/oltp/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace palimpsest::experiments::oltp {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Workload two_types() {
  Workload workload;
  workload.traits = {.name = "toy", .label = "toy-like", .scale_flag = "branches", .scale_max = 10};
  workload.types = {"write", "read"};
  workload.figure = Figure{.type = 0, .key = "wpm", .name = "writes a minute"};
  return workload;
}

Options toy_options() {
  Options options;
  options.engine = "own";
  options.memory_bytes = 1'000'000;
  options.threads = 2;
  options.seconds = 2;
  options.scale = 3;
  options.seed = 9;
  return options;
}

/// Ten writes of 1 ms and 30 reads of 2 ms in 2 s; the engine reports nothing but its log.
Interval toy_interval() {
  Interval interval;
  interval.seconds = 2;
  interval.tally = Tally(2);
  interval.tally.commits = {10, 30};
  interval.tally.rollbacks = {1, 0};
  interval.tally.conflicts[0] = 4;
  interval.tally.latency_ns[0].record(1'000'000);
  interval.tally.latency_ns[1].record(2'000'000);
  interval.store.log_bytes = 4'000;
  interval.process = {.resident_bytes = 5'000, .read_bytes = 6'000, .write_bytes = 7'000};
  return interval;
}

RunResult toy_result() {
  RunResult result;
  Measurement measured;
  measured.total = toy_interval();
  measured.maxima.orphan_tables = 12;
  measured.maxima.rss_bytes = 8'000;
  measured.data_bytes_start = 100;
  measured.data_bytes_end = 200;
  measured.commits_by_second = {15, 25};
  measured.series.emplace_back(2.0, toy_interval());
  result.measured = measured;
  result.asynchronous_interval = std::chrono::milliseconds(10);
  result.earlier_runs = 6;
  result.read_everything_seconds = 0.5;
  result.description = "on paper";
  result.engine_options = {{.name = "pages", .value = "4096 (default)"}};
  return result;
}

json toy_json(const RunResult& result, const Options& options = toy_options()) {
  return to_json(options, two_types(), result,
                 {.cpu = "c", .kernel = "k", .compiler = "g", .commit = "r", .storage = "d"});
}

TEST(OltpReport, TheObjectSaysWhatWasAskedForAndWhatCameOfIt) {
  const json object = toy_json(toy_result());
  EXPECT_EQ(object.at("schema_version"), kResultSchemaVersion);
  EXPECT_EQ(object.at("workload"), "toy");
  EXPECT_EQ(object.at("label"), "toy-like");
  EXPECT_EQ(object.at("engine"), "own");
  EXPECT_EQ(object.at("scale"), 3);
  EXPECT_EQ(object.at("scale_unit"), "branches");
  EXPECT_EQ(object.at("threads"), 2);
  EXPECT_EQ(object.at("memory_bytes"), 1'000'000);
  EXPECT_EQ(object.at("isolation"), "none");
  EXPECT_EQ(object.at("durability"), "async");
  EXPECT_EQ(object.at("asynchronous_interval_ms"), 10);
  EXPECT_EQ(object.at("seconds"), 2.0);
  EXPECT_EQ(object.at("commits"), 40);
  EXPECT_EQ(object.at("commits_by_type"), (json{{"write", 10}, {"read", 30}}));
  EXPECT_EQ(object.at("earlier_runs"), 6);
  EXPECT_EQ(object.at("read_everything_seconds"), 0.5);
  EXPECT_EQ(object.at("rollbacks_by_type"), (json{{"write", 1}, {"read", 0}}));
  EXPECT_EQ(object.at("workload_options"), json::object());
  EXPECT_EQ(object.at("aborts_by_reason").at("by_input"), 1);
  EXPECT_EQ(object.at("aborts_by_reason").at("write_conflict"), 4);
  EXPECT_EQ(object.at("aborts_by_reason").at("deadlock"), 0);
  EXPECT_EQ(object.at("tps"), 20.0);
  EXPECT_EQ(object.at("wpm"), 300.0);
  EXPECT_EQ(object.at("latency_us").at("write").at("p50"), 1000.0);
  EXPECT_EQ(object.at("latency_us").at("read").at("max"), 2000.0);
  EXPECT_EQ(object.at("log_bytes"), 4'000);
  EXPECT_EQ(object.at("data_bytes_start"), 100);
  EXPECT_EQ(object.at("data_bytes_end"), 200);
  EXPECT_EQ(object.at("orphan_tables_max"), 12);
  EXPECT_EQ(object.at("rss_bytes_max"), 8'000);
  EXPECT_EQ(object.at("compiler"), "g");
  EXPECT_EQ(object.at("commit"), "r");
  EXPECT_EQ(object.at("cpu"), "c");
  EXPECT_EQ(object.at("device"), "d");
  EXPECT_EQ(object.at("engine_options"), (json{{"pages", "4096 (default)"}}));
}

TEST(OltpReport, WhatOnlyThisWorkloadCanBeAskedIsSaid) {
  Options options = toy_options();
  options.of_workload = {{"keys", "skewed"}, {"order", "up"}};
  EXPECT_EQ(toy_json(toy_result(), options).at("workload_options"),
            (json{{"keys", "skewed"}, {"order", "up"}}));
  EXPECT_THAT(summary(options, two_types(), toy_result()),
              HasSubstr("toy-like, --branches=3 --keys=skewed --order=up, 2 threads"));
}

TEST(OltpReport, AWorkloadNeedsNoFigureOfItsOwn) {
  Workload plain = two_types();
  plain.figure.reset();
  const RunResult result = toy_result();
  EXPECT_FALSE(to_json(toy_options(), plain, result, {}).contains("wpm"));
  EXPECT_EQ(to_json(toy_options(), plain, result, {}).at("tps"), 20.0);
  EXPECT_THAT(summary(toy_options(), plain, result), HasSubstr("2.0 s: 20 tps\n"));
  EXPECT_THAT(series_csv(plain, *result.measured), Not(HasSubstr("wpm")));
}

TEST(OltpReport, WhatAReaderLeavesIsSaidIfItCameAndWent) {
  RunResult result = toy_result();
  result.measured->long_reader = LongReaderCounts{.looks = 9, .restarts = 2};
  EXPECT_EQ(toy_json(result).at("long_reader"),
            (json{{"looks", 9}, {"restarts", 2}, {"share", nullptr}}));
  result.measured->reader_share = {.turns = 3, .median = 0.875, .least = 0.5, .most = 1.25};
  EXPECT_EQ(toy_json(result).at("long_reader").at("share"),
            (json{{"turns", 3}, {"median", 0.875}, {"least", 0.5}, {"most", 1.25}}));
  EXPECT_THAT(
      summary(toy_options(), two_types(), result),
      HasSubstr("beside a reader 0.88 of the throughput without one, median of 3 turns (0.50 to "
                "1.25)\n"));
}

TEST(OltpReport, WhatIsNotKnownIsNull) {
  const json object = toy_json(toy_result());
  for (const char* field :
       {"page_reads", "page_writes", "version_bytes_max", "mapping_table_bytes_max",
        "write_conflicts", "rate", "load", "check"}) {
    EXPECT_TRUE(object.at(field).is_null()) << field;
  }
  Options synchronous = toy_options();
  synchronous.durability = Durability::sync;
  synchronous.rate = 7;
  EXPECT_TRUE(toy_json(toy_result(), synchronous).at("asynchronous_interval_ms").is_null());
  EXPECT_EQ(toy_json(toy_result(), synchronous).at("rate"), 7.0);
}

TEST(OltpReport, LoadsAndChecksAreThereIfTheyWere) {
  RunResult result = toy_result();
  result.measured.reset();
  result.load = {.loaded = true, .rows = 5, .seconds = 1.5, .settle_seconds = 0.5};
  result.check = CheckResult{.violations = 2, .first = {"first", "second"}};
  const json object = toy_json(result);
  EXPECT_EQ(object.at("load").at("rows"), 5);
  EXPECT_EQ(object.at("check").at("violations"), 2);
  EXPECT_FALSE(object.contains("tps"));
  EXPECT_TRUE(object.at("earlier_runs").is_null());
  const std::string text = summary(toy_options(), two_types(), result);
  EXPECT_THAT(text, HasSubstr("loaded 5 rows in 1.5 s"));
  EXPECT_THAT(text, HasSubstr("2 violations"));
  EXPECT_THAT(text, HasSubstr("second"));
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line + ",");
  for (std::string field; std::getline(in, field, ',');) {
    fields.push_back(field);
  }
  return fields;
}

TEST(OltpReport, TheSeriesHasAFieldForEachColumn) {
  std::istringstream csv(series_csv(two_types(), *toy_result().measured));
  std::string header;
  std::string line;
  std::string more;
  ASSERT_TRUE(std::getline(csv, header));
  ASSERT_TRUE(std::getline(csv, line));
  EXPECT_FALSE(std::getline(csv, more));
  const std::vector<std::string> names = split(header);
  const std::vector<std::string> fields = split(line);
  ASSERT_EQ(names.size(), fields.size());
  const auto field = [&](const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? "no such column"
                             : fields[static_cast<std::size_t>(at - names.begin())];
  };
  EXPECT_EQ(field("end_s"), "2.0000");
  EXPECT_EQ(field("commits"), "40");
  EXPECT_EQ(field("tps"), "20.0");
  EXPECT_EQ(field("wpm"), "300.0");
  EXPECT_EQ(field("aborts_by_input"), "1");
  EXPECT_EQ(field("aborts_write_conflict"), "4");
  EXPECT_EQ(field("write_commits"), "10");
  EXPECT_EQ(field("write_p50_us"), "1000.0");
  EXPECT_EQ(field("read_p999_us"), "2000.0");
  EXPECT_EQ(field("log_bytes"), "4000");
  EXPECT_EQ(field("page_reads"), "") << "not known";
  EXPECT_EQ(field("rss_bytes"), "5000");
  EXPECT_EQ(field("write_bytes"), "7000");
}

TEST(OltpReport, TheSummarySaysWhatACrashMayLose) {
  const std::string text = summary(toy_options(), two_types(), toy_result());
  EXPECT_THAT(text, HasSubstr("toy-like, --branches=3, 2 threads, isolation none, async (a crash "
                              "may lose 10 ms and one write)"));
  EXPECT_THAT(text, HasSubstr("20 tps, 300 writes a minute"));
  EXPECT_THAT(text, HasSubstr("1 by input, 4 write_conflict"));
  EXPECT_THAT(text, HasSubstr("transactions a second"));
  Options synchronous = toy_options();
  synchronous.durability = Durability::sync;
  EXPECT_THAT(summary(synchronous, two_types(), toy_result()), Not(HasSubstr("may lose")));
}

}  // namespace
}  // namespace palimpsest::experiments::oltp
