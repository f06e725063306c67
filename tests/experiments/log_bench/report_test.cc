#include "experiments/log_bench/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace palimpsest::experiments {
namespace {

CommitOptions options(Durability durability) {
  CommitOptions wanted;
  wanted.engine = "own";
  wanted.durability = durability;
  wanted.threads = 4;
  wanted.records = 1000;
  wanted.step = std::chrono::milliseconds(100);
  wanted.steps = 2;
  wanted.flush_every = std::chrono::milliseconds(5);
  wanted.checkpoint_every = std::chrono::milliseconds(2000);
  return wanted;
}

CommitRunResult result() {
  CommitRunResult run;
  run.latency_ns.record(5000);
  run.latency_ns.record(5000);
  run.series = {{.commits = 2, .p50_ns = 5000, .p99_ns = 5000, .max_ns = 5000}, {}};
  run.commits = 4;
  run.log = {.record_bytes = 200, .log_bytes = 512};
  run.write_bytes = 16384;
  run.durability_description = "hope";
  return run;
}

const HostInfo kHost{.cpu = "c", .kernel = "k", .compiler = "g", .commit = "abc", .storage = "s"};

TEST(CommitReport, HasEveryFieldOfTheSchema) {
  const nlohmann::json json = to_json(options(Durability::async), result(), kHost);
  for (const char* field : {"benchmark",
                            "schema_version",
                            "engine",
                            "durability",
                            "durable_by",
                            "threads",
                            "records",
                            "value_bytes",
                            "changed_bytes",
                            "memory_bytes",
                            "warmup_seconds",
                            "seconds",
                            "sample_ms",
                            "flush_ms",
                            "checkpoint_ms",
                            "seed",
                            "commits",
                            "commits_per_s",
                            "latency_us",
                            "commits_with_warmup",
                            "log_record_bytes",
                            "log_record_bytes_per_commit",
                            "log_bytes",
                            "log_bytes_per_commit",
                            "write_bytes",
                            "write_bytes_per_commit",
                            "load_seconds",
                            "series",
                            "cpu",
                            "kernel",
                            "compiler",
                            "commit",
                            "storage"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
}

TEST(CommitReport, RatesAreOfTheMeasuredTimeAndBytesOfAllCommits) {
  const nlohmann::json json = to_json(options(Durability::async), result(), kHost);
  EXPECT_EQ(json["seconds"], 0.2);
  EXPECT_EQ(json["commits"], 2);
  EXPECT_EQ(json["commits_per_s"], 10.0);
  EXPECT_EQ(json["latency_us"]["p999"], 5.0);
  EXPECT_EQ(json["log_record_bytes_per_commit"], 50.0);
  EXPECT_EQ(json["log_bytes_per_commit"], 128.0);
  EXPECT_EQ(json["write_bytes_per_commit"], 4096.0);
}

TEST(CommitReport, ASeriesHasItsEmptySteps) {
  const nlohmann::json series = to_json(options(Durability::sync), result(), kHost)["series"];
  ASSERT_EQ(series.size(), 2U);
  EXPECT_DOUBLE_EQ(series[0]["seconds"], 0.1);
  EXPECT_EQ(series[0]["commits"], 2);
  EXPECT_EQ(series[0]["p99_us"], 5.0);
  EXPECT_DOUBLE_EQ(series[1]["seconds"], 0.2);
  EXPECT_EQ(series[1]["commits"], 0);
}

TEST(CommitReport, WhatDoesNotApplyIsAbsent) {
  CommitRunResult without = result();
  without.log = {};
  const nlohmann::json json = to_json(options(Durability::sync), without, kHost);
  for (const char* field : {"flush_ms", "delta", "log_record_bytes", "log_bytes_per_commit"}) {
    EXPECT_FALSE(json.contains(field)) << field;
  }
}

TEST(CommitReport, SummaryNamesRateAndLog) {
  const std::string text = summary(options(Durability::sync), result());
  EXPECT_NE(text.find("10 commits/s (hope)"), std::string::npos) << text;
  EXPECT_NE(text.find("50.0 of log records"), std::string::npos) << text;
}

}  // namespace
}  // namespace palimpsest::experiments
