// Whole sets of .tbl files: the same bytes by any number of threads, and never an incomplete file.
#include "experiments/tpch/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <system_error>

#include "experiments/common/flag_checks.h"
#include "experiments/common/interrupt.h"
#include "experiments/tpch/population.h"
#include "experiments/tpch/tbl_text.h"
#include "tests/experiments/tpch/file_content.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments::tpch {
namespace {

using Files = std::map<std::string, std::string>;

Files files_of(const std::string& directory) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    files[entry.path().filename()] = test::content_of(entry.path());
  }
  return files;
}

Generated generate(const GenerateOptions& options) {
  ProgressDisplay silent(nullptr);
  return generate(options, silent);
}

/// Five parts of orders, so that threads meet.
const Scale kScale(0.01);

TEST(TpchGenerate, IsTheSameWithAnyNumberOfThreads) {
  const palimpsest::test::TemporaryDirectory directory;
  Files first;
  for (const std::uint32_t threads : {1U, 2U, 5U}) {
    const std::string path = directory.path(std::to_string(threads));
    const Generated generated = generate({.directory = path, .scale = kScale, .threads = threads});
    const Files files = files_of(path);
    std::uint64_t bytes = 0;
    for (const auto& [name, content] : files) {
      bytes += content.size();
    }
    EXPECT_EQ(generated.bytes, bytes);
    if (first.empty()) {
      first = files;
    }
    EXPECT_TRUE(files == first) << threads;
  }
  EXPECT_EQ(first.size(), kTables.size());
}

TEST(TpchGenerate, FilesHaveAllRowsInOrder) {
  const palimpsest::test::TemporaryDirectory directory;
  static_cast<void>(generate({.directory = directory.path(), .scale = kScale, .threads = 3}));
  const Files files = files_of(directory.path());
  const Population population(1, kScale);
  TblText orders;
  TblText lines;
  Order order;
  for (std::uint64_t number = 0; number < kScale.orders(); ++number) {
    population.make(number, order);
    orders.add(order.row);
    for (const LineItemRow& line : order.lines()) {
      lines.add(line);
    }
  }
  EXPECT_TRUE(files.at("orders.tbl") == orders.view());
  EXPECT_TRUE(files.at("lineitem.tbl") == lines.view());
  TblText parts;
  PartRow part;
  for (std::uint64_t number = 0; number < kScale.parts(); ++number) {
    population.make(number, part);
    parts.add(part);
  }
  EXPECT_TRUE(files.at("part.tbl") == parts.view());
}

TEST(TpchGenerate, OneTableIsWhatItIsAmongAll) {
  const palimpsest::test::TemporaryDirectory directory;
  static_cast<void>(generate({.directory = directory.path("all"), .scale = kScale}));
  const Files all = files_of(directory.path("all"));
  for (const TableId table : {TableId::partsupp, TableId::orders, TableId::lineitem}) {
    const std::string path = directory.path(std::string(name_of(table)));
    static_cast<void>(generate({.directory = path, .scale = kScale, .tables = {table}}));
    const std::string file = std::string(name_of(table)) + ".tbl";
    EXPECT_TRUE(files_of(path) == (Files{{file, all.at(file)}})) << file;
  }
}

TEST(TpchGenerate, AnotherSeedMakesOtherRows) {
  const palimpsest::test::TemporaryDirectory directory;
  for (const std::uint64_t seed : {1U, 2U}) {
    static_cast<void>(generate(
        {.directory = directory.path(std::to_string(seed)), .scale = kScale, .seed = seed}));
  }
  const Files first = files_of(directory.path("1"));
  for (const auto& [name, content] : files_of(directory.path("2"))) {
    EXPECT_FALSE(content == first.at(name)) << name;
  }
}

TEST(TpchGenerate, RefusesToWriteOverFiles) {
  const palimpsest::test::TemporaryDirectory directory;
  std::ofstream(directory.path("orders.tbl")) << "mine";
  EXPECT_THROW(static_cast<void>(generate({.directory = directory.path(), .scale = kScale})),
               UsageError);
  EXPECT_EQ(files_of(directory.path()), (Files{{"orders.tbl", "mine"}}));
}

TEST(TpchGenerate, RefusesWhatDoesNotFit) {
  const palimpsest::test::TemporaryDirectory directory;
  const std::string path = directory.path("a/b");
  const std::uint64_t free = std::filesystem::space(directory.path()).available;
  require_space(path, free / 2);
  EXPECT_THAT([&] { require_space(path, 2 * free); },
              testing::ThrowsMessage<UsageError>(testing::HasSubstr("MB are needed")));
  const Scale large(10'000);
  if (large.tbl_bytes(TableId::lineitem) < free) {
    GTEST_SKIP() << "this machine would do it";
  }
  EXPECT_THROW(static_cast<void>(generate({.directory = path, .scale = large})), UsageError);
  EXPECT_FALSE(std::filesystem::exists(directory.path("a")));
}

TEST(TpchGenerate, LeavesNothingWhenItIsInterrupted) {
  const palimpsest::test::TemporaryDirectory directory;
  const InterruptSignals waiting;  // pending before the generator looks
  ASSERT_EQ(std::raise(SIGINT), 0);
  const std::string path = directory.path("new");
  EXPECT_THROW(static_cast<void>(generate({.directory = path, .scale = kScale})), Interrupted);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TpchGenerate, LeavesNothingWhenAFileCannotBeMade) {
  const palimpsest::test::TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path("lineitem.tbl.partial"));
  EXPECT_THROW(static_cast<void>(generate({.directory = directory.path(), .scale = kScale})),
               std::system_error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

}  // namespace
}  // namespace palimpsest::experiments::tpch
