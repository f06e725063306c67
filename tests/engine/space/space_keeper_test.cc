// Space that is freed in the background, and the small size of an empty database.
#include "engine/space/space_keeper.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "palimpsest/database.h"

#include "tests/support/eventually.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::eventually;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

/// The space that the files of a directory take on the disk.
std::uint64_t bytes_on_disk(const std::string& directory) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    struct stat status{};
    EXPECT_EQ(::stat(entry.path().c_str(), &status), 0);
    bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

class SpaceKeeperTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return directory_.path("db"); }
  [[nodiscard]] std::uint64_t page_bytes() const {
    return std::filesystem::file_size(path() + "/pages");
  }

  test::TemporaryDirectory directory_;
  Options options_{.memory_bytes = 32 * kMiB, .durability = Durability::asynchronous};
};

TEST_F(SpaceKeeperTest, AnEmptyDatabaseTakesAMiB) {
  {
    Database database = Database::open(path(), options_);
    EXPECT_LE(bytes_on_disk(path()), kMiB);
    database.create_table(
        {.name = "part", .columns = {{"number", int64()}, {"body", bytes()}}, .key = {"number"}});
    EXPECT_LE(bytes_on_disk(path()), kMiB);
    database.close();
  }
  EXPECT_LE(bytes_on_disk(path()), kMiB);
  Database again = Database::open(path(), options_);
  EXPECT_LE(bytes_on_disk(path()), kMiB);
}

TEST_F(SpaceKeeperTest, AnEmptiedTableGivesItsSpaceBack) {
  Database database = Database::open(path(), options_);
  Table parts = database.create_table(
      {.name = "part", .columns = {{"number", int64()}, {"body", bytes()}}, .key = {"number"}});
  constexpr std::int64_t kRows = 30'000;
  const std::string body(300, 'b');
  for (std::int64_t row = 0; row < kRows;) {
    database.run([&](Transaction& in) {
      for (const std::int64_t end = row + 1'000; row < end; ++row) {
        parts.insert(in, {row, body}).require();
      }
    });
  }
  ASSERT_GT(page_bytes(), 10 * kMiB);
  for (std::int64_t row = 0; row < kRows;) {
    database.run([&](Transaction& in) {
      for (const std::int64_t end = row + 1'000; row < end; ++row) {
        parts.erase(in, {row}).require();
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return page_bytes() < 6 * kMiB; })) << page_bytes();
}

TEST_F(SpaceKeeperTest, ErasedLargeValuesGiveTheirSpaceBack) {
  Database database = Database::open(path(), options_);
  Table parts = database.create_table({.name = "part",
                                       .columns = {{"number", int64()}, {"body", bytes(1U << 21U)}},
                                       .key = {"number"}});
  const std::string body(kMiB, 'b');
  for (std::int64_t row = 0; row < 40; ++row) {
    parts.insert({row, body}).require();
  }
  ASSERT_GT(page_bytes(), 40 * kMiB);
  for (std::int64_t row = 0; row < 40; ++row) {
    parts.erase({row}).require();
  }
  EXPECT_TRUE(eventually([&] { return page_bytes() < 6 * kMiB; })) << page_bytes();
}

TEST_F(SpaceKeeperTest, WhatAnotherTableLeftIsFilledFromTheEnd) {
  Database database = Database::open(path(), options_);
  const auto make = [&](std::string name) {
    return database.create_table({.name = std::move(name),
                                  .columns = {{"number", int64()}, {"body", bytes()}},
                                  .key = {"number"}});
  };
  Table first = make("first");
  Table second = make("second");
  const std::string body(300, 'b');
  const auto fill = [&](Table& table, std::int64_t rows) {
    for (std::int64_t row = 0; row < rows;) {
      database.run([&](Transaction& in) {
        for (const std::int64_t end = row + 1'000; row < end; ++row) {
          table.insert(in, {row, body}).require();
        }
      });
    }
  };
  fill(first, 30'000);
  fill(second, 3'000);
  ASSERT_GT(page_bytes(), 10 * kMiB);
  database.drop_table("first");
  EXPECT_TRUE(eventually([&] { return page_bytes() < 6 * kMiB; })) << page_bytes();
  EXPECT_EQ(second.get({2'999}).has_value(), true);
}

}  // namespace
}  // namespace palimpsest
