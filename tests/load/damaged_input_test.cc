// Loads of damaged compressed files: the error names the file, not the records that the damage has
// made wrong.
#include <gmock/gmock.h>

#include <string>

#include "tests/load/compressed.h"
#include "tests/load/parsed.h"
#include "tests/support/error_of.h"
#include "tools/load/load.h"

namespace palimpsest::load {
namespace {

using palimpsest::test::error_of;

std::string rows_text() {
  std::string text;
  for (int i = 0; i < 200'000; ++i) {
    text += std::to_string(i) + ",name\n";
  }
  return text;
}

LoadResult dry_load(const std::vector<std::string>& files) {
  const palimpsest::test::TemporaryDirectory directory;
  Counters counters;
  return run_load({.database = {.pages = directory.path("db")},
                   .table = "t",
                   .files = files,
                   .schema = "id int32 primary key, name varchar(4)",
                   .faults = {.shown_max = 0},
                   .dry_run = true},
                  counters, [](const LoadFindings&) {});
}

TEST(DamagedInputTest, FileIsToBlame) {
  std::string damaged = test::gzip(rows_text());
  damaged[4'000] ^= 0x20;
  const test::TextFile file(damaged, "1.csv.gz");
  EXPECT_EQ(error_of([&] { return dry_load({file.path()}); }, file.path() + ": the gzip data is "),
            ErrorCode::corruption);
}

TEST(DamagedInputTest, RecordsOfWholeFilesAre) {
  std::string damaged = test::gzip(rows_text());
  damaged[4'000] ^= 0x20;
  const test::TextFile later(damaged, "2.csv.gz");
  const test::TextFile whole(test::gzip("x,name\n" + rows_text()), "1.csv.gz");
  EXPECT_TRUE(dry_load({whole.path(), later.path()}).too_many_faults);
  const test::TextFile plain("x,name\n" + rows_text(), "1.csv");
  EXPECT_TRUE(dry_load({plain.path(), later.path()}).too_many_faults);
}

}  // namespace
}  // namespace palimpsest::load
