// Every page of a database damaged in turn: all rows are copied but those that lie on it, and none
// that is another one. As many pages as there is time for, evenly among all (tests/support).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/engine/salvage/salvage_fixture.h"
#include "tests/support/test_seconds.h"

namespace palimpsest {
namespace {

using test::Content;
using test::DatabaseFiles;
using test::difference;
using test::OnPage;
using test::salvaged;
using test::Salvaged;

class SalvagePages : public ::testing::Test {
 protected:
  SalvagePages() {
    Database database = Database::open(path(), test::small_options());
    test::make_everything(database);
    content_ = test::content_of(database);
    database.close();
    pages_ = test::pages_of(path());
    files_.emplace(path());
  }

  [[nodiscard]] std::string path() const { return directory_.path("database"); }
  [[nodiscard]] OnPage on(std::uint64_t page) const {
    const auto found = pages_.find(page);
    return found == pages_.end() ? OnPage{} : found->second;
  }
  /// With this page damaged. A leaf without rows is missing, too: it cannot be known that it had
  /// none.
  void expect_all_but(std::uint64_t page) const {
    const std::string what = fmt::format("page {}", page);
    const Salvaged found = salvaged(path());
    EXPECT_EQ(difference(test::without(content_, on(page)), found.content), "") << what;
    if (!difference(content_, found.content).empty()) {
      EXPECT_FALSE(found.report.is_whole()) << what;
    } else if (!pages_.contains(page)) {
      EXPECT_TRUE(found.report.is_whole()) << what;
    }
    std::uint64_t rows = 0;
    for (const auto& [name, table] : found.content) {
      rows += table.size();
    }
    EXPECT_EQ(found.report.rows, rows) << what;
  }

  test::TemporaryDirectory directory_{test::memory_file_system()};
  std::optional<DatabaseFiles> files_;
  Content content_;
  std::map<std::uint64_t, OnPage> pages_;
};

TEST_F(SalvagePages, OneAfterTheOther) {
  const std::uint64_t first = 65'536 / DatabaseFiles::kPageBytes + 256;  // behind the ring
  for (test::Sweep sweep(files_->page_count() - first, 60, 12); const auto number = sweep.next();) {
    const std::uint64_t page = first + *number;
    const std::string was = files_->damage(page);
    expect_all_but(page);
    files_->mend(page, was);
  }
}

// The space map, and one page more: what cannot be told is left out.
TEST_F(SalvagePages, TheSpaceMapAndAnotherOne) {
  const std::uint64_t map = 65'536 / DatabaseFiles::kPageBytes + 256;
  const std::string was_map = files_->damage(map);
  for (test::Sweep sweep(files_->page_count() - map - 1, 30, 6);
       const auto number = sweep.next();) {
    const std::uint64_t page = map + 1 + *number;
    const std::string was = files_->damage(page);
    const Salvaged found = salvaged(path());
    Content expected = test::without(content_, on(page));
    for (const auto& [table, rows] : found.content) {
      ASSERT_TRUE(content_.contains(table)) << page;
      for (const auto& [key, row] : rows) {
        ASSERT_TRUE(expected[table].contains(key)) << page << " " << table << " " << key;
        ASSERT_EQ(expected[table][key], row) << page;
      }
    }
    if (found.report.doubtful_pages == 0) {
      EXPECT_EQ(difference(expected, found.content), "") << page;
    } else {
      EXPECT_FALSE(found.report.is_whole());
      EXPECT_EQ(difference(expected, salvaged(path(), {.doubtful = true}).content), "") << page;
    }
    files_->mend(page, was);
  }
  files_->mend(map, was_map);
}

// Several at once, at random places.
TEST_F(SalvagePages, Several) {
  const std::uint64_t first = 65'536 / DatabaseFiles::kPageBytes + 257;
  for (test::Sweep sweep(files_->page_count() - first, 20, 4); const auto number = sweep.next();) {
    OnPage lost;
    std::map<std::uint64_t, std::string> was;
    for (std::uint64_t page = first + *number; page < files_->page_count(); page += 17) {
      was[page] = files_->damage(page);
      lost.rows.merge(on(page).rows);
      lost.tables.merge(on(page).tables);
    }
    const Salvaged found = salvaged(path());
    EXPECT_EQ(difference(test::without(content_, lost), found.content), "") << *number;
    for (const auto& [page, bytes] : was) {
      files_->mend(page, bytes);
    }
  }
}

}  // namespace
}  // namespace palimpsest
