#include "experiments/kv_bench/records.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace palimpsest::experiments {
namespace {

std::string value_of(std::uint64_t record, std::size_t size) {
  std::string value(size, '\0');
  fill_value(record, value);
  return value;
}

TEST(RecordKey, OrderIsNumberOrder) {
  const std::array<std::uint64_t, 6> records = {0, 1, 255, 256, 65'536, ~std::uint64_t{0}};
  for (std::size_t i = 0; i + 1 < records.size(); ++i) {
    EXPECT_LT(RecordKey(records[i]).view(), RecordKey(records[i + 1]).view());
  }
  for (const std::uint64_t record : records) {
    EXPECT_EQ(record_of(RecordKey(record).view()), record);
  }
}

TEST(RecordValue, StampNamesItsRecordOnly) {
  for (const std::size_t size : {16U, 17U, 100U, 120U}) {
    const std::string value = value_of(7, size);
    EXPECT_TRUE(has_stamp(7, value.data(), value.size()));
    EXPECT_FALSE(has_stamp(8, value.data(), value.size()));
    EXPECT_FALSE(has_stamp(7, value.data(), 7));
    EXPECT_EQ(value, value_of(7, size));
    EXPECT_NE(value, value_of(8, size));
    EXPECT_EQ(update_count(value.data()), 0U);
  }
}

TEST(RecordChange, CountsAndLeavesTheRest) {
  const std::string before = value_of(3, 40);
  std::string value = before;
  for (int i = 0; i < 300; ++i) {
    RecordChange change(3);
    change(value);
    EXPECT_FALSE(change.damaged());
  }
  EXPECT_EQ(update_count(value.data()), 300U);
  EXPECT_EQ(value.substr(0, 8), before.substr(0, 8));
  EXPECT_EQ(value.substr(16), before.substr(16));
}

TEST(RecordChange, SeesDamageAndChangesNothing) {
  std::string value = value_of(3, 40);
  const std::string before = value;
  RecordChange change(4);
  change(value);
  EXPECT_TRUE(change.damaged());
  EXPECT_EQ(value, before);
}

class ScanSinkTest : public testing::Test {
 protected:
  bool feed(ScanSink& sink, std::uint64_t record, std::size_t size = 20) {
    return sink.record(RecordKey(record).view(), value_of(record, size));
  }

  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> progress_{0};
};

TEST_F(ScanSinkTest, EndsAtItsLimit) {
  ScanSink sink(5, 3, 20, stop_, progress_);
  EXPECT_TRUE(feed(sink, 5));
  EXPECT_TRUE(feed(sink, 6));
  EXPECT_FALSE(feed(sink, 7));
  sink.finish();
  EXPECT_EQ(progress_.load(), 3U);
}

TEST_F(ScanSinkTest, NoticesGapsRepeatsAndWrongSizes) {
  for (const std::uint64_t second : {5U, 7U, 4U}) {
    ScanSink sink(5, 3, 20, stop_, progress_);
    EXPECT_TRUE(feed(sink, 5));
    EXPECT_FALSE(feed(sink, second));
    EXPECT_THROW(sink.finish(), DamagedRecord);
  }
  ScanSink sink(5, 3, 20, stop_, progress_);
  EXPECT_FALSE(feed(sink, 5, 21));
  EXPECT_THROW(sink.finish(), DamagedRecord);
}

TEST_F(ScanSinkTest, NoticesAScanThatEndsEarly) {
  ScanSink sink(5, 3, 20, stop_, progress_);
  EXPECT_TRUE(feed(sink, 5));
  EXPECT_THROW(sink.finish(), DamagedRecord);
}

TEST_F(ScanSinkTest, StopsWhenTold) {
  ScanSink sink(0, 1'000'000, 20, stop_, progress_);
  stop_ = true;
  std::uint64_t record = 0;
  while (feed(sink, record)) {
    ++record;
    ASSERT_LT(record, 10'000U);
  }
  sink.finish();  // not an error: it was told to
  EXPECT_EQ(progress_.load(), record + 1);
}

}  // namespace
}  // namespace palimpsest::experiments
