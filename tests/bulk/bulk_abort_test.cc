// Aborts a bulk far larger than memory: it has changed most of ten times the memory of rows. The
// former rows are visible at once, for transactions that began before and after; the rest is undone
// in the background, bit by bit, and a crash in the middle of it changes nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/table/new_row.h"
#include "tests/bulk/bulk_fixture.h"

namespace palimpsest::engine::test {
namespace {

constexpr std::uint64_t kMemoryBytes = std::uint64_t{2} << 20U;  // the smallest allowed
constexpr int kRows = 40'000;
constexpr std::size_t kBodyBytes = 500;
constexpr int kLargeOneIn = 399;
constexpr std::size_t kLargeBytes = 3900;  // too large for its leaf
/// Fewer than a tenth of the rows fill.
constexpr std::uint64_t kAddedPages = kRows / 10 * kBodyBytes / 4096;
static_assert(kRows * kBodyBytes >= 9 * kMemoryBytes);

EngineOptions abort_options() {
  EngineOptions options = bulk_options();
  options.memory_bytes = kMemoryBytes;
  options.version_bytes_max = std::uint64_t{1} << 18U;
  options.log_bytes_max = 100 * wal::kSegmentBytesMin;
  options.background_threads = true;
  options.background_sweeps = false;  // step by step
  return options;
}

std::string body_of(int id, int variant) {
  const std::size_t bytes = (id + variant) % kLargeOneIn == 0 ? kLargeBytes : kBodyBytes;
  return std::string(bytes, static_cast<char>('a' + (id + variant) % 26));
}

class BulkAbort : public BulkRows {
 protected:
  BulkAbort() : BulkRows(abort_options()) {}

  void fill() {
    InBulk bulk(*database_);
    insert_rows(bulk, 0, kRows);
    bulk.commit();
  }
  void insert_rows(InBulk& bulk, int begin, int end) {
    for (int id = begin; id < end; ++id) {
      const std::string name = name_of(id, 0);
      const std::string body = body_of(id, 0);
      ASSERT_TRUE(bulk.bulk->insert(table(), {id, std::string_view(name), std::string_view(body)}));
    }
  }
  /// Changes most rows, inserts some between them, and a tenth as many behind all.
  void change_most(InBulk& bulk) {
    for (int id = 0; id < kRows; ++id) {
      if (id % 4 == 0) {
        ASSERT_TRUE(erase(bulk, id));
      } else if (id % 4 != 3) {
        ASSERT_TRUE(update(bulk, id, 1, body_of(id, 1)));
      }
      if (id % 20 == 0) {
        ASSERT_TRUE(insert(bulk, id, 2, body_of(id, 2)));
      }
    }
    insert_rows(bulk, kRows, kRows + kRows / 10);
  }

  /// The bulk sees its changes, and takes no memory for that.
  void change_most_and_roll_back() {
    InBulk bulk(*database_);
    change_most(bulk);
    EXPECT_EQ(row_of(bulk.in.get(), 4), std::nullopt);
    EXPECT_EQ(id_of(bulk.in.get(), name_of(5, 1)), 5);
    bulk.in->rollback();
  }
  void expect_nothing_left() {
    EXPECT_TRUE(database_->bulk_epochs().is_empty());
    expect_untouched(nullptr);
    EXPECT_TRUE(sound(*database_));
  }

  /// Any transaction sees the initial rows.
  void expect_untouched(txn::Transaction* by) {
    int next = 0;
    const auto look = [&](const RowView& row) {
      const auto id = static_cast<int>(row["id"].as_integer());
      const bool is_as_before = id == next && row["name"].as_bytes() == name_of(id, 0) &&
                                row["body"].as_bytes() == body_of(id, 0);
      EXPECT_TRUE(is_as_before) << id << " after " << next;
      ++next;
      return is_as_before;
    };
    TableReader(by, table()).visit(Range::all(), look, Direction::forward);
    EXPECT_EQ(next, kRows);
    for (int id = 0; id < kRows; id += 97) {
      ASSERT_EQ(id_of(by, name_of(id, 0)), id);
      ASSERT_EQ(id_of(by, name_of(id, 1)), std::nullopt);
    }
  }

  /// As the log's records have it: some are free only when those are durable.
  [[nodiscard]] std::uint64_t pages_in_use() {
    database_->log().wait_durable(database_->transactions().now());
    database_->transactions().free_due();
    std::uint64_t pages = 0;
    for (std::uint64_t page = raw(database_->file().first_page());
         page < database_->file().page_count(); ++page) {
      pages += database_->space().is_logged(PageId{page}) ? 1U : 0U;
    }
    return pages;
  }
  [[nodiscard]] std::uint64_t memory_of_versions() {
    database_->transactions().collect_versions();
    return database_->transactions().version_bytes();
  }
  /// Undoes some of the rest; false: nothing was left.
  [[nodiscard]] bool sweep_some(int steps) {
    while (steps > 0 && database_->bulk_sweep().step()) {
      --steps;
    }
    return steps == 0;
  }
  void sweep_all() {
    while (database_->bulk_sweep().step()) {
    }
  }
};

TEST_F(BulkAbort, OfTenTimesTheMemoryIsUndoneInTheBackground) {
  fill();
  const std::uint64_t before = pages_in_use();
  ASSERT_GE(before * options_.pages.page_size_bytes, 10 * kMemoryBytes);
  auto older = begin();
  expect_untouched(older.get());
  const std::uint64_t versions = memory_of_versions();
  change_most_and_roll_back();
  EXPECT_EQ(memory_of_versions(), versions);
  EXPECT_EQ(database_->transactions().version_memory().cancelled(), 0U);
  const std::uint64_t after = pages_in_use();
  EXPECT_GT(after, before + before / 2) << "it has left much";
  expect_untouched(older.get());
  expect_untouched(begin().get());

  std::vector<palimpsest::test::SimDisk> crashes;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    ASSERT_TRUE(sweep_some(50));
    crashes.push_back(disk_.crash(seed));
  }
  expect_untouched(older.get());
  sweep_all();
  expect_nothing_left();
  expect_untouched(older.get());
  older.reset();
  EXPECT_LT(pages_in_use() + kAddedPages, after) << "what it has inserted is gone";

  for (const palimpsest::test::SimDisk& crashed : crashes) {
    open_after_crash(crashed);
    EXPECT_FALSE(database_->bulk_epochs().is_empty()) << "the sweep had not come to its end";
    expect_untouched(nullptr);
    sweep_all();
    expect_nothing_left();
    EXPECT_LT(pages_in_use() + kAddedPages, after);
  }
}

// Leaves that it has split stay split, so the first one leaves more pages than there were; later
// ones do not.
TEST_F(BulkAbort, LosesNoPagesHoweverOften) {
  fill();
  std::uint64_t after_first = 0;
  for (int round = 0; round < 3; ++round) {
    change_most_and_roll_back();
    sweep_all();
    expect_nothing_left();
    const std::uint64_t pages = pages_in_use();
    after_first = round == 0 ? pages : after_first;
    EXPECT_LE(pages, after_first + after_first / 50) << "round " << round;
  }
}

}  // namespace
}  // namespace palimpsest::engine::test
