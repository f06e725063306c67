// How a file is written, by its first records: a table of texts and what is found.
#include "tools/load/file_guess.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

using ::testing::HasSubstr;

FileGuess guess(std::string_view text, const std::string& path = "f.csv", bool is_whole = true) {
  const Dialect told = Dialect::of(format_of_path(path).value_or(Format::csv));
  return guess_file({.text = text, .is_whole = is_whole, .path = path}, told, {});
}

std::string refusal(std::string_view text, const std::string& path = "f.csv") {
  try {
    static_cast<void>(guess(text, path));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(FileGuessTest, Delimiters) {
  struct Case {
    std::string_view text;
    char delimiter;
  };
  for (const Case& expected :
       {Case{"a,b\n1,2\n", ','}, Case{"a;b\n1;2\n", ';'}, Case{"a\tb\n1\t2\n", '\t'},
        Case{"a|b\n1|2\n", '|'}, Case{"a;b\n1;2,5\n2;3,5\n", ';'}, Case{"a,b\n1,x;y\n2,z;w\n", ','},
        Case{"a;b\n\"1;2\";3\n", ';'}, Case{"a b c\n1 2 3\n4 5 6\n", ' '},
        Case{"New York\nLos Angeles\nSan Jose\n", ','}, Case{"alone\n1\n", ','},
        Case{"a,b\n1,x;y;z\n1,x;y;z\n1,x;y;z\n1,x;y;z\n1,x;y;z\n2,w\n2,w\n", ','}}) {
    EXPECT_EQ(guess(expected.text).dialect.delimiter, expected.delimiter) << expected.text;
  }
}

TEST(FileGuessTest, OfATableThatIsThereTheColumnsAreKnown) {
  const std::string path = "f.csv";
  const auto delimiter = [&](std::size_t columns) {
    return guess_file({.text = "a;b\nc;d\n", .path = path, .columns = columns},
                      Dialect::of(Format::csv), {})
        .dialect.delimiter;
  };
  EXPECT_EQ(delimiter(1), ',');
  EXPECT_EQ(delimiter(2), ';');
}

TEST(FileGuessTest, WhatIsToldIsNotGuessed) {
  const std::string path = "f.csv";
  const FileSample sample{.text = "a;b\n1;2\n", .path = path};
  EXPECT_EQ(guess_file(sample, Dialect::of(Format::csv), {.format = true}).dialect.delimiter, ',');
  const FileSample json{.text = "{\"a\":1}\n", .path = path};
  EXPECT_EQ(guess_file(json, Dialect::of(Format::csv), {.format = true}).dialect.format,
            Format::csv);
}

TEST(FileGuessTest, Formats) {
  EXPECT_EQ(guess("{\"a\":1}\n{\"a\":2}\n", "f.json").dialect.format, Format::jsonl);
  EXPECT_EQ(guess("{\n\"a\":1}\n", "f.jsonl").dialect.format, Format::json);
  EXPECT_EQ(guess(" [\n{\"a\":\"}\"}]\n").dialect.format, Format::json);
  EXPECT_EQ(guess("[1,2]\n").dialect.format, Format::csv);
  EXPECT_EQ(guess("{a},b\n{1},2\n").dialect.format, Format::csv);
  EXPECT_EQ(guess("a\tb\n1\t2\n", "F.TSV.GZ").dialect.format, Format::tsv);
  EXPECT_THAT(refusal("a,b\n", "f.json"), HasSubstr("--format"));
}

TEST(FileGuessTest, LineEnds) {
  EXPECT_EQ(guess("a,b\r1,2\r").dialect.line_end, '\r');
  EXPECT_EQ(guess("a,b\r\n1,2\r\n").dialect.line_end, '\n');
  EXPECT_EQ(guess("a,b\n1,\"x\ry\"\n").dialect.line_end, '\n');
}

TEST(FileGuessTest, Tabs) {
  const auto is_plain = [](std::string_view text) {
    const Dialect found = guess(text, "f.tsv").dialect;
    return found.format == Format::csv && found.delimiter == '\t' && !found.letter_escapes;
  };
  EXPECT_FALSE(is_plain("a\tb\n1\tx\\ty\\\\\n"));
  EXPECT_FALSE(is_plain("a\tb\n1\t\\N\n"));
  EXPECT_TRUE(is_plain("a\tb\n1\tC:\\data\n"));
  EXPECT_TRUE(is_plain("a\tb\n1\t\"x\ty\"\n"));
  EXPECT_TRUE(is_plain("\"a\"\t\"b\"\n\"1\"\t\"x\"\n"));
  EXPECT_THAT(refusal("a\tb\n1\tC:\\temp\n", "f.tsv"), HasSubstr("f.tsv:2: a backslash"));
  EXPECT_THAT(refusal("a\tb\n1\t\"x\"\n", "f.tsv"), HasSubstr("f.tsv:2: a field in quotes"));
  EXPECT_TRUE(guess("a\tb\n1\tx\n", "f.tsv", false).dialect.no_escapes_seen);
  EXPECT_FALSE(guess("a\tb\n1\tx\n", "f.tsv", true).dialect.no_escapes_seen);
}

TEST(FileGuessTest, FirstRecords) {
  EXPECT_TRUE(guess("a,b\n1,2,\n3,4,\n").dialect.drops_empty_end);
  EXPECT_FALSE(guess("a,b\n1,2,\n3,4,5\n").dialect.drops_empty_end);
  EXPECT_TRUE(guess("a,b\nr1,2,\nr2,4,5\n").unnamed_first);
  EXPECT_FALSE(guess("a,b\n1,2\n").unnamed_first);
  EXPECT_THAT(refusal("A title\n\na,b\n1,2\n3,4\n"), HasSubstr("line 3 on: --skip 2"));
  EXPECT_THAT(refusal("# x\na,b\n1,2\n3,4\n"), HasSubstr("--comment '#'"));
  EXPECT_EQ(refusal("a,b,c\n1,2\n3,4\n"), "none");
}

TEST(FileGuessTest, Utf16WithoutAMark) {
  EXPECT_THAT(refusal(std::string("a\0,\0b\0\n\0", 8)), HasSubstr("--encoding utf-16le"));
  EXPECT_THAT(refusal(std::string("\0a\0,\0b\0\n", 8)), HasSubstr("--encoding utf-16be"));
}

}  // namespace
}  // namespace palimpsest::load
