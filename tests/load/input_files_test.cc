// Files as UTF-8 text: encodings, lines that are left out, JSON as records; read in pieces of any
// size.
#include "tools/load/input_files.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/load/parsed.h"
#include "tests/support/error_of.h"
#include "tools/load/dialect.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

using palimpsest::test::error_of;

std::string read(ByteSource& source, std::size_t piece) {
  std::string text;
  for (std::size_t some = piece; some == piece;) {
    text.resize(text.size() + piece);
    some = source.read(std::span(text).last(piece));
    text.resize(text.size() - piece + some);
  }
  return text;
}

std::string read(std::string_view bytes, const InputOptions& options, bool is_json = false,
                 std::size_t piece = 3, std::size_t peeked = 5) {
  const test::TextFile file(bytes);
  std::atomic<std::uint64_t> taken = 0;
  InputFiles files({file.path()}, options, taken);
  static_cast<void>(files.peek(peeked));
  files.set_json(is_json);
  const std::unique_ptr<ByteSource> source = files.open(0);
  return read(*source, piece);
}

TEST(InputFilesTest, WhatWasLookedAtIsReadToo) {
  for (const std::size_t piece : {1U, 2U, 7U, 100U}) {
    for (const std::size_t peeked : {0U, 1U, 6U, 100U}) {
      EXPECT_EQ(read("a,b\n1,2\n", {}, false, piece, peeked), "a,b\n1,2\n");
    }
  }
}

TEST(InputFilesTest, Encodings) {
  EXPECT_EQ(read("gr\xF6\xDF"
                 "e",
                 {.encoding = "latin1"}),
            "gr\xC3\xB6\xC3\x9F"
            "e");
  EXPECT_EQ(read(std::string("\xFF\xFE"
                             "a\0\xE4\0\x3D\xD8\x00\xDE",
                             10),
                 {}),
            "a\xC3\xA4\xF0\x9F\x98\x80");
  EXPECT_EQ(read(std::string("\xFE\xFF\0a", 4), {}), "a");
  EXPECT_EQ(read(std::string("a\0b\0", 4), {.encoding = "utf-16le"}), "ab");
  EXPECT_EQ(read("gr\xF6", {.encoding = "bytes"}), "gr\xF6");
  EXPECT_EQ(error_of([] {
              return read(std::string("\xFF\xFE"
                                      "a",
                                      3),
                          {});
            }),
            ErrorCode::corruption);
  EXPECT_THROW(static_cast<void>(read("a", {.encoding = "klingon"})), UsageError);
}

TEST(InputFilesTest, LinesThatAreLeftOut) {
  EXPECT_EQ(read("x\ny\n1\n2\n", {.skip_lines = 2}), "1\n2\n");
  EXPECT_EQ(read("x\ry\r1\r", {.skip_lines = 2}), "1\r");
  EXPECT_EQ(read("x\n", {.skip_lines = 1}), "");
  EXPECT_THROW(static_cast<void>(read("x\ny", {.skip_lines = 2})), UsageError);
  const test::TextFile file("ab\ncd\nef\n");
  std::atomic<std::uint64_t> taken = 0;
  InputFiles files({file.path()}, {.skip_lines = 2}, taken);
  ChunkReader reader({file.path()}, Dialect::of(Format::csv), taken, 1,
                     [&](std::size_t number) { return files.open(number); });
  const auto chunk = reader.next();
  ASSERT_TRUE(chunk);
  EXPECT_EQ(std::tuple(chunk->text(), chunk->byte, chunk->line), std::tuple("ef\n", 6U, 3U));
}

TEST(InputFilesTest, JsonObjectsEndWhereTheyEnd) {
  const auto marked = [](std::string_view text) {
    std::string read_text = read(text, {}, true);
    EXPECT_EQ(read_text.size(), text.size());
    std::ranges::replace(read_text, kObjectEnd, '^');
    return read_text;
  };
  EXPECT_EQ(marked("[{\"a\":1},{\"a\":2}]"), " {\"a\":1}^{\"a\":2}^");
  EXPECT_EQ(marked("[\n {\"a\":\"}]\\\"\"},\n{\"b\":[{}]} ]\n"),
            " \n {\"a\":\"}]\\\"\"}^\n{\"b\":[{}]}^ \n");
  EXPECT_EQ(marked("{\"a\":1}\n{\"a\":\n2}"), "{\"a\":1}^{\"a\":\n2}");
  EXPECT_EQ(marked("[]"), "  ");
  for (const char* text : {"[{}", "[{},{}", "{", "{\"a", "[{}{}]", "{}{}", "[{} {}]", "[,{}]",
                           "[{},,{}]", "[{},]", "[{}]{}", "[{}]x", "x", "5", "[5]"}) {
    EXPECT_EQ(error_of([&] { return read(text, {}, true); }), ErrorCode::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace palimpsest::load
