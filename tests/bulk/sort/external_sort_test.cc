// Sorts compared with the library's stable sort: within memory, beyond it, and with many passes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/io/open_device.h"
#include "tests/bulk/sort/sort_test_support.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::bulk {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimOperation;
using palimpsest::test::SimRandom;
using test::Disk;
using test::Records;

constexpr std::size_t kLeast = SortShape::kMemoryBytesMin;

/// More than many runs hold, and their expected order.
struct ManyRecords {
  Records records;
  Records sorted;

  static const ManyRecords& get() {
    static const ManyRecords many = [] {
      SimRandom random(9);
      Records records = test::random_records(random, 60'000, 40, 60);
      Records sorted = test::sorted(records);
      return ManyRecords{std::move(records), std::move(sorted)};
    }();
    return many;
  }
};

class SortOf : public ::testing::TestWithParam<std::size_t> {
 protected:
  /// Sorts them with so much memory and GetParam() threads, and compares.
  SortStatistics expect_sorted(const Records& records, std::size_t memory_bytes = kLeast) {
    return expect_sorted(records, test::sorted(records), memory_bytes);
  }
  SortStatistics expect_sorted(const Records& records, const Records& expected,
                               std::size_t memory_bytes) {
    ExternalSort sort(*disk_.device,
                      {.memory_bytes = memory_bytes, .threads = GetParam(), .name_prefix = "s-"});
    const bool agree = test::sort_by(sort, records) == expected;
    EXPECT_TRUE(agree) << records.size() << " records";
    EXPECT_FALSE(sort.next());
    EXPECT_TRUE(disk_.device->list().empty());
    return sort.statistics();
  }

  Disk disk_;
};

INSTANTIATE_TEST_SUITE_P(Threads, SortOf, ::testing::Values(0, 1, 2, 4),
                         [](const auto& of) { return fmt::format("{}", of.param); });

TEST_P(SortOf, NothingAndOne) {
  EXPECT_EQ(expect_sorted({}).records, 0U);
  expect_sorted({{"key", "value"}});
  expect_sorted({{"", ""}});
}

TEST_P(SortOf, DuplicatesOnly) {
  Records records;
  for (int i = 0; i < 20'000; ++i) {
    records.emplace_back("the same key", std::to_string(i));
  }
  EXPECT_GT(expect_sorted(records).runs, 10U);
}

TEST_P(SortOf, AscendingAndDescending) {
  Records records;
  for (int i = 0; i < palimpsest::test::repeats(20'000); ++i) {
    records.emplace_back(fmt::format("{:08}", i), "v");
  }
  expect_sorted(records);
  std::ranges::reverse(records);
  expect_sorted(records);
}

TEST_P(SortOf, LongKeysWithEqualHeads) {
  SimRandom random(7);
  Records records;
  for (int i = 0; i < 3000; ++i) {
    const std::string common(random.below(300), 'x');
    records.emplace_back(
        common + std::string(random.below(3), static_cast<char>(random.below(256))),
        std::to_string(i));
  }
  expect_sorted(records);
}

TEST_P(SortOf, ValuesBetweenNothingAndTheLimit) {
  SimRandom random(8);
  const std::size_t limit =
      ExternalSort(*disk_.device, {.memory_bytes = kLeast, .threads = GetParam()})
          .record_bytes_max();
  Records records;
  for (int i = 0; i < 300; ++i) {
    const std::size_t bytes = random.chance(40) ? 0 : random.below(limit - 8) + 1;
    records.emplace_back(fmt::format("{:07}", random.below(100)), std::string(bytes, 'v'));
  }
  records.emplace_back("full", std::string(limit - 4, 'f'));
  const SortStatistics statistics = expect_sorted(records);
  EXPECT_GT(statistics.merges, 10U);
  // The file exceeds its records by at most the output of a merge.
  EXPECT_LT(statistics.file_bytes, 3 * statistics.written_bytes);
}

TEST_P(SortOf, WhatFitsIntoMemoryIsNotWritten) {
  std::uint64_t operations = 0;
  disk_.disk.set_hook([&](const SimOperation&) { ++operations; });
  Records records;
  // 40 bytes each in memory, of which five pairs of blocks and the rest of pages are taken.
  constexpr std::size_t kMemory = std::size_t{1} << 20U;
  constexpr std::size_t kOther = (std::size_t{10} << 14U) + 5 * kSortAlignmentBytes;
  constexpr std::size_t kFit = (kMemory - kOther) / 40;
  for (std::size_t i = 0; i < kFit; ++i) {
    records.emplace_back(fmt::format("{:016}", (i * 7919) % kFit), "");
  }
  EXPECT_EQ(expect_sorted(records, kMemory).runs, 0U);
  EXPECT_EQ(operations, 0U);
}

TEST_P(SortOf, SeveralPassesUseTheFileAgain) {
  const auto& [records, sorted] = ManyRecords::get();
  const SortStatistics statistics = expect_sorted(records, sorted, kLeast);
  EXPECT_GT(statistics.runs, 64U);
  EXPECT_GT(statistics.merges, 8U);
  std::uint64_t bytes = 0;
  for (const auto& [key, value] : records) {
    bytes += stored_bytes(key, value);
  }
  EXPECT_GT(statistics.written_bytes, 2 * bytes);
  // Blocks of a run are adjacent, or nearly so if several threads have written them.
  EXPECT_LT(statistics.file_bytes, (GetParam() < 2 ? 2 : 3) * bytes);
}

TEST_P(SortOf, RandomRecordsOfEverySize) {
  SimRandom random(palimpsest::test::seed());
  palimpsest::test::Sweep sweep(60, 6, 1);
  while (sweep.next()) {
    const std::size_t memory = kLeast << random.below(3);
    const bool long_ones = random.chance(20);
    const Records records = test::random_records(random, random.below(long_ones ? 600 : 6000),
                                                 random.chance(30) ? 600 : 12,
                                                 long_ones ? memory / 9 : random.below(80));
    expect_sorted(records, memory);
  }
}

TEST_P(SortOf, OnAFileSystem) {
  const palimpsest::test::TemporaryDirectory directory;
  const auto device = io::open_device(directory.path(), {});
  const auto& [records, sorted] = ManyRecords::get();
  ExternalSort sort(*device, {.memory_bytes = std::size_t{1} << 18U, .threads = GetParam()});
  EXPECT_TRUE(test::sort_by(sort, records) == sorted);
  EXPECT_GT(sort.statistics().runs, 5U);
  EXPECT_TRUE(device->list().empty());
}

TEST_P(SortOf, ARecordBeyondTheLimitIsRefusedAndNothingElse) {
  ExternalSort sort(*disk_.device, {.memory_bytes = kLeast, .threads = GetParam()});
  const std::size_t limit = sort.record_bytes_max();
  sort.add("b", "1");
  EXPECT_EQ(error_of([&] { return sort.add("k", std::string(limit, 'v')), 0; },
                     fmt::format("a record may have {}", limit)),
            ErrorCode::invalid_argument);
  sort.add("a", std::string(limit - 1, 'v'));
  sort.finish();
  EXPECT_EQ(test::rest_of(sort).size(), 2U);
}

TEST_P(SortOf, MayBeLeftAtAnyTime) {
  for (const int records : {0, 1, 1500, 30'000}) {
    for (const int read : {-1, 0, 1, 20'000}) {
      ExternalSort sort(*disk_.device, {.memory_bytes = kLeast, .threads = GetParam()});
      for (int i = 0; i < records; ++i) {
        sort.add(fmt::format("{:09}", (i * 7919) % 30'000), "value");
      }
      if (read >= 0) {
        sort.finish();
      }
      for (int i = 0; i < std::min(read, records); ++i) {
        ASSERT_TRUE(sort.next());
      }
    }
    EXPECT_TRUE(disk_.device->list().empty());
  }
}

TEST_P(SortOf, TheProgressFunctionMayEndIt) {
  SimRandom random(11);
  const Records records = test::random_records(random, 60'000, 20, 20);
  ExternalSort sort(*disk_.device, {.memory_bytes = kLeast, .threads = GetParam()});
  for (const auto& [key, value] : records) {
    sort.add(key, value);
  }
  int calls = 0;
  const auto end_at_third = [&] {
    if (++calls == 3) {
      throw Error(ErrorCode::transaction_too_old, "no longer");
    }
  };
  EXPECT_EQ(error_of([&] { return sort.finish(end_at_third), 0; }), ErrorCode::transaction_too_old);
  EXPECT_EQ(error_of([&] { return sort.next(); }), ErrorCode::failed);
}

TEST(ExternalSort, SortsOfOneDirectoryDoNotMeet) {
  const Disk disk;
  SimRandom random(12);
  std::vector<std::unique_ptr<ExternalSort>> sorts;
  std::vector<Records> records;
  for (int i = 0; i < 3; ++i) {
    sorts.push_back(std::make_unique<ExternalSort>(
        *disk.device, SortOptions{.memory_bytes = kLeast, .threads = 1}));
    records.push_back(test::random_records(random, 10'000, 10, 10));
  }
  for (std::size_t record = 0; record < 10'000; ++record) {
    for (std::size_t i = 0; i < 3; ++i) {
      sorts[i]->add(records[i][record].first, records[i][record].second);
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    sorts[i]->finish();
    EXPECT_TRUE(test::rest_of(*sorts[i]) == test::sorted(records[i]));
  }
}

}  // namespace
}  // namespace palimpsest::bulk
