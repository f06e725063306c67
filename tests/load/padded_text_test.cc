#include "tools/load/padded_text.h"

#include <gtest/gtest.h>

#include <string>

namespace palimpsest::load {
namespace {

TEST(PaddedText, OfEveryWidthAndSize) {
  const std::string letters =
      "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.,abcdefghij";
  for (std::size_t width = 1; width <= letters.size(); ++width) {
    for (std::size_t size = 1; size <= width; ++size) {
      // Bytes behind the text are not part of it, and nothing beyond the width is written.
      const std::string memory = letters.substr(0, size) + std::string(kPaddedBytesMax, '#');
      std::string into(width + 1, '!');
      ASSERT_TRUE(pad({memory.data(), size}, {into.data(), width}));
      EXPECT_EQ(into, letters.substr(0, size) + std::string(width - size, ' ') + "!");
    }
  }
}

TEST(PaddedText, OfTextsThatAreTooLong) {
  std::string into = "!!";
  const std::string memory(2 * kPaddedBytesMax, ' ');
  EXPECT_FALSE(pad({memory.data(), 3}, into));
  EXPECT_FALSE(pad({memory.data(), 2}, {into.data(), 1}));
  EXPECT_EQ(into, "!!");
}

}  // namespace
}  // namespace palimpsest::load
