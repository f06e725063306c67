#include "experiments/kv_bench/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments {
namespace {

using testing::HasSubstr;

class ManifestTest : public testing::Test {
 protected:
  Options options() const {
    Options wanted;
    wanted.engine = "own";
    wanted.path = path_;
    wanted.records = 1000;
    wanted.value_bytes = 120;
    wanted.page_bytes = 4096;
    return wanted;
  }

  std::string refusal(const Options& wanted) const {
    try {
      (void)directory_.plan(wanted);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  }

  /// A complete load, with one file of data.
  void load() {
    directory_.start_load(options());
    std::ofstream(directory_.data() / "pages") << "x";
    directory_.set_state(DataState::closed);
  }

  test::TemporaryDirectory temporary_;
  std::filesystem::path path_ = temporary_.path("run");
  DataDirectory directory_{path_};
};

TEST_F(ManifestTest, EmptyOrMissingPathIsLoaded) {
  EXPECT_TRUE(directory_.plan(options()).load);
  EXPECT_FALSE(std::filesystem::exists(path_)) << "planning changes nothing";
  std::filesystem::create_directory(path_);
  EXPECT_TRUE(directory_.plan(options()).load);
}

TEST_F(ManifestTest, LoadedDataIsUsed) {
  load();
  EXPECT_FALSE(directory_.plan(options()).load);
}

TEST_F(ManifestTest, OtherContentIsLeftAlone) {
  std::filesystem::create_directory(path_);
  std::ofstream(path_ / "thesis.tex") << "years of work";
  EXPECT_THAT(refusal(options()), HasSubstr("was not made by kv_bench"));
  Options reload = options();
  reload.reload = true;
  EXPECT_THAT(refusal(reload), HasSubstr("was not made by kv_bench"));
}

TEST_F(ManifestTest, AFileIsNoDirectory) {
  std::ofstream(path_) << "x";
  EXPECT_THAT(refusal(options()), HasSubstr("was not made by kv_bench"));
}

TEST_F(ManifestTest, AnotherScaleIsAnErrorThatNamesBoth) {
  load();
  Options other = options();
  other.records = 2000;
  EXPECT_THAT(refusal(other), HasSubstr("1000 records"));
  EXPECT_THAT(refusal(other), HasSubstr("2000 records"));
  other = options();
  other.value_bytes = 100;
  EXPECT_THAT(refusal(other), HasSubstr("100 value bytes"));
  other = options();
  other.page_bytes = 16384;
  EXPECT_THAT(refusal(other), HasSubstr("16 KiB pages"));
  other = options();
  other.engine = "lmdb";
  EXPECT_THAT(refusal(other), HasSubstr("by lmdb"));
  other = options();
  other.load_order = LoadOrder::random;
  EXPECT_EQ(refusal(other), "accepted") << "the order was not asked for";
  other.load_order_given = true;
  EXPECT_THAT(refusal(other), HasSubstr("random order"));
  other.reload = true;
  EXPECT_EQ(refusal(other), "accepted");
}

TEST_F(ManifestTest, InterruptedLoadsAndRunsAreLoadedAgain) {
  directory_.start_load(options());
  EXPECT_THAT(directory_.plan(options()).reason, HasSubstr("interrupted"));
  EXPECT_TRUE(directory_.plan(options()).load);
  directory_.set_state(DataState::open);
  EXPECT_THAT(directory_.plan(options()).reason, HasSubstr("did not close"));
  EXPECT_TRUE(directory_.plan(options()).load);
}

TEST_F(ManifestTest, ALoadRemovesEarlierData) {
  load();
  directory_.start_load(options());
  EXPECT_TRUE(std::filesystem::is_empty(directory_.data()));
  EXPECT_EQ(directory_.read()->state, DataState::loading);
}

TEST_F(ManifestTest, LoadingTwiceIsRefused) {
  load();
  Options again = options();
  again.mode = Mode::load;
  EXPECT_THAT(refusal(again), HasSubstr("loaded already"));
}

TEST_F(ManifestTest, ADamagedManifestIsAnError) {
  load();
  for (const char* text :
       {"", "{", "[]", "{}", R"({"format_version": 1})", R"({"format_version": "one"})",
        R"({"format_version": 99})", R"({"format_version": 1, "engine": 5, "records": "many"})"}) {
    std::ofstream(path_ / "kv_bench.json") << text;
    EXPECT_THAT(refusal(options()), HasSubstr("cannot be parsed")) << text;
  }
}

}  // namespace
}  // namespace palimpsest::experiments
