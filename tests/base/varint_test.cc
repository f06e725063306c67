// Varints: every length encoded and decoded, and what is refused.
#include "base/varint.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"

namespace palimpsest {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::vector<std::byte> written(std::uint64_t number) {
  std::array<std::byte, 16> bytes{};
  const std::byte* end = put_varint(bytes.data(), number);
  return {bytes.begin(), bytes.begin() + (end - bytes.data())};
}

/// Whether `bytes` are one number and nothing else; sets `number`.
bool is_number(const std::vector<std::byte>& bytes, std::uint64_t& number) {
  const std::byte* end = bytes.data() + bytes.size();
  return take_varint(bytes.data(), end, number) == end;
}

TEST(Varint, ComesBack) {
  Random random(test::seed());
  for (unsigned bits = 0; bits <= 64; ++bits) {
    const std::uint64_t top = bits == 64 ? kMax : (std::uint64_t{1} << bits) - 1;
    for (const std::uint64_t number : {top, top / 2 + 1, bits == 0 ? 0 : random.below(top) + 1}) {
      const auto bytes = written(number);
      EXPECT_EQ(bytes.size(), varint_bytes(number));
      std::uint64_t back = ~number;
      ASSERT_TRUE(is_number(bytes, back)) << number;
      EXPECT_EQ(back, number);
    }
  }
}

TEST(Varint, LengthsAreThoseOfTheFormat) {
  EXPECT_EQ(varint_bytes(0), 1U);
  EXPECT_EQ(varint_bytes(127), 1U);
  EXPECT_EQ(varint_bytes(128), 2U);
  EXPECT_EQ(varint_bytes(kMax), 10U);
  EXPECT_EQ(written(300), (std::vector<std::byte>{std::byte{0xAC}, std::byte{0x02}}));
}

TEST(Varint, WhatIsCutOffIsRefused) {
  for (const std::uint64_t number : {std::uint64_t{128}, std::uint64_t{1} << 40U, kMax}) {
    auto bytes = written(number);
    std::uint64_t back = 0;
    while (!bytes.empty()) {
      bytes.pop_back();
      EXPECT_FALSE(take_varint(bytes.data(), bytes.data() + bytes.size(), back) != nullptr);
    }
  }
}

TEST(Varint, ANumberHasOneForm) {
  std::uint64_t back = 0;
  EXPECT_FALSE(is_number({std::byte{0x80}, std::byte{0}}, back));
  EXPECT_FALSE(is_number({std::byte{0xFF}, std::byte{0x80}, std::byte{0}}, back));
  EXPECT_TRUE(is_number({std::byte{0}}, back));
}

/// Decodes byte by byte, as the format says.
std::size_t plainly_taken(const std::vector<std::byte>& bytes, std::uint64_t& number) {
  number = 0;
  for (std::size_t at = 0; at < bytes.size() && at < 10; ++at) {
    const auto byte = static_cast<std::uint64_t>(bytes[at]);
    number |= (byte & 0x7FU) << 7 * at;
    if (byte < 0x80U) {
      return (byte == 0 && at != 0) || (at == 9 && byte > 1) ? 0 : at + 1;
    }
  }
  return 0;
}

// Decoding takes another path if more bytes follow the number.
TEST(Varint, AnyBytesAreTakenAsTheFormatSays) {
  Random random(test::seed());
  for (int round = 0; round < 200'000; ++round) {
    std::vector<std::byte> bytes(random.below(14));
    const std::uint64_t continued = random.below(bytes.size() + 1);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const std::uint64_t low = random.one_in(3) ? 0 : random.below(128);
      bytes[at] = static_cast<std::byte>(low | (at < continued ? 0x80U : random() & 0x80U));
    }
    std::uint64_t expected = 0;
    std::uint64_t number = 0;
    const std::size_t length = plainly_taken(bytes, expected);
    const std::byte* next = take_varint(bytes.data(), bytes.data() + bytes.size(), number);
    ASSERT_EQ(next, length == 0 ? nullptr : bytes.data() + length);
    ASSERT_TRUE(length == 0 || number == expected);
  }
}

TEST(Varint, MoreThan64BitsAreRefused) {
  std::vector<std::byte> bytes(9, std::byte{0xFF});
  std::uint64_t back = 0;
  bytes.push_back(std::byte{1});
  EXPECT_TRUE(is_number(bytes, back));
  EXPECT_EQ(back, kMax);
  bytes.back() = std::byte{2};
  EXPECT_FALSE(is_number(bytes, back));
  bytes.back() = std::byte{0x81};
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(is_number(bytes, back));
}

}  // namespace
}  // namespace palimpsest
