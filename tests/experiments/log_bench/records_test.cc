#include "experiments/log_bench/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace palimpsest::experiments {
namespace {

void put_field(Value& value, UpdateMark mark) {
  const Field field = field_of(mark);
  std::copy(field.begin(), field.end(), value.begin() + kFieldOffset);
}

TEST(CommitRecords, AFieldNamesItsWriter) {
  constexpr std::uint32_t kLargest = std::numeric_limits<std::uint32_t>::max();
  for (const UpdateMark mark : {UpdateMark{}, UpdateMark{.worker = 1, .sequence = 1},
                                UpdateMark{.worker = 32, .sequence = 123'456'789},
                                UpdateMark{.worker = kLargest, .sequence = kLargest}}) {
    EXPECT_EQ(mark_of(field_of(mark)), mark);
  }
}

TEST(CommitRecords, AllBytesOfTheFieldChangeFromUpdateToUpdate) {
  std::size_t same = 0;
  constexpr std::uint32_t kUpdates = 1000;
  for (std::uint32_t sequence = 1; sequence <= kUpdates; ++sequence) {
    const Field before = field_of({.worker = 1, .sequence = sequence});
    const Field after = field_of({.worker = 1, .sequence = sequence + 1});
    for (std::size_t at = 0; at < kFieldBytes; ++at) {
      same += before[at] == after[at] ? 1U : 0U;
    }
  }
  EXPECT_LT(same, kUpdates * kFieldBytes / 50);  // by chance one byte in 256
}

TEST(CommitRecords, AFreshValueHasNoUpdate) {
  EXPECT_EQ(verified_mark(7, fresh_value(7)), UpdateMark{});
  EXPECT_NE(fresh_value(7), fresh_value(8));
}

TEST(CommitRecords, AnUpdatedValueIsVerified) {
  Value value = fresh_value(7);
  put_field(value, {.worker = 3, .sequence = 9});
  EXPECT_EQ(verified_mark(7, value), (UpdateMark{.worker = 3, .sequence = 9}));
}

TEST(CommitRecords, EveryOtherByteIsVerified) {
  for (std::size_t at = 0; at < kValueBytes; ++at) {
    Value value = fresh_value(7);
    value[at] = static_cast<char>(value[at] + 1);
    if (at >= kFieldOffset && at < kFieldOffset + kFieldBytes) {
      EXPECT_NE(verified_mark(7, value), UpdateMark{});
    } else {
      EXPECT_THROW((void)verified_mark(7, value), DamagedRecord) << at;
    }
  }
}

}  // namespace
}  // namespace palimpsest::experiments
