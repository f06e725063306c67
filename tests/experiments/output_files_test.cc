#include "experiments/common/output_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "experiments/common/flag_checks.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public testing::Test {
 protected:
  [[nodiscard]] std::string refusal(const std::string& json, const std::string& series = "") const {
    try {
      check_output_files(data_, {{"json", json}, {"series", series}});
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  }
  [[nodiscard]] std::string path(const std::string& name) const { return temporary_.path(name); }

  test::TemporaryDirectory temporary_;
  const std::string data_ = temporary_.path("data");
};

TEST_F(OutputFiles, WhatCanBeWrittenIsAcceptedAndNotMadeYet) {
  EXPECT_EQ(refusal(path("result.json"), path("series.csv")), "accepted");
  EXPECT_EQ(refusal("-", ""), "accepted");
  EXPECT_EQ(refusal("/dev/null", "/dev/null"), "accepted");
  EXPECT_TRUE(fs::is_empty(temporary_.path()));
  std::ofstream(path("result.json")) << "earlier";
  EXPECT_EQ(refusal(path("result.json")), "accepted");
  EXPECT_EQ(fs::file_size(path("result.json")), 7U);
}

TEST_F(OutputFiles, WhatCannotBeMadeIsRefused) {
  EXPECT_EQ(refusal(path("no/such.json")),
            "--json=" + path("no/such.json") + ": cannot be written: No such file or directory");
  EXPECT_EQ(refusal("", temporary_.path()),
            "--series=" + temporary_.path() + ": cannot be written: Is a directory");
  std::ofstream(path("file")) << "no directory";
  EXPECT_NE(refusal(path("file/result.json")), "accepted");
}

TEST_F(OutputFiles, TheSameFileTwiceIsRefusedHoweverItIsWritten) {
  const std::string file = path("result");
  EXPECT_EQ(refusal(file, file), "--series=" + file + ": is the same file as --json=" + file);
  EXPECT_NE(refusal(file, path("./result")), "accepted");
  EXPECT_NE(refusal(file, file + ".new"), "accepted") << "it is written there first";
  std::ofstream(file) << "earlier";
  fs::create_symlink(file, path("link"));
  EXPECT_NE(refusal(file, path("link")), "accepted");
}

TEST_F(OutputFiles, NoneLiesWhereTheDataDoes) {
  const std::string within = data_ + "/data/pages";
  EXPECT_EQ(refusal(within), "--json=" + within + ": lies in the directory of the data, --path=" +
                                 data_ + "; name another file");
  EXPECT_NE(refusal(data_), "accepted");
  EXPECT_NE(refusal(temporary_.path()), "accepted") << "the data lies in it";
  EXPECT_EQ(refusal(data_ + ".json"), "accepted");
  fs::create_directory(data_);
  fs::create_directory_symlink(data_, path("link"));
  EXPECT_NE(refusal("", path("link/series.csv")), "accepted");
  EXPECT_TRUE(fs::is_empty(data_));
}

}  // namespace
}  // namespace palimpsest::experiments
