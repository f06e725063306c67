// Rows as bytes: encoding and decoding, positions of columns, lengths, and what is refused.
#include "experiments/tables/encoded_row.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "experiments/tables/random.h"
#include "tests/support/seed.h"

namespace palimpsest::experiments {
namespace {

struct Sample {
  std::int64_t sum = 0;
  FixedText<3> code;
  FixedText<5> name;
  FixedText<2> pairs[2];
  std::int8_t small = 0;
  FixedText<300> note;
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.sum, row.small, full(row.code), full(row.pairs), row.name, row.note);
  }
  bool operator==(const Sample&) const = default;
};

struct Nothing {
  static constexpr auto columns(auto&) noexcept { return columns_of(); }
};

static_assert(kRowBytesMax<Sample> == 8 + 1 + 3 + 4 + 6 + 302);
static_assert(kRowBytesMax<Nothing> == 0);

std::string bytes_of(const Sample& row) {
  return std::string(EncodedRow(row).view());
}

Sample some_row() {
  Sample row;
  row.sum = -2;
  row.small = 7;
  row.code.assign("abc");
  row.pairs[0].assign("pq");
  row.pairs[1].assign("rs");
  row.name.assign("four");
  row.note.assign(std::string(258, 'n'));
  return row;
}

TEST(EncodedRow, HasItsColumnsInTurnWithoutGaps) {
  std::string expected =
      "\xfe\xff\xff\xff\xff\xff\xff\xff\x07"
      "abcpqrs"
      "\x04"
      "four"
      "\x02\x01";
  expected.append(258, 'n');
  EXPECT_EQ(bytes_of(some_row()), expected);
}

TEST(EncodedRow, IsAsLongAsItsTexts) {
  Sample row = some_row();
  row.name.assign("");
  row.note.assign("");
  EXPECT_EQ(bytes_of(row).size(), 8U + 1 + 3 + 4 + 1 + 2);
  row.name.assign("12345");
  row.note.assign(std::string(300, 'n'));
  EXPECT_EQ(bytes_of(row).size(), kRowBytesMax<Sample>);
  EXPECT_TRUE(EncodedRow(Nothing{}).view().empty());
}

TEST(EncodedRow, FixedTextsThatAreShortAreFilledUp) {
  Sample row = some_row();
  row.code.assign("x");
  row.pairs[0].assign("");
  const std::string bytes = bytes_of(row);
  EXPECT_EQ(bytes.size(), bytes_of(some_row()).size());
  Sample back;
  ASSERT_TRUE(decode_row(bytes, back));
  EXPECT_EQ(back, row);
}

TEST(EncodedRow, ComesBackAndLeavesNothingOfAnotherRow) {
  Random random(test::seed());
  Sample back = some_row();
  for (int i = 0; i < 2'000; ++i) {
    Sample row;
    row.sum = static_cast<std::int64_t>(random());
    row.small = static_cast<std::int8_t>(random());
    row.code = random_text<3>(random, 0, 3);
    row.pairs[0] = random_text<2>(random, 0, 2);
    row.pairs[1] = random_text<2>(random, 0, 2);
    row.name = random_text<5>(random, 0, 5);
    row.note = random_text<300>(random, 0, 300);
    ASSERT_TRUE(decode_row(EncodedRow(row).view(), back));
    ASSERT_EQ(back, row);
    ASSERT_EQ(bytes_of(back), bytes_of(row));
  }
}

TEST(EncodedRow, RefusesEveryOtherLength) {
  const std::string bytes = bytes_of(some_row());
  Sample row;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_row(ByteView(bytes).substr(0, size), row)) << size;
  }
  EXPECT_TRUE(decode_row(bytes, row));
  std::string longer = bytes;
  longer.push_back('x');
  EXPECT_FALSE(decode_row(longer, row));
  Nothing nothing;
  EXPECT_TRUE(decode_row("", nothing));
  EXPECT_FALSE(decode_row("x", nothing));
}

TEST(EncodedRow, RefusesTextsLongerThanTheirColumns) {
  std::string bytes = bytes_of(some_row());
  constexpr std::size_t kLengthOfName = 16;
  ASSERT_EQ(bytes[kLengthOfName], 4);
  bytes[kLengthOfName] = 6;
  Sample row;
  EXPECT_FALSE(decode_row(bytes, row));
  bytes[kLengthOfName] = 4;
  bytes.insert(bytes.size(), 100, 'n');
  bytes[kLengthOfName + 5] = static_cast<char>(358 - 256);  // 358 characters, and all are there
  EXPECT_FALSE(decode_row(bytes, row));
}

TEST(EncodedRow, SurvivesAnyBytes) {
  Random random(test::seed());
  const std::string good = bytes_of(some_row());
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (std::uint64_t changes = random.below(4); changes != 0; --changes) {
      bytes[random.below(30)] = static_cast<char>(random());
    }
    bytes.resize(random.below(bytes.size() + 40), 'n');
    Sample row;
    if (decode_row(bytes, row)) {
      ++accepted;
      EXPECT_LE(bytes_of(row).size(), bytes.size());
    }
  }
  EXPECT_LT(accepted, 10'000);
}

}  // namespace
}  // namespace palimpsest::experiments
