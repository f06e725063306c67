#include "experiments/oltp/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments::oltp {
namespace {

using testing::HasSubstr;

class OltpManifestTest : public testing::Test {
 protected:
  Options wanted() const {
    Options options;
    options.engine = "own";
    options.path = path_;
    options.scale = 10;
    options.seed = 3;
    return options;
  }

  std::string refusal(const Options& options) const {
    try {
      (void)directory_.plan(options);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  }

  test::TemporaryDirectory temporary_;
  const std::filesystem::path path_ = temporary_.path("run");
  const WorkloadTraits workload_{
      .name = "tpcc", .label = "", .scale_flag = "warehouses", .scale_max = 100};
  const DataDirectory directory_{path_, workload_};
};

TEST_F(OltpManifestTest, NothingIsLoaded) {
  EXPECT_TRUE(directory_.plan(wanted()).load);
  std::filesystem::create_directory(path_);
  EXPECT_TRUE(directory_.plan(wanted()).load);
  EXPECT_FALSE(directory_.read().has_value());
}

TEST_F(OltpManifestTest, WhatWasLoadedIsUsedAgain) {
  directory_.start_load(wanted());
  EXPECT_TRUE(std::filesystem::is_directory(directory_.data()));
  directory_.end_load(wanted());
  EXPECT_FALSE(directory_.plan(wanted()).load);
}

TEST_F(OltpManifestTest, RunsAreCountedFromTheLoadOn) {
  directory_.start_load(wanted());
  directory_.end_load(wanted());
  EXPECT_EQ(directory_.runs(), 0U);
  EXPECT_EQ(directory_.start_run(), 0U);
  EXPECT_EQ(directory_.start_run(), 1U);
  EXPECT_EQ(directory_.runs(), 2U);
  EXPECT_FALSE(directory_.plan(wanted()).load);
  EXPECT_EQ(DataDirectory(path_, workload_).runs(), 2U);
  directory_.start_load(wanted());
  directory_.end_load(wanted());
  EXPECT_EQ(directory_.runs(), 0U);
}

TEST_F(OltpManifestTest, WhatWasLoadedBeforeRunsWereCountedHasNone) {
  directory_.start_load(wanted());
  std::ofstream(path_ / "workload.json")
      << R"({"format_version": 1, "workload": "tpcc", "engine": "own", "scale": 10, "seed": 3,
             "loaded": true})";
  EXPECT_FALSE(directory_.plan(wanted()).load);
  EXPECT_EQ(directory_.start_run(), 0U);
}

TEST_F(OltpManifestTest, ALoadThatDidNotEndIsBegunAnew) {
  directory_.start_load(wanted());
  std::ofstream(directory_.data() / "half") << "a load";
  const DataPlan plan = directory_.plan(wanted());
  EXPECT_TRUE(plan.load);
  EXPECT_THAT(plan.reason, HasSubstr("was interrupted"));
  directory_.start_load(wanted());
  EXPECT_TRUE(std::filesystem::is_empty(directory_.data()));
}

TEST_F(OltpManifestTest, AnythingElseIsRefused) {
  directory_.start_load(wanted());
  directory_.end_load(wanted());
  Options other = wanted();
  other.scale = 11;
  EXPECT_THAT(refusal(other), HasSubstr("holds tpcc with --warehouses=10 --seed=3 of engine own, "
                                        "not tpcc with --warehouses=11"));
  other = wanted();
  other.seed = 4;
  EXPECT_THAT(refusal(other), HasSubstr("--seed=4"));
  other = wanted();
  other.engine = "another";
  EXPECT_THAT(refusal(other), HasSubstr("engine another"));
  const WorkloadTraits tatp{
      .name = "tatp", .label = "", .scale_flag = "subscribers", .scale_max = 100};
  EXPECT_THROW((void)DataDirectory(path_, tatp).plan(wanted()), UsageError);
}

TEST_F(OltpManifestTest, ForeignDirectoriesAreRefused) {
  std::filesystem::create_directory(path_);
  std::ofstream(path_ / "letter.txt") << "dear";
  EXPECT_THAT(refusal(wanted()), HasSubstr("holds no workload"));
  std::ofstream(path_ / "workload.json") << "{\"format_version\": 99}";
  EXPECT_THAT(refusal(wanted()), HasSubstr("another version or is damaged"));
  std::ofstream(path_ / "workload.json") << "{";
  EXPECT_THAT(refusal(wanted()), HasSubstr("another version or is damaged"));
}

}  // namespace
}  // namespace palimpsest::experiments::oltp
