// Buffers for a key and for a value: what the largest pages have fits, wherever it lies.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>

#include "btree/node/key_bytes.h"
#include "btree/node/value_buffer.h"

namespace palimpsest::btree {
namespace {

constexpr std::uint32_t kSmall = buffer::kPageSizeMin;
constexpr std::uint32_t kLarge = buffer::kPageSizeMax;

TEST(KeyBuffer, HoldsKeysOfAllLengths) {
  KeyBuffer key;
  for (const std::uint32_t bytes : {1U, 512U, 513U, 514U, 2'048U, 8'192U, 3U, 8'192U}) {
    const std::string text(bytes, static_cast<char>('a' + bytes % 26));
    key.assign(text);
    ASSERT_EQ(key.view(), text);
    const KeyBuffer copy(key);
    ASSERT_EQ(copy.view(), text);
    KeyBuffer assigned;
    assigned = copy;
    ASSERT_EQ(assigned.view(), text);
    KeyBuffer joined;
    joined.assign_clamped(text, "tail", bytes);
    ASSERT_EQ(joined.view(), text);
  }
}

TEST(KeyBuffer, TakesAPartOfItself) {
  for (const std::uint32_t bytes : {400U, 4'000U}) {
    KeyBuffer key(std::string(bytes, 'k') + "rest");
    key.assign(key.view().substr(bytes));
    EXPECT_EQ(key.view(), "rest");
  }
}

TEST(KeyBuffer, IsCutOffAtTheLongestKeyOfItsPage) {
  KeyBuffer key;
  key.assign_clamped(std::string(500, 'a'), std::string(500, 'b'), key_bytes_max(kSmall));
  EXPECT_EQ(key.view(), std::string(500, 'a') + std::string(12, 'b'));
  key.assign_clamped(std::string(9'000, 'a'), "b", key_bytes_max(kLarge));
  EXPECT_EQ(key.view(), std::string(8'192, 'a'));
}

TEST(ValueBuffer, KeepsWhatWasThereWhenItGrows) {
  std::string expected;
  ValueBuffer value;
  value.assign_clamped({});
  for (int piece = 0; piece < 30; ++piece) {
    const std::string bytes(1'000, static_cast<char>('a' + piece));
    value.append(bytes);
    expected += bytes;
    ASSERT_EQ(value.view(), expected);
  }
  value.patch(29'998, "xy");
  expected.replace(29'998, 2, "xy");
  EXPECT_EQ(value.view(), expected);
  value.assign_clamped("short");
  EXPECT_EQ(value.view(), "short");
}

TEST(ValueBuffer, IsCutOffAtTheLongestValueOfItsPage) {
  const std::string long_value(60'000, 'v');
  ValueBuffer small(kSmall);
  small.assign_clamped(long_value);
  EXPECT_EQ(small.view().size(), stored_bytes_max(kSmall));
  ValueBuffer large(kLarge);
  large.assign_clamped(long_value);
  EXPECT_EQ(large.view().size(), stored_bytes_max(kLarge));
}

TEST(ValueBuffer, HasAsManyBytesAsAreAskedFor) {
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{stored_bytes_max(kLarge)}}) {
    ValueBuffer memory;
    std::memset(memory.data(bytes), 'm', bytes);
    EXPECT_EQ(std::string(memory.data(bytes), bytes), std::string(bytes, 'm'));
  }
}

}  // namespace
}  // namespace palimpsest::btree
