// Values as messages show them.
#include "engine/format/value_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/engine/format/random_table.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine {
namespace {

using namespace palimpsest::types;
using namespace std::string_literals;

std::string shown(const std::string& text) {
  return text_of_value(text);
}

TEST(ValueText, ListsValuesAsTheyAreWritten) {
  const std::vector<Value> values{7, "Ada", {}, true, Decimal::of(1250, 2), Date(0), 0.5};
  EXPECT_EQ(text_of_values(values), "(7, \"Ada\", null, true, 12.50, 1970-01-01, 0.5)");
  EXPECT_EQ(text_of_values({}), "()");
}

TEST(ValueText, WhatATerminalWouldObeyIsSpelled) {
  EXPECT_EQ(shown("a\x1B[2J\n\x7F"s), R"("a\x1B[2J\x0A\x7F")");
  EXPECT_EQ(shown("\0"s), R"("\x00")");
  EXPECT_EQ(shown("\xC2\x9B"s), R"("\xC2\x9B")") << "a control character of two bytes";
  EXPECT_EQ(shown("say \"a\\b\""s), R"("say \"a\\b\"")");
}

TEST(ValueText, OnlyUtf8IsShownAsItIs) {
  EXPECT_EQ(shown("J\u00F6rg \u20AC \U0001F600"s), "\"J\u00F6rg \u20AC \U0001F600\"");
  EXPECT_EQ(shown("\xF6"s), R"("\xF6")");
  EXPECT_EQ(shown("\xC3"s), R"("\xC3")") << "cut off";
  EXPECT_EQ(shown("\xC3("s), R"("\xC3(")");
  EXPECT_EQ(shown("\xC0\xAF"s), R"("\xC0\xAF")") << "overlong";
  EXPECT_EQ(shown("\xE0\x80\xAF"s), R"("\xE0\x80\xAF")") << "overlong";
  EXPECT_EQ(shown("\xF0\x80\x80\xAF"s), R"("\xF0\x80\x80\xAF")") << "overlong";
  EXPECT_EQ(shown("\xED\xA0\x80"s), R"("\xED\xA0\x80")") << "a surrogate";
  EXPECT_EQ(shown("\xF4\x90\x80\x80"s), R"("\xF4\x90\x80\x80")") << "beyond U+10FFFF";
}

TEST(ValueText, LongTextsAreCutBehindACharacter) {
  const std::string longest(kShownBytesMax, 'x');
  EXPECT_EQ(shown(longest), fmt::format("\"{}\"", longest));
  EXPECT_EQ(shown(longest + "y"), fmt::format("\"{}\"... of 101 bytes", longest));
  const std::string odd = fmt::format("{}\u00F6", longest.substr(1));
  EXPECT_EQ(shown(odd + "y"), fmt::format("\"{}\"... of 102 bytes", odd));
}

TEST(ValueText, AnyBytesGiveUtf8WithoutControlCharacters) {
  Random random(test::seed());
  for (test::Rounds rounds(1000, 0.1); rounds.next() && !::testing::Test::HasFailure();) {
    std::string bytes(random.below(8), '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(random.one_in(2) ? random.between(0x80, 0xFF) : random.below(256));
    }
    const std::string text = shown(bytes);
    EXPECT_TRUE(std::ranges::none_of(
        text, [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; }));
    const std::string inner = text.substr(1, text.size() - 2);
    if (inner.find('\\') == std::string::npos) {
      EXPECT_EQ(inner, bytes) << "nothing is lost";
    }
  }
}

TEST(ValueText, KeysAreNamedByTheirColumns) {
  const TableSchema table{
      .name = "t", .columns = {{"a", int16()}, {"b", varchar(9)}}, .key = {"b", "a"}};
  const KeyCodec codec(table);
  KeyMemory memory;
  const ByteView key = codec.encode(std::vector<Value>{"x", -3}, memory);
  EXPECT_EQ(text_of_key(codec, key), "(\"x\", -3)");
  EXPECT_EQ(text_of_key(codec, Key::encoded(key)), "(\"x\", -3)");
  EXPECT_EQ(text_of_key(codec, Key{"y"}), "(\"y\")") << "the first columns of one";
  EXPECT_EQ(text_of_key(codec, key.substr(0, 2)), R"(the bytes "x\x00")");
}

}  // namespace
}  // namespace palimpsest::engine
