// Texts of rows and keys: capacity, order, and that nothing of a former content is left behind.
#include "experiments/tables/fixed_text.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::experiments {
namespace {

TEST(FixedText, HoldsUpToItsCapacity) {
  FixedText<16> text;
  EXPECT_EQ(text.view(), "");
  text.assign("0123456789abcdef");
  EXPECT_EQ(text.view(), "0123456789abcdef");
  text.assign("short");
  EXPECT_EQ(text.view(), "short");
  EXPECT_EQ(text.size(), 5U);
  const std::string long_text(500, 'x');
  EXPECT_EQ(FixedText<500>(long_text).view(), long_text);
  EXPECT_DEATH(text.assign("0123456789abcdefg"), "longer than its column");
}

TEST(FixedText, IsEqualToTheSameTextOnly) {
  EXPECT_EQ(FixedText<4>("abc"), FixedText<4>("abc"));
  EXPECT_NE(FixedText<4>("abc"), FixedText<4>("abd"));
  EXPECT_NE(FixedText<4>("abc"), FixedText<4>("ab"));
  EXPECT_NE(FixedText<4>("abc"), FixedText<4>({"abc\0", 4}));
}

TEST(FixedText, LeavesNothingOfWhatItHeld) {
  FixedText<16> text("0123456789abcdef");
  text.assign("short");
  const FixedText<16> fresh("short");
  EXPECT_EQ(std::memcmp(&text, &fresh, sizeof text), 0);
}

TEST(FixedText, IsPaddedWithZeroBytes) {
  FixedText<6> text("abc");
  EXPECT_EQ(text.padded(), std::string_view("abc\0\0\0", 6));
  text.assign_padded("a\0c\0\0\0");
  EXPECT_EQ(text.view(), std::string_view("a\0c", 3));
  text.assign_padded("\0\0\0\0\0\0");
  EXPECT_EQ(text.view(), "");
  text.assign_padded("abcdef");
  EXPECT_EQ(text.view(), "abcdef");
}

TEST(FixedText, IsOrderedAsItsBytes) {
  const std::vector<std::string> ordered = {"", "A", "AB", "B", "BA", "a", "\xc3"};
  for (std::size_t i = 0; i + 1 < ordered.size(); ++i) {
    EXPECT_LT(FixedText<4>(ordered[i]), FixedText<4>(ordered[i + 1]));
  }
}

}  // namespace
}  // namespace palimpsest::experiments
