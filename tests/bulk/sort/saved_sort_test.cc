// Sorts that save their runs, and others that begin with them: after a crash at any time, during
// merges, with damaged runs.
#include "bulk/sort/saved_sort.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/sync_point.h"
#include "bulk/sort/external_sort.h"
#include "tests/bulk/sort/sort_test_support.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/seed.h"

namespace palimpsest::bulk {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using palimpsest::test::SimRandom;
using test::Disk;
using test::Records;

constexpr std::string_view kName = "rows.runs";

class SavedSortOf : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] std::unique_ptr<ExternalSort> sort_on(
      io::Device& device, const std::optional<SavedSort>& saved = std::nullopt,
      std::size_t memory_bytes = SortShape::kMemoryBytesMin) {
    return std::make_unique<ExternalSort>(device, SortOptions{.memory_bytes = memory_bytes,
                                                              .threads = GetParam(),
                                                              .kept_name = kName,
                                                              .saved = saved ? &*saved : nullptr});
  }
  static void add(ExternalSort& sort, const Records& records, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      sort.add(records[i].first, records[i].second);
    }
  }
  /// The result of the saved runs and the records after them.
  Records go_on(io::Device& device, const std::string& saved, const Records& records,
                std::size_t begin) {
    const auto sort = sort_on(device, SavedSort::parse(saved));
    add(*sort, records, begin, records.size());
    sort->finish();
    return test::rest_of(*sort);
  }

  SimRandom random_{palimpsest::test::seed()};
};

INSTANTIATE_TEST_SUITE_P(Threads, SavedSortOf, ::testing::Values(0, 1, 3),
                         [](const auto& of) { return fmt::format("{}", of.param); });

TEST_P(SavedSortOf, GoesOnAfterACrashAtAnyTime) {
  Disk disk;
  const Records records = test::random_records(random_, 12'000, 12, 30);
  const Records expected = test::sorted(records);
  const auto sort = sort_on(*disk.device);
  std::string saved;
  std::size_t covered = 0;
  for (std::size_t at = 0; at < records.size();) {
    const std::size_t end = std::min(records.size(), at + random_.below(2'000));
    add(*sort, records, at, end);
    at = end;
    if (random_.chance(50)) {
      saved = sort->save().text();
      covered = at;
    }
    if (!saved.empty() && random_.chance(50)) {
      const SimDisk image = disk.disk.crash(random_.below(1'000'000));
      EXPECT_TRUE(go_on(*image.device(), saved, records, covered) == expected) << at;
    }
  }
  sort->finish();
  EXPECT_TRUE(test::rest_of(*sort) == expected);
}

TEST_P(SavedSortOf, RunsStayAsTheyAreWhileTheyAreMerged) {
  Disk disk;
  const Records records = test::random_records(random_, 40'000, 12, 30);
  const Records expected = test::sorted(records);
  std::string saved;
  {
    const auto sort = sort_on(*disk.device);
    add(*sort, records, 0, records.size());
    saved = sort->save().text();
    sort->finish([] {});
    EXPECT_GT(sort->statistics().merges, 1U);
    EXPECT_TRUE(sort->next());
  }
  for (int time = 0; time < 2; ++time) {
    EXPECT_TRUE(go_on(*disk.device, saved, records, records.size()) == expected);
  }
  EXPECT_EQ(disk.device->list(), std::vector{std::string(kName)});
}

TEST_P(SavedSortOf, NothingIsSavedTwiceOrAtOnce) {
  Disk disk;
  const auto sort = sort_on(*disk.device);
  EXPECT_TRUE(sort->save().runs.empty());
  sort->add("b", "1");
  EXPECT_EQ(sort->save().runs.size(), 1U);
  EXPECT_EQ(sort->save().runs.size(), 1U);
  sort->add("a", "2");
  sort->finish();
  EXPECT_EQ(test::rest_of(*sort), (Records{{"a", "2"}, {"b", "1"}}));
  const auto anew = sort_on(*disk.device);
  anew->finish();
  EXPECT_FALSE(anew->next()) << "the old runs are given up";
}

TEST_P(SavedSortOf, DamagedRunsAreRefused) {
  Disk disk;
  const Records records = test::random_records(random_, 2'000, 12, 30);
  std::string saved;
  {
    const auto sort = sort_on(*disk.device);
    add(*sort, records, 0, records.size());
    saved = sort->save().text();
  }
  const auto read = [&] { return go_on(*disk.device, saved, records, records.size()); };
  EXPECT_EQ(error_of([&] { return sort_on(*disk.device, SavedSort::parse(saved), 1 << 20); },
                     "rows.runs: its runs have blocks of 4096 bytes"),
            ErrorCode::invalid_argument);
  const std::byte damage[] = {std::byte{1}, std::byte{2}};
  disk.disk.overwrite(kName, 5'000, damage);
  EXPECT_EQ(error_of(read, "block of 4096 bytes at offset 4096: its checksum"),
            ErrorCode::corruption);
  disk.device->open(kName, io::OpenMode::read_write, false)->truncate(8'192);
  EXPECT_EQ(error_of(read, "has 8192 bytes"), ErrorCode::corruption);
  disk.device->remove(kName);
  EXPECT_EQ(error_of(read), ErrorCode::not_found);
}

TEST(SavedSort, IsTextAndBack) {
  const SavedSort saved{.block_bytes = 4096,
                        .record_bytes = 99,
                        .file_bytes = 20'480,
                        .runs = {{1, 0, 5'000, 100}, {2, 8'192, 10'000, 7}}};
  EXPECT_EQ(saved.text(), "palimpsest runs 1 4096 99 20480 1 0 5000 100 2 8192 10000 7");
  EXPECT_EQ(SavedSort::parse(saved.text()).text(), saved.text());
  for (const std::string_view wrong :
       {"", "palimpsest runs 2 4096 99 20480", "palimpsest runs 1 4096 99",
        "palimpsest runs 1 0 9 9", "palimpsest runs 1 4096 99 20480 1 0 5000",
        "palimpsest runs 1 4096 99 20480 2 0 5000 100",
        "palimpsest runs 1 4096 99 20480 1 16384 5000 100",
        "palimpsest runs 1 4096 99 20480 1 0 99999 100",
        "palimpsest runs 1 4096 99 20480 1 18446744073709551615 5000 1",
        "palimpsest runs 1 4096 x 20480"}) {
    EXPECT_EQ(error_of([&] { return SavedSort::parse(wrong); }), ErrorCode::corruption) << wrong;
  }
}

#ifdef PALIMPSEST_SYNC_POINTS

// The sort's thread has sorted all rows, and waits, when the caller goes on after handing over the
// last ones.
TEST(SavedSort, AThreadThatIsAheadOfTheCallerWrites) {
  const SyncHook waits("sort.thread.waits", [] {});
  Disk disk;
  ExternalSort sort(*disk.device,
                    {.memory_bytes = SortShape::kMemoryBytesMin, .threads = 1, .kept_name = kName});
  for (int i = 0; i < 40; ++i) {  // a buffer, and half of the other one
    sort.add(fmt::format("{:02}", i), std::string(1000, 'v'));
  }
  EXPECT_TRUE(palimpsest::test::eventually([&] { return waits.hits() >= 1; }));
  const SyncHook handed_over("sort.rows.handed_over", [&] {
    EXPECT_TRUE(palimpsest::test::eventually([&] { return waits.hits() >= 2; }));
  });
  EXPECT_EQ(sort.save().runs.size(), 2U);
  EXPECT_EQ(handed_over.hits(), 1U);
}

#endif

}  // namespace
}  // namespace palimpsest::bulk
