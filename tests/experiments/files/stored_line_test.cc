#include "experiments/files/stored_line.h"

#include <gtest/gtest.h>

#include <vector>

#include "palimpsest/types.h"

#include "experiments/common/record_key.h"

namespace palimpsest::experiments::files {
namespace {

std::vector<Value> row_of(std::int64_t order, int line) {
  const Date day = *Date::parse("1996-03-13");
  return {order,
          155,
          7,
          line,
          Decimal::of(1700, 2),
          Decimal::of(3311007, 2),
          Decimal::of(4, 2),
          Decimal::of(2, 2),
          "N",
          "O",
          day,
          day,
          day,
          "NONE",
          "TRUCK",
          "a comment"};
}

TEST(StoredLine, HoldsWhatTheRowHad) {
  const std::vector<Value> row = row_of(5'000'000'000, 3);
  StoredLine line;
  line.set(row);
  Content stored;
  see(stored, line.key(), line.value());
  Content given;
  see(given, row);
  EXPECT_EQ(stored, given);
  EXPECT_EQ(stored, (Content{1, 5'000'000'000, 33'110'07, 9}));
}

TEST(StoredLine, KeysAreOrderedAsRowsAre) {
  StoredLine first;
  StoredLine second;
  first.set(row_of(255, 7));
  second.set(row_of(256, 1));
  EXPECT_LT(first.key(), second.key());
  first.set(row_of(256, 2));
  EXPECT_GT(first.key(), second.key());
}

TEST(StoredLine, OtherBytesAreNoLine) {
  StoredLine line;
  line.set(row_of(1, 1));
  Content content;
  EXPECT_THROW(see(content, line.key(), line.value().substr(1)), DamagedRecord);
  EXPECT_THROW(see(content, line.key().substr(1), line.value()), DamagedRecord);
  EXPECT_THROW(see(content, line.key(), {}), DamagedRecord);
}

}  // namespace
}  // namespace palimpsest::experiments::files
