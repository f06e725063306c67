#include "tools/load/plain_number.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::load {
namespace {

/// The same, a character at a time.
std::optional<PlainNumber> reference(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view before = text.substr(0, point);
  const std::string_view behind = point == text.size() ? "" : text.substr(point + 1);
  const auto are_digits = [](std::string_view part) {
    return std::ranges::all_of(part, [](char byte) { return byte >= '0' && byte <= '9'; });
  };
  const bool has_lonely_point = point != text.size() && behind.empty();
  if (before.empty() || has_lonely_point || text.size() > PlainNumber::kSizeMax ||
      !are_digits(before) || !are_digits(behind)) {
    return std::nullopt;
  }
  const std::string digits = std::string(before) + std::string(behind);
  return PlainNumber{
      .digits = std::stoll(digits), .before = before.size(), .behind = behind.size()};
}

void expect_found(const std::optional<PlainNumber>& found, const std::string& text,
                  const std::optional<PlainNumber>& expected) {
  ASSERT_EQ(found.has_value(), expected.has_value()) << "\"" << text << "\"";
  if (found) {
    EXPECT_EQ(found->digits, expected->digits) << "\"" << text << "\"";
    EXPECT_EQ(found->before, expected->before) << "\"" << text << "\"";
    EXPECT_EQ(found->behind, expected->behind) << "\"" << text << "\"";
  }
}

/// Of up to 16 bytes; if there are many, with a point among the last eight or without one.
bool may_be_padded(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  return text.size() <= 8 || (text.size() <= 16 && text.size() - point <= 8);
}

void expect_as_reference(const std::string& text) {
  const auto expected = reference(text);
  expect_found(plain_number(text), text, expected);
  for (const char behind : {'9', '.', '\xFF'}) {
    const std::string memory = text + std::string(kNumberPaddingBytes, behind);
    expect_found(padded_plain_number({memory.data(), text.size()}), text,
                 may_be_padded(text) ? expected : std::nullopt);
  }
}

TEST(PlainNumber, OfEveryLengthWithAPointAnywhere) {
  const std::string digits = "123456789012345678901";
  for (std::size_t size = 0; size <= digits.size(); ++size) {
    expect_as_reference(digits.substr(0, size));
    for (std::size_t point = 0; point <= size; ++point) {
      std::string text = digits.substr(0, size);
      text.insert(point, 1, '.');
      expect_as_reference(text);
      expect_as_reference(text + ".");
    }
  }
}

TEST(PlainNumber, NothingButDigitsAndOnePoint) {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t size = 1; size <= 9; ++size) {
      for (std::size_t at = 0; at < size; ++at) {
        std::string text(size, '9');
        text[at] = static_cast<char>(byte);
        expect_as_reference(text);
        text[0] = '.';
        expect_as_reference(text);
      }
    }
  }
}

TEST(PlainNumber, OfRandomTexts) {
  Random random(palimpsest::test::seed());
  constexpr std::string_view kBytes = "0123456789012345678901234567890123456789./:-+ e/\x80\xFF";
  for (int round = 0; round < palimpsest::test::repeats(300'000); ++round) {
    std::string text;
    for (std::uint64_t left = random.below(20); left > 0; --left) {
      text += kBytes[random.below(kBytes.size())];
    }
    expect_as_reference(text);
  }
}

}  // namespace
}  // namespace palimpsest::load
