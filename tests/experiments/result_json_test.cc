#include "experiments/common/result_json.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
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

TEST(ResultJson, AFileThatCannotBeWrittenStaysAsItWas) {
  const test::TemporaryDirectory temporary;
  const std::string file = temporary.path("result.json");
  write_file(file, "earlier");
  std::filesystem::create_symlink("/dev/full", file + ".new");
  EXPECT_THROW(write_file(file, "later"), std::runtime_error);
  std::string text;
  std::ifstream(file) >> text;
  EXPECT_EQ(text, "earlier");
  EXPECT_FALSE(std::filesystem::is_symlink(file + ".new"));
  const std::string directory = temporary.path("directory");
  std::filesystem::create_directory(directory);
  EXPECT_THROW(write_file(directory, "text"), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(directory + ".new"));
}

TEST(ResultJson, PipesAndDevicesStay) {
  const test::TemporaryDirectory temporary;
  const std::string pipe = temporary.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), S_IRUSR | S_IWUSR), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  write_file(pipe, "through");
  std::array<char, 16> read_back{};
  EXPECT_EQ(read(reader, read_back.data(), read_back.size()), 7);
  EXPECT_STREQ(read_back.data(), "through");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  close(reader);
}

}  // namespace
}  // namespace palimpsest::experiments
