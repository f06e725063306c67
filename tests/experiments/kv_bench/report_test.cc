#include "experiments/kv_bench/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace palimpsest::experiments {
namespace {

Options options(Mode mode) {
  Options wanted;
  wanted.engine = "own";
  wanted.mode = mode;
  wanted.records = 1000;
  wanted.value_bytes = 120;
  wanted.page_bytes = 8192;
  wanted.threads = 4;
  wanted.memory_bytes = 64U << 20U;
  wanted.theta = 0.99;
  wanted.update_percent = 30;
  return wanted;
}

RunResult result() {
  RunResult run;
  run.load = {.loaded = true, .seconds = 2, .settle_seconds = 3, .records = 1000};
  run.measured.end = {.seconds = 4,
                      .ops = 8000,
                      .page_reads = 400,
                      .page_writes = 40,
                      .read_bytes = 4096,
                      .write_bytes = 512,
                      .resident_bytes = 99};
  run.measured.latency_ns.record(5000);
  run.resident_bytes_max = 100;
  return run;
}

const HostInfo kHost{.cpu = "c", .kernel = "k", .compiler = "g", .commit = "abc", .storage = "s"};

TEST(Report, HasEveryFieldOfTheSchema) {
  const nlohmann::json json = to_json(options(Mode::mixed), result(), kHost);
  for (const char* field : {"engine",
                            "mode",
                            "distribution",
                            "records",
                            "value_bytes",
                            "page_kib",
                            "threads",
                            "memory_bytes",
                            "data_bytes",
                            "seconds",
                            "ops",
                            "ops_per_s",
                            "latency_us",
                            "page_reads",
                            "page_writes",
                            "read_bytes",
                            "write_bytes",
                            "resident_bytes_before_open",
                            "resident_bytes_max",
                            "compiler",
                            "commit",
                            "cpu",
                            "kernel",
                            "storage",
                            "io",
                            "schema_version",
                            "latency_every",
                            "update_percent",
                            "seed"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  for (const char* field : {"p50", "p90", "p99", "p999", "max"}) {
    EXPECT_EQ(json["latency_us"][field], 5.0) << field;
  }
  EXPECT_EQ(json["ops_per_s"], 2000.0);
  EXPECT_EQ(json["page_reads_per_s"], 100.0);
  EXPECT_EQ(json["page_kib"], 8);
  EXPECT_FALSE(json.contains("theta"));
  EXPECT_FALSE(json.contains("double_write"));
}

TEST(Report, ALoadIsMeasuredFromBeginToSettled) {
  const nlohmann::json json = to_json(options(Mode::load), result(), kHost);
  EXPECT_EQ(json["seconds"], 5.0);
  EXPECT_EQ(json["ops"], 1000);
  EXPECT_EQ(json["ops_per_s"], 200.0);
}

TEST(Report, SummaryNamesTheRate) {
  EXPECT_NE(summary(options(Mode::mixed), result()).find("2000 ops/s"), std::string::npos);
}

}  // namespace
}  // namespace palimpsest::experiments
