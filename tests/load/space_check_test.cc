// The check of disk space before rows are sorted.
#include "tools/load/space_check.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "palimpsest/database.h"
#include "palimpsest/row_encoder.h"

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::load {
namespace {

using namespace palimpsest::types;
using palimpsest::test::error_of;

constexpr std::uint64_t kRecordBytes = 100;
constexpr std::uint64_t kRows = 20'000;

class SpaceCheckTest : public ::testing::Test {
 protected:
  SpaceCheckTest() {
    database_.run([](Transaction& in) {
      in.create_table(
            {.name = "t", .columns = {{"id", int64()}, {"x", varchar(200)}}, .key = {"id"}})
          .require();
    });
  }

  /// Adds rows in two files of as many bytes, each of which is a record of kRecordBytes.
  void sort_rows(SpaceCheckOptions options, std::uint64_t rows = kRows) {
    const Table table = database_.table("t");
    RowEncoder encode(table);
    RowSort sort(table, {.memory_bytes = std::size_t{1} << 20U});
    options.directory = "/the/database";
    options.free_bytes = [this] {
      ++asked_;
      return free_bytes_;
    };
    SpaceCheck space(options);
    const std::string text(kRecordBytes, 'x');
    for (sorted_ = 0; sorted_ < rows; ++sorted_) {
      const std::uint64_t in_file = sorted_ % (rows / 2);
      const EncodedRow row = encode({static_cast<std::int64_t>(rows - sorted_), text});
      sort.add(row);
      space.added(sort, row, 0, {.file = sorted_ / (rows / 2), .byte = in_file * kRecordBytes});
    }
    space.ended(sort);
  }

  test::TemporaryDirectory directory_;
  Database database_ = Database::open(directory_.path("database"), {.memory_bytes = 16 << 20});
  std::uint64_t free_bytes_ = 0;
  std::uint64_t sorted_ = 0;
  std::uint64_t asked_ = 0;
};

TEST_F(SpaceCheckTest, RefusesEarlyWhatWillNotFit) {
  free_bytes_ = 3'500'000;  // more than the rows, less than these and a file of them
  const auto input = [] { return std::optional(kRows * kRecordBytes); };
  EXPECT_EQ(error_of([&] { return sort_rows({.input_bytes = input}), 0; }, "/the/database: about"),
            ErrorCode::no_space);
  EXPECT_LT(sorted_ * kRecordBytes, 2 * SpaceCheck::kFirstBytes);
  EXPECT_EQ(asked_, 1U);
}

// A large row near the beginning says nothing of those behind it.
TEST_F(SpaceCheckTest, ALargeRowIsNotMultiplied) {
  constexpr std::uint64_t kLargeBytes = std::uint64_t{1} << 20U;
  free_bytes_ = 4 * kLargeBytes;
  const Table table = database_.run([](Transaction& in) {
    in.create_table({.name = "large",
                     .columns = {{"id", int64()}, {"x", varchar(kLargeBytes)}},
                     .key = {"id"}})
        .require();
    return in.table("large");
  });
  RowEncoder encode(table);
  RowSort sort(table, {.memory_bytes = std::size_t{8} << 20U});
  SpaceCheck space({.directory = "/the/database",
                    .input_bytes = [] { return std::optional(kLargeBytes + 4 * kRecordBytes); },
                    .free_bytes = [this] { return free_bytes_; }});
  const std::string small(kRecordBytes, 'x');
  const std::string large(kLargeBytes, 'x');
  std::uint64_t byte = 0;
  for (const std::string* const text : {&small, &large, &small, &small}) {
    const EncodedRow row = encode({static_cast<std::int64_t>(~byte), *text});
    sort.add(row);
    space.added(sort, row, 0, {.byte = byte});
    byte += text->size();
  }
  space.ended(sort);
}

TEST_F(SpaceCheckTest, AsksAgainAndAgain) {
  free_bytes_ = 3 * kRows * kRecordBytes;
  sort_rows({.input_bytes = [] { return std::optional(kRows * kRecordBytes); }});
  EXPECT_GE(asked_, 4U);
}

TEST_F(SpaceCheckTest, CountsNoRowsThatMayNotBeAdded) {
  free_bytes_ = 3'500'000;
  sort_rows({.input_bytes = [] { return std::optional(kRows * kRecordBytes); }, .adds_all = false});
  EXPECT_EQ(sorted_, kRows);
}

TEST_F(SpaceCheckTest, CountsNoPagesThatMayBeFree) {
  free_bytes_ = 3'500'000;
  sort_rows({.input_bytes = [] { return std::optional(kRows * kRecordBytes); },
             .data_bytes = kRows * kRecordBytes * 2});
  EXPECT_EQ(sorted_, kRows);
}

TEST_F(SpaceCheckTest, OfAPipeOnlyWhatHasComeCounts) {
  free_bytes_ = kRows * kRecordBytes / 2;
  const auto unknown = [] { return std::optional<std::uint64_t>(); };
  EXPECT_EQ(error_of([&] { return sort_rows({.input_bytes = unknown}), 0; }), ErrorCode::no_space);
  EXPECT_GT(sorted_, kRows / 4);
}

}  // namespace
}  // namespace palimpsest::load
