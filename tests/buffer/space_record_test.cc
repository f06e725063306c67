// Records of freed pages: encoding, and every way in which hostile bytes are invalid.
#include "buffer/space_record.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"

namespace palimpsest::buffer {
namespace {

std::vector<std::byte> encoded(const std::vector<PageRun>& runs) {
  std::vector<std::byte> body(space_record_bytes(runs.size()), std::byte{0xEE});
  encode_space_record(runs, body);
  return body;
}

std::vector<PageRun> decoded(ConstBytes body) {
  std::vector<PageRun> runs;
  if (const auto record = SpaceRecord::decode(body)) {
    for (std::size_t i = 0; i < record->count(); ++i) {
      runs.push_back(record->run(i));
    }
  }
  return runs;
}

TEST(SpaceRecord, SaysWhatItWasGiven) {
  const std::vector<PageRun> runs{{PageId{500}, 7}, {PageId{200}, 1}, {PageId{507}, 3}};
  const std::vector<std::byte> body = encoded(runs);
  EXPECT_EQ(body.size(), 8U + 3 * 16U);
  EXPECT_EQ(decoded(body), runs);
  EXPECT_EQ(print(SpaceRecord::decode(body).value()), "free pages 500-506 200 507-509");
}

TEST(SpaceRecord, BytesAreWhereTheFormatSaysTheyAre) {
  const std::vector<std::byte> body = encoded({{PageId{0x0102030405}, 0x0A0B}});
  const std::vector<unsigned> expected{1, 0, 1, 0, 0,   0,   0, 0, 5, 4, 3, 2,
                                       1, 0, 0, 0, 0xB, 0xA, 0, 0, 0, 0, 0, 0};
  ASSERT_EQ(body.size(), expected.size());
  for (std::size_t i = 0; i < body.size(); ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(body[i]), expected[i]) << i;
  }
}

TEST(SpaceRecord, HoldsAsManyRunsAsItMay) {
  std::vector<PageRun> runs;
  runs.reserve(kSpaceRunsMax);
  for (std::uint64_t i = 0; i < kSpaceRunsMax; ++i) {
    runs.push_back({PageId{1000 + 2 * i}, 1});
  }
  EXPECT_EQ(decoded(encoded(runs)), runs);
  std::vector<std::byte> one_more = encoded(runs);
  one_more.resize(space_record_bytes(kSpaceRunsMax + 1));
  const LoggedRun run{.first = PageId{5}, .pages = 1, .reserved = 0};
  std::memcpy(&one_more[space_record_bytes(kSpaceRunsMax)], &run, sizeof run);
  one_more[2] = std::byte{kSpaceRunsMax + 1};
  EXPECT_FALSE(SpaceRecord::decode(one_more).has_value());
}

TEST(SpaceRecord, RefusesWhatCannotBe) {
  const std::vector<std::byte> good = encoded({{PageId{500}, 7}, {PageId{200}, 1}});
  ASSERT_TRUE(SpaceRecord::decode(good).has_value());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(SpaceRecord::decode(ConstBytes(good).first(size)).has_value()) << size;
  }
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(SpaceRecord::decode(longer).has_value());
  const auto refuses = [&](std::size_t at, unsigned value) {
    std::vector<std::byte> bad = good;
    bad.at(at) = static_cast<std::byte>(value);
    EXPECT_FALSE(SpaceRecord::decode(bad).has_value()) << "byte " << at << " is " << value;
  };
  refuses(0, 0);  // kind
  refuses(0, 2);
  refuses(1, 1);  // reserved
  refuses(2, 0);  // count
  refuses(2, 1);
  refuses(2, 3);
  refuses(3, 1);
  refuses(4, 1);  // reserved
  refuses(7, 0x80);
  refuses(8 + 7, 0x80);  // a page id that no file has
  refuses(8 + 15, 1);    // reserved
  refuses(24 + 8, 0);    // no pages
}

TEST(SpaceRecord, RefusesPagesThatAreInTwoRuns) {
  EXPECT_FALSE(SpaceRecord::decode(encoded({{PageId{9}, 1}, {PageId{9}, 1}})).has_value());
  EXPECT_FALSE(SpaceRecord::decode(encoded({{PageId{9}, 5}, {PageId{13}, 2}})).has_value());
  EXPECT_FALSE(SpaceRecord::decode(encoded({{PageId{13}, 2}, {PageId{9}, 5}})).has_value());
  EXPECT_FALSE(
      SpaceRecord::decode(encoded({{PageId{9}, 9}, {PageId{30}, 2}, {PageId{12}, 1}})).has_value());
  EXPECT_FALSE(SpaceRecord::decode(encoded({{PageId{0}, 1}})).has_value());
  EXPECT_TRUE(SpaceRecord::decode(encoded({{PageId{9}, 4}, {PageId{13}, 2}})).has_value());
}

// Decoding any bytes ends and stays inside, and accepted bytes encode to the same again.
TEST(SpaceRecord, RandomDamageIsRefusedOrIsARecord) {
  Random random(palimpsest::test::seed());
  const std::vector<std::byte> good = encoded({{PageId{500}, 7}, {PageId{200}, 1}, {PageId{1}, 9}});
  std::size_t accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes = good;
    for (std::uint64_t flips = random.between(1, 4); flips > 0; --flips) {
      bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
    }
    bytes.resize(random.one_in(4) ? random.below(bytes.size() + 1) : bytes.size());
    if (SpaceRecord::decode(bytes).has_value()) {
      EXPECT_EQ(encoded(decoded(bytes)), bytes);
      ++accepted;
    }
  }
  EXPECT_GT(accepted, 0U);
}

}  // namespace
}  // namespace palimpsest::buffer
