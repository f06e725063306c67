#include "experiments/common/result_json.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments {
namespace {

TEST(ResultJson, LatenciesAreMicroseconds) {
  Histogram latency_ns;
  latency_ns.record(5000);
  latency_ns.record(7000);
  const nlohmann::json json = latency_json(latency_ns);
  EXPECT_NEAR(json["p50"].get<double>(), 5.0, 0.1);
  EXPECT_EQ(json["p999"], 7.0);
  EXPECT_EQ(json["max"], 7.0);
  EXPECT_EQ(json["timed_operations"], 2);
}

TEST(ResultJson, FilesAppearWhole) {
  const test::TemporaryDirectory temporary;
  const std::string file = temporary.path("result.json");
  write_file(file, "first");
  write_file(file, "second");
  std::string text;
  std::ifstream(file) >> text;
  EXPECT_EQ(text, "second");
  EXPECT_FALSE(std::filesystem::exists(file + ".new"));
  EXPECT_THROW(write_file(temporary.path("no/such.json"), "x"), std::runtime_error);
}

}  // namespace
}  // namespace palimpsest::experiments
