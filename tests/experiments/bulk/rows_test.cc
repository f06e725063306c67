// Rows: making and finding them.
#include "experiments/bulk/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/bulk/found_row.h"

namespace palimpsest::experiments::bulk {
namespace {

Row made(std::uint64_t number) {
  Row row;
  make_row(number, row);
  return row;
}

TEST(Rows, FollowFromTheirNumbers) {
  EXPECT_EQ(made(7).id, 7);
  EXPECT_EQ(made(7).number, 7);
  EXPECT_EQ(made(7).round, 0);
  EXPECT_EQ(made(7).body, made(7).body);
  EXPECT_NE(made(7).body, made(8).body);
  EXPECT_THAT(made(7).body, testing::Each(testing::AllOf(testing::Ge('A'), testing::Le('P'))));
}

TEST(Rows, TakeAsMuchEverywhere) {
  EXPECT_EQ(kRowBytes, 100U);
  EXPECT_EQ(RowValue(made(1)).view().size() + sizeof(std::int64_t), kRowBytes);
}

TEST(Rows, AreFoundSoundInOrder) {
  FoundRows found;
  for (const std::uint64_t number : {3U, 4U, 9U}) {
    see_row(found, number, RowValue(made(number)).view());
  }
  EXPECT_TRUE(found.sound);
  EXPECT_EQ(found.rows, 3U);
  EXPECT_EQ(found.first, 3U);
  EXPECT_EQ(found.last, 9U);
}

TEST(Rows, AreFoundDamaged) {
  FoundRows another;
  see_row(another, 3, RowValue(made(4)).view());
  EXPECT_FALSE(another.sound);

  FoundRows twice;
  see_row(twice, 3, RowValue(made(3)).view());
  see_row(twice, 3, RowValue(made(3)).view());
  EXPECT_FALSE(twice.sound);
}

}  // namespace
}  // namespace palimpsest::experiments::bulk
