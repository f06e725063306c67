// The files that a load leaves for a later one: written and read, damaged, removed.
#include "tools/load/resume_files.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::load {
namespace {

using palimpsest::test::error_of;

SavedLoad some_load() {
  return {.conditions = {{"table", "t\twith a tab"}, {"columns", ""}, {"file 1", "/a b, 5 bytes"}},
          .position = {.file = 1, .byte = 2, .line = 3},
          .records = 4,
          .skipped_lines = 5,
          .rows = 6,
          .faults = {.by_kind = {7, 8, 9, 10, 11},
                     .file_bytes = 12,
                     .log_bytes = 13,
                     .below = {{"a,b\r\n", 12}, {"", 0}}},
          .runs = "palimpsest runs 1 4096 0 0"};
}

class ResumeFilesTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path manifest() const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().extension() == ".manifest") {
        return entry.path();
      }
    }
    return {};
  }
  [[nodiscard]] std::string text() const {
    std::ostringstream text;
    text << std::ifstream(manifest(), std::ios::binary).rdbuf();
    return text.str();
  }

  palimpsest::test::TemporaryDirectory directory_;
  ResumeFiles files_{directory_.path(), "t"};
};

TEST_F(ResumeFilesTest, ThereAndBack) {
  EXPECT_FALSE(files_.find());
  files_.save({});
  files_.save(some_load());
  const auto found = files_.find();
  ASSERT_TRUE(found);
  const SavedLoad expected = some_load();
  EXPECT_EQ(found->conditions, expected.conditions);
  EXPECT_EQ(found->position.file, 1U);
  EXPECT_EQ(found->position.byte, 2U);
  EXPECT_EQ(found->position.line, 3U);
  EXPECT_EQ(found->records, 4U);
  EXPECT_EQ(found->skipped_lines, 5U);
  EXPECT_EQ(found->rows, 6U);
  EXPECT_EQ(found->faults.by_kind, expected.faults.by_kind);
  EXPECT_EQ(found->faults.file_bytes, 12U);
  EXPECT_EQ(found->faults.log_bytes, 13U);
  EXPECT_EQ(found->faults.below, expected.faults.below);
  EXPECT_EQ(found->runs, expected.runs);
  EXPECT_FALSE(ResumeFiles(directory_.path(), "another").find());
}

TEST_F(ResumeFilesTest, EveryDamageIsNoticed) {
  files_.save(some_load());
  const std::string whole = text();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::ofstream(manifest(), std::ios::binary) << damaged;
    EXPECT_EQ(error_of([&] { return files_.find(); }, ".manifest"), ErrorCode::corruption) << at;
    std::ofstream(manifest(), std::ios::binary) << whole.substr(0, at);
    EXPECT_EQ(error_of([&] { return files_.find(); }, ".manifest"), ErrorCode::corruption) << at;
  }
}

TEST_F(ResumeFilesTest, RemovesWhatIsThere) {
  files_.remove();
  files_.save(some_load());
  std::ofstream(directory_.path(files_.runs_name())) << "rows";
  std::ofstream(manifest().string() + ".new") << "half";
  files_.remove();
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(ResumeFilesTest, TheFirstDifferenceIsTold) {
  std::vector<LoadCondition> now = some_load().conditions;
  EXPECT_FALSE(difference(some_load().conditions, now));
  now[2].value = "/a b, 6 bytes";
  EXPECT_EQ(difference(some_load().conditions, now),
            "file 1 was \"/a b, 5 bytes\", now it is \"/a b, 6 bytes\"");
  now.pop_back();
  EXPECT_TRUE(difference(some_load().conditions, now));
}

}  // namespace
}  // namespace palimpsest::load
