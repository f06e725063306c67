// A sort whose n-th operation fails, for every n, in every way: it reports that, or its records are
// right; and nothing is left on the disk.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>

#include "palimpsest/error.h"

#include "tests/bulk/sort/sort_test_support.h"
#include "tests/support/error_of.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::bulk {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimFault;
using palimpsest::test::SimKind;
using palimpsest::test::SimOptions;
using palimpsest::test::SimRandom;
using palimpsest::test::Sweep;
using test::Disk;
using test::Records;
using Effect = SimFault::Effect;
using ::testing::HasSubstr;

constexpr SortOptions options_for(std::size_t threads) {
  return {.memory_bytes = SortShape::kMemoryBytesMin, .threads = threads};
}

const Records& records_of_many_runs() {
  static const Records records = [] {
    SimRandom random(21);
    return test::random_records(random, 3000, 30, 120);
  }();
  return records;
}

const Records& sorted_records() {
  static const Records records = test::sorted(records_of_many_runs());
  return records;
}

class SortFault : public ::testing::TestWithParam<std::size_t> {
 protected:
  struct Ended {
    std::optional<ErrorCode> code;
    std::string message;
    bool is_right = false;  ///< all records, in order
    std::uint64_t operations = 0;
  };

  static Ended run(const std::optional<SimFault>& fault) {
    const Disk disk;
    if (fault) {
      palimpsest::test::SimDisk(disk.disk).inject(*fault);
    }
    Ended ended;
    {
      ExternalSort sort(*disk.device, options_for(GetParam()));
      ended.code = error_of(
          [&] {
            ended.is_right = test::sort_by(sort, records_of_many_runs()) == sorted_records();
            return 0;
          },
          &ended.message);
      if (ended.code) {
        EXPECT_EQ(error_of([&] { return sort.next(); }), ErrorCode::failed);
        EXPECT_EQ(error_of([&] { return sort.finish(), 0; }), ErrorCode::failed);
      }
    }
    ended.operations = disk.disk.operations();
    palimpsest::test::SimDisk(disk.disk).clear_faults();
    if (!fault || !fault->for_good) {  // a removal is tried twice
      EXPECT_TRUE(disk.device->list().empty());
    }
    remove_sort_files(*disk.device);
    EXPECT_TRUE(disk.device->list().empty());
    return ended;
  }
};

INSTANTIATE_TEST_SUITE_P(Threads, SortFault, ::testing::Values(0, 1, 2),
                         [](const auto& of) { return fmt::format("{}", of.param); });

TEST_P(SortFault, EveryOperationFails) {
  const std::uint64_t operations = run({}).operations;
  ASSERT_GT(operations, 100U);
  for (const int error : {EIO, ENOSPC}) {
    for (const bool for_good : {false, true}) {
      Sweep sweep(operations, 12, for_good ? 0.2 : 0.7);
      while (const auto before = sweep.next()) {
        const std::uint64_t nth = *before + 1;
        const Ended ended = run(SimFault{.error = error, .nth = nth, .for_good = for_good});
        // Threads order their operations differently each time; without them, each fault occurs.
        if (GetParam() == 0 || ended.code) {
          ASSERT_EQ(ended.code, error == EIO ? ErrorCode::io_error : ErrorCode::no_space) << nth;
          ASSERT_THAT(ended.message, HasSubstr("sim/sort-1.tmp")) << nth;
        } else {
          ASSERT_TRUE(ended.is_right) << nth;
        }
      }
    }
  }
}

TEST_P(SortFault, ShortTransfersAreRepeated) {
  const std::uint64_t operations = run({}).operations;
  Sweep sweep(operations, 20, 0.6);
  while (const auto before = sweep.next()) {
    const std::uint64_t nth = *before + 1;
    const Ended ended = run(SimFault{
        .effect = Effect::short_transfer, .kinds = SimKind::read | SimKind::write, .nth = nth});
    ASSERT_FALSE(ended.code) << ended.message;
    ASSERT_TRUE(ended.is_right) << nth;
  }
}

TEST_P(SortFault, WhatDoesNotComeBackAsWrittenIsFound) {
  const std::uint64_t operations = run({}).operations;
  int found = 0;
  for (const Effect effect : {Effect::flip_bits, Effect::zero, Effect::lose, Effect::tear,
                              Effect::misdirect, Effect::stale_read}) {
    Sweep sweep(operations, 8, 0.4);
    while (const auto before = sweep.next()) {
      const std::uint64_t nth = *before + 1;
      const Ended ended =
          run(SimFault{.effect = effect, .kinds = SimKind::read | SimKind::write, .nth = nth});
      if (ended.code) {
        ++found;
        ASSERT_EQ(ended.code, ErrorCode::corruption) << ended.message;
        ASSERT_THAT(ended.message, HasSubstr("sim/sort-1.tmp")) << nth;
        ASSERT_THAT(ended.message, HasSubstr("at offset")) << nth;
      } else {
        ASSERT_TRUE(ended.is_right) << nth;  // what lay behind the payload, or was not there
      }
    }
  }
  EXPECT_GT(found, 20);
}

TEST_P(SortFault, AFullDiskSaysWhatWasNeeded) {
  const palimpsest::test::SimDisk disk(
      SimOptions{.capacity_bytes = 200'000, .reorder_completions = false});
  const auto device = disk.device();
  ExternalSort sort(*device, options_for(GetParam()));
  std::string message;
  EXPECT_EQ(error_of([&] { return test::sort_by(sort, records_of_many_runs()).size(); }, &message),
            ErrorCode::no_space);
  EXPECT_THAT(message, HasSubstr("sort-1.tmp"));
  EXPECT_THAT(message, HasSubstr("bytes at offset"));
  EXPECT_TRUE(device->list().empty());
}

TEST_P(SortFault, WhatAKilledProcessLeavesIsRemoved) {
  const Disk disk;
  std::vector<palimpsest::test::SimDisk> images;
  palimpsest::test::SimDisk(disk.disk).set_hook([&](const palimpsest::test::SimOperation& of) {
    if (of.kind == SimKind::create || of.kind == SimKind::remove || of.number % 50 == 0) {
      images.push_back(disk.disk.kill(of.number));
      images.push_back(disk.disk.crash(of.number, palimpsest::test::CrashKeeps::everything));
    }
  });
  ExternalSort sort(*disk.device, options_for(0));
  test::sort_by(sort, records_of_many_runs());
  std::size_t left = 0;
  for (const palimpsest::test::SimDisk& image : images) {
    const auto device = image.device();
    left += device->list().size();
    remove_sort_files(*device);
    EXPECT_TRUE(device->list().empty());
  }
  EXPECT_GT(left, 0U);
  EXPECT_LT(left, 5U);
}

}  // namespace
}  // namespace palimpsest::bulk
