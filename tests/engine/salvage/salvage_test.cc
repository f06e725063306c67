// Salvage of sound databases, of damaged headers and logs, and what it refuses.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/io/open_device.h"
#include "engine/offline_database.h"
#include "tests/engine/salvage/salvage_fixture.h"
#include "tests/support/error_of.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::Content;
using test::DatabaseFiles;
using test::difference;
using test::error_of;
using test::salvaged;
using test::Salvaged;
using test::small_options;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SalvageTest : public ::testing::Test {
 protected:
  void make() {
    Database database = Database::open(path(), small_options());
    test::make_everything(database);
    content_ = test::content_of(database);
    database.close();
  }
  [[nodiscard]] std::string path() const { return directory_.path("database"); }
  [[nodiscard]] DatabaseFiles files() const { return DatabaseFiles(path()); }
  void remove_log() const {
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      if (entry.path().filename().string().starts_with("log-")) {
        std::filesystem::remove(entry);
      }
    }
  }

  test::TemporaryDirectory directory_{test::memory_file_system()};
  Content content_;
};

TEST_F(SalvageTest, OfASoundDatabaseIsTheSame) {
  make();
  const Salvaged found = salvaged(path());
  EXPECT_TRUE(found.report.is_whole());
  EXPECT_EQ(difference(content_, found.content), "");
  EXPECT_EQ(found.report.damaged_pages, 0U);
  EXPECT_EQ(found.report.tables.size(), content_.size());
  std::uint64_t rows = 0;
  for (const SalvagedTable& table : found.report.tables) {
    EXPECT_EQ(table.rows, content_.at(table.name).size());
    rows += table.rows;
  }
  EXPECT_EQ(found.report.rows, rows);
}

TEST_F(SalvageTest, TheCopyHasTheDefinitions) {
  make();
  const std::string copy = directory_.path("copy");
  static_cast<void>(salvage(path(), copy));
  Database from = Database::open(path(), small_options());
  Database to = Database::open(copy, small_options());
  EXPECT_EQ(from.tables(), to.tables());
  for (const TableSchema& schema : from.tables()) {
    EXPECT_EQ(from.table(schema.name).indexes(), to.table(schema.name).indexes());
  }
  to.table("people").insert({9'000, "new", Value()}).require();
}

TEST_F(SalvageTest, LittleMemoryAndLargePages) {
  Options options = small_options();
  options.page_bytes = 16'384;
  Database database = Database::open(path(), options);
  test::make_everything(database);
  const Table large = database.create_table(key_value_table("large"));
  const std::string value(3'000'000, 'x');
  large.insert({"one", value}).require();
  content_ = test::content_of(database);
  database.close();
  const Salvaged found = salvaged(path(), {.memory_bytes = 1});
  EXPECT_TRUE(found.report.is_whole());
  EXPECT_EQ(difference(content_, found.content), "");
}

TEST_F(SalvageTest, ChangesNothing) {
  make();
  const auto file = [&] { return files().read(0, std::filesystem::file_size(files().pages())); };
  const std::string before = file();
  static_cast<void>(salvaged(path()));
  EXPECT_TRUE(before == file());
}

TEST_F(SalvageTest, Refusals) {
  make();
  const std::string copy = directory_.path("copy");
  EXPECT_EQ(error_of([&] { return salvage(directory_.path("nowhere"), copy); }),
            ErrorCode::not_found);
  EXPECT_EQ(error_of([&] { return salvage(directory_.path(), copy); }), ErrorCode::not_found);
  EXPECT_EQ(error_of([&] { return salvage(path(), path()); }), ErrorCode::already_exists);
  EXPECT_EQ(
      error_of([&] { return salvage(path(), path() + "/copy"); }, "needs a directory of its own"),
      ErrorCode::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(path() + "/copy"));
  EXPECT_FALSE(std::filesystem::exists(copy));
  std::filesystem::create_directory(copy);
  const Database open = Database::open(path(), small_options());
  EXPECT_EQ(error_of([&] { return salvage(path(), copy); }), ErrorCode::locked);
  EXPECT_TRUE(std::filesystem::is_empty(copy));
}

TEST_F(SalvageTest, LeavesNothingWhenItIsStopped) {
  make();
  const std::string copy = directory_.path("copy");
  const SalvageOptions options{.progress = [](const SalvageProgress& now) {
    if (now.rows > 1000) {
      throw std::runtime_error("enough");
    }
  }};
  EXPECT_THROW(static_cast<void>(salvage(path(), copy, options)), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(copy));
}

TEST_F(SalvageTest, HeaderCopies) {
  make();
  for (std::uint64_t copy = 0; copy < 3; ++copy) {
    const std::string was = files().damage(copy);
    const Salvaged found = salvaged(path());
    EXPECT_EQ(difference(content_, found.content), "") << copy;
    EXPECT_TRUE(found.report.is_whole());
    EXPECT_FALSE(found.report.is_header_made);
    files().mend(copy, was);
  }
}

TEST_F(SalvageTest, NoHeader) {
  make();
  files().write(0, std::string(65'536, 'x'));
  const Salvaged found = salvaged(path());
  EXPECT_TRUE(found.report.is_header_made);
  EXPECT_TRUE(found.report.is_whole());
  EXPECT_EQ(difference(content_, found.content), "");
}

TEST_F(SalvageTest, NoHeaderOfLargePagesNorSpaceMap) {
  Options options = small_options();
  options.page_bytes = 8'192;
  Database database = Database::open(path(), options);
  test::make_everything(database);
  content_ = test::content_of(database);
  database.close();
  files().write(0, std::string(65'536, '\0'));
  const Salvaged found = salvaged(path());
  EXPECT_TRUE(found.report.is_whole());
  EXPECT_EQ(difference(content_, found.content), "");
}

// What is cut off is missing, and the rest is there.
TEST_F(SalvageTest, FileThatWasCut) {
  make();
  const auto pages = test::pages_of(path());
  const std::uint64_t left = files().page_count() / 2;
  std::filesystem::resize_file(files().pages(), left * DatabaseFiles::kPageBytes);
  test::OnPage lost;
  for (const auto& [page, on_page] : pages) {
    if (page >= left) {
      lost.rows.insert(on_page.rows.begin(), on_page.rows.end());
      lost.tables.insert(on_page.tables.begin(), on_page.tables.end());
    }
  }
  const Salvaged found = salvaged(path());
  EXPECT_FALSE(found.report.is_whole());
  EXPECT_EQ(difference(test::without(content_, lost), found.content), "");
}

// A log is not needed for what was closed, but what came later would be in it.
TEST_F(SalvageTest, ClosedWithoutItsLog) {
  make();
  remove_log();
  const Salvaged found = salvaged(path());
  EXPECT_THAT(found.report.log_fault, HasSubstr("no log"));
  EXPECT_FALSE(found.report.is_whole());
  EXPECT_EQ(found.report.pages_beyond_log, 0U);
  EXPECT_EQ(difference(content_, found.content), "");
}

TEST_F(SalvageTest, LogElsewhereIsNotTakenForLost) {
  Options options = small_options();
  options.log_directory = directory_.path("log");
  std::filesystem::create_directory(options.log_directory);
  Database database = Database::open(path(), options);
  database.create_table(key_value_table("t")).insert({"a", "b"}).require();
  database.close();
  const std::string copy = directory_.path("copy");
  EXPECT_EQ(error_of([&] { return salvage(path(), copy); }, directory_.path("log")),
            ErrorCode::log_not_found);
  EXPECT_TRUE(salvaged(path(), {.log_directory = options.log_directory}).report.is_whole());
  const Salvaged found = salvaged(path(), {.without_log = true});
  EXPECT_EQ(found.content.at("t").size(), 1U);
  EXPECT_FALSE(found.report.is_whole());
}

TEST_F(SalvageTest, LostDefinition) {
  make();
  static_cast<void>(files().damage(test::root_of(path(), "tables")));
  const Salvaged lost = salvaged(path());
  EXPECT_THAT(lost.content, IsEmpty());
  EXPECT_FALSE(lost.report.has_all_definitions);
  const Salvaged kept = salvaged(path(), {.lost_trees = true});
  std::set<std::size_t> sizes;
  for (const auto& [name, rows] : kept.content) {
    EXPECT_THAT(name, HasSubstr("lost tree"));
    sizes.insert(rows.size());
  }
  EXPECT_TRUE(sizes.contains(content_.at("notes").size()));
  EXPECT_TRUE(sizes.contains(content_.at("events").size()));
}

// Its trees are found by what is in them.
TEST_F(SalvageTest, LostCatalog) {
  make();
  static_cast<void>(files().damage(test::root_of(path(), "")));
  const Salvaged found = salvaged(path());
  EXPECT_EQ(difference(content_, found.content), "");
}

// Which of the rows that bulks have changed had been committed is not known then.
TEST_F(SalvageTest, LostListOfBulks) {
  make();
  const std::uint64_t page = test::root_of(path(), "bulks");
  const test::OnPage lost = test::pages_of(path()).at(page);
  ASSERT_GT(lost.rows.size(), 20U);
  static_cast<void>(files().damage(page));
  const Salvaged found = salvaged(path());
  EXPECT_EQ(difference(test::without(content_, lost), found.content), "");
  for (const SalvagedTable& table : found.report.tables) {
    EXPECT_EQ(table.of_unknown_bulks, table.name == "added" ? lost.rows.size() : 0U);
  }
}

TEST_F(SalvageTest, DamagedLargeValue) {
  make();
  const auto pages = test::pages_of(path());
  const auto block = std::ranges::find_if(pages, [&](const auto& page) {
    return files().type_of(page.first) == buffer::PageType::extent_block;
  });
  ASSERT_NE(block, pages.end());
  static_cast<void>(files().damage(block->first + 1));  // its second page
  const Salvaged found = salvaged(path());
  EXPECT_EQ(difference(test::without(content_, block->second), found.content), "");
  for (const SalvagedTable& table : found.report.tables) {
    EXPECT_EQ(table.lost_large_values, table.name == "notes" ? 1U : 0U);
    EXPECT_EQ(table.is_whole(), table.name != "notes");
  }
}

// A place of rows that are missing is told by the rows around it.
TEST_F(SalvageTest, GapsAreTold) {
  make();
  std::vector<std::pair<std::int64_t, std::uint64_t>> leaves;  // of "people", by their first ids
  for (const auto& [page, on_page] : test::pages_of(path())) {
    std::vector<std::int64_t> ids;
    for (const auto& [table, key] : on_page.rows) {
      if (table == "people" && files().type_of(page) == buffer::PageType::tree_leaf) {
        ids.push_back(std::stoll(key.substr(1)));
      }
    }
    if (!ids.empty()) {
      leaves.emplace_back(std::ranges::min(ids), page);
    }
  }
  std::ranges::sort(leaves);
  ASSERT_GT(leaves.size(), 5U);
  for (const std::size_t at : {std::size_t{0}, std::size_t{2}, leaves.size() - 1}) {
    const std::string was = files().damage(leaves[at].second);
    const Salvaged found = salvaged(path());
    const auto& rows = found.content.at("people");
    for (const SalvagedTable& table : found.report.tables) {
      if (table.name != "people") {
        continue;
      }
      ASSERT_EQ(table.gaps.size(), 1U);
      EXPECT_EQ(table.damaged_pages, 1U);
      const SalvageGap& gap = table.gaps[0];
      EXPECT_EQ(gap.after.empty(), at == 0);
      EXPECT_EQ(gap.before.empty(), at + 1 == leaves.size());
      EXPECT_TRUE(gap.after.empty() || rows.contains(gap.after)) << gap.after;
      EXPECT_TRUE(gap.before.empty() || rows.contains(gap.before)) << gap.before;
      if (at == 2) {
        EXPECT_LT(std::stoll(gap.after.substr(1)), leaves[2].first);
        EXPECT_GE(std::stoll(gap.before.substr(1)), leaves[3].first);
      }
    }
    files().mend(leaves[at].second, was);
  }
}

// Rows that were erased before still lie in pages that are free.
TEST_F(SalvageTest, NothingOfThePastComesBack) {
  Database database = Database::open(path(), small_options());
  const Table table = database.create_table(key_value_table("t"));
  const auto key_of = [](int id) { return fmt::format("{:04}", id); };
  database.run([&](Transaction& in) {
    for (int id = 0; id < 500; ++id) {
      const std::string key = key_of(id);
      const std::string value(300, 'o');
      table.insert(in, {key, value}).require();
    }
  });
  database.close();
  database = Database::open(path(), small_options());
  for (int id = 10; id < 490; ++id) {  // one by one, so that leaves are purged and merged
    const std::string key = key_of(id);
    database.table("t").erase({key}).require();
  }
  for (int id = 9; id < 490; id += 12) {
    const std::string key = key_of(id);
    database.table("t").upsert({key, "new"}).require();
  }
  content_ = test::content_of(database);
  database.close();
  const auto pages = test::pages_of(path());
  int old = 0;
  for (std::uint64_t page = 0; page < files().page_count(); ++page) {
    old += files().type_of(page) == buffer::PageType::tree_leaf && !pages.contains(page) ? 1 : 0;
  }
  EXPECT_GT(old, 8) << "leaves in free pages";
  const std::uint64_t map = 65'536 / DatabaseFiles::kPageBytes + 256;
  for (const bool has_map : {true, false}) {
    const std::string was_map = has_map ? "" : files().damage(map);
    for (const auto& [page, on_page] : pages) {
      const std::string was = files().damage(page);
      EXPECT_EQ(difference(test::without(content_, on_page), salvaged(path()).content), "")
          << page << (has_map ? "" : ", and the space map");
      files().mend(page, was);
    }
    if (!has_map) {
      files().mend(map, was_map);
    }
  }
}

}  // namespace
}  // namespace palimpsest
