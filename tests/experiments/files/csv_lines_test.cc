#include "experiments/files/csv_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments::files {
namespace {

std::string csv_of(std::string_view tbl_line) {
  std::string csv;
  append_csv(tbl_line, csv);
  return csv;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream from(text);
  for (std::string line; std::getline(from, line);) {
    lines.push_back(line);
  }
  std::ranges::sort(lines);
  return lines;
}

TEST(CsvLines, OnlyFieldsThatNeedThemHaveQuotes) {
  EXPECT_EQ(csv_of("1|two words|3.50|"), "1,two words,3.50\n");
  EXPECT_EQ(csv_of("1|one, two||"), "1,\"one, two\",\n");
  EXPECT_EQ(csv_of("say \"so\"|"), "\"say \"\"so\"\"\"\n");
}

TEST(CsvLines, ShuffledLinesAreTheSortedOnes) {
  const test::TemporaryDirectory directory;
  const CsvLines lines(1, tpch::Scale(0.01));
  lines.write(directory.path() + "/sorted", LineOrder::sorted);
  lines.write(directory.path() + "/shuffled", LineOrder::shuffled);
  const std::string sorted = text_of(directory.path() + "/sorted");
  const std::string shuffled = text_of(directory.path() + "/shuffled");
  EXPECT_EQ(sorted.size(), lines.bytes());
  EXPECT_NE(sorted, shuffled);
  const std::vector<std::string> each = sorted_lines(sorted);
  EXPECT_EQ(each.size(), lines.content().rows);
  EXPECT_EQ(each, sorted_lines(shuffled));
}

TEST(CsvLines, TheSameSeedMakesTheSameFile) {
  const test::TemporaryDirectory directory;
  CsvLines(7, tpch::Scale(0.01)).write(directory.path() + "/a", LineOrder::shuffled);
  CsvLines(7, tpch::Scale(0.01)).write(directory.path() + "/b", LineOrder::shuffled);
  EXPECT_EQ(text_of(directory.path() + "/a"), text_of(directory.path() + "/b"));
}

TEST(CsvLines, NothingIsWrittenOver) {
  const test::TemporaryDirectory directory;
  const CsvLines lines(1, tpch::Scale(0.01));
  lines.write(directory.path() + "/file", LineOrder::sorted);
  EXPECT_THROW(lines.write(directory.path() + "/file", LineOrder::sorted), std::system_error);
  EXPECT_EQ(text_of(directory.path() + "/file").size(), lines.bytes());
}

}  // namespace
}  // namespace palimpsest::experiments::files
