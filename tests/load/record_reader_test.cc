// Delimited text: its records and fields, their faults, and independence from the positions of the
// cuts.
#include "tools/load/record_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::load {
namespace {

using ::testing::ElementsAre;
using Records = std::vector<std::string>;

/// Fields as a|b, those in quotes as 'a'; or !fault@place.
std::string shown(const RawRecord& record, const Dialect& dialect) {
  if (record.fault) {
    return "!" + std::string(record.fault->reason) + "@" + std::to_string(record.fault->at);
  }
  std::string text;
  for (const RawField& field : record.fields) {
    text += &field == record.fields.data() ? "" : "|";
    std::string value(field.text);
    if (field.escaped) {
      const Unescaped meant = unescape(dialect, field, value.data());
      value = meant.reason.empty() ? std::string(meant.text) : "!" + std::string(meant.reason);
    }
    text += field.quoted ? "'" + value + "'" : value;
  }
  return text;
}

Records read(const Dialect& dialect, std::string_view text) {
  RecordReader reader(dialect, text, true, RecordReader::Reads::fields);
  RawRecord record;
  Records records;
  while (reader.next(record)) {
    records.push_back(shown(record, dialect));
  }
  EXPECT_EQ(reader.position(), text.size());
  return records;
}

const Dialect kCsv = Dialect::of(Format::csv);
const Dialect kTsv = Dialect::of(Format::tsv);

TEST(RecordReaderTest, BlanksAroundFields) {
  Dialect dialect = kCsv;
  dialect.trim = true;
  EXPECT_THAT(read(dialect, " a ,\t\"x, y\" , \n1,\" z \"\n"), ElementsAre("a|'x, y'|", "1|' z '"));
  EXPECT_THAT(read(dialect, "a \"b\"\n1\n"),
              ElementsAre("!" + std::string(kQuoteWithin) + "@2", "1"));
  EXPECT_THAT(read(dialect, " \""), ElementsAre("!" + std::string(kOpenQuote) + "@1"));
  EXPECT_THAT(read(kCsv, "1, \"b\"\n"), ElementsAre("!" + std::string(kBlankBeforeQuote) + "@3"));
}

TEST(RecordReaderTest, DelimitersOfSeveralBytes) {
  Dialect dialect = kCsv;
  dialect.delimiter = '|';
  dialect.delimiter_rest = "|";
  EXPECT_THAT(read(dialect, "a||b|c||\"d||e\"\n|||x\n"), ElementsAre("a|b|c|'d||e'", "||x"));
}

TEST(RecordReaderTest, LinesThatEndWithACarriageReturn) {
  Dialect dialect = kCsv;
  dialect.line_end = '\r';
  EXPECT_THAT(read(dialect, "a,\"b\rc\"\rd\ne,f\r"), ElementsAre("a|'b\rc'", "d\ne|f"));
}

TEST(RecordReaderTest, Csv) {
  EXPECT_THAT(read(kCsv, "a,b\r\n,\n\"x,y\",\"\"\n"), ElementsAre("a|b", "|", "'x,y'|''"));
  EXPECT_THAT(read(kCsv, "a,\"b\nc\r\nd\"\ne,f"), ElementsAre("a|'b\nc\r\nd'", "e|f"));
  EXPECT_THAT(read(kCsv, "\"a\"\"b\",\"\"\"\"\r\n"), ElementsAre("'a\"b'|'\"'"));
  EXPECT_THAT(read(kCsv, ""), ElementsAre());
  EXPECT_THAT(read(kCsv, "\n\n"), ElementsAre("", ""));
  EXPECT_THAT(read(kCsv, "a,"), ElementsAre("a|"));
  EXPECT_THAT(read(kCsv, "a\rb\n"), ElementsAre("a\rb"));
}

TEST(RecordReaderTest, FaultsOfQuotes) {
  EXPECT_THAT(read(kCsv, "a\"b,c\n1,2\n"),
              ElementsAre("!" + std::string(kQuoteWithin) + "@1", "1|2"));
  EXPECT_THAT(read(kCsv, "\"a\"b,c\n1,2\n"),
              ElementsAre("!" + std::string(kBehindQuote) + "@3", "1|2"));
  EXPECT_THAT(read(kCsv, "\"a\"\"\",\"b\" \n1,2\n"),
              ElementsAre("!" + std::string(kBehindQuote) + "@9", "1|2"));
  EXPECT_THAT(read(kCsv, "1,\"a\n1,2\n"), ElementsAre("!" + std::string(kOpenQuote) + "@2"));
}

TEST(RecordReaderTest, Escapes) {
  Dialect dialect = kCsv;
  dialect.escape = '\\';
  EXPECT_THAT(read(dialect, "\"a\\\"b\",\\,c\\\\\n\"x\\\ny\",z\\\nw\n"),
              ElementsAre("'a\"b'|,c\\", "'x\ny'|z\nw"));
  EXPECT_THAT(read(dialect, "a\\"), ElementsAre("!nothing follows the escape at the end of the "
                                                "field"));
  dialect.quote.reset();
  EXPECT_THAT(read(dialect, "\"a\",b\\,c\n"), ElementsAre("\"a\"|b,c"));
}

TEST(RecordReaderTest, NoQuotes) {
  Dialect dialect = kCsv;
  dialect.quote.reset();
  dialect.delimiter = ';';
  EXPECT_THAT(read(dialect, "5\" disk;\"a\n"), ElementsAre("5\" disk|\"a"));
}

TEST(RecordReaderTest, Tsv) {
  EXPECT_THAT(read(kTsv, "a\tb\\tc\\n\\\\\t\\N\r\n"), ElementsAre("a|b\tc\n\\|!a backslash is "
                                                                  "followed by none of t, n, r, "
                                                                  "\\"));
  EXPECT_THAT(read(kTsv, "\"a\"\t\n"), ElementsAre("\"a\"|"));
}

TEST(RecordReaderTest, SkipsCommentsAndBlankLinesIfAsked) {
  Dialect dialect = kCsv;
  dialect.comment = "#";
  EXPECT_THAT(read(dialect, "#\"x\na,\"\n#b\"\n#c"), ElementsAre("a|'\n#b'"));
  dialect.skip_blank = true;
  EXPECT_THAT(read(dialect, "\n\r\n#\na\n\n"), ElementsAre("a"));
  EXPECT_THAT(read(kCsv, "#a\n"), ElementsAre("#a"));
}

TEST(RecordReaderTest, CountsLines) {
  RecordReader reader(kCsv, "\"a\nb\"\n\nc\n", true, RecordReader::Reads::fields);
  RawRecord record;
  std::vector<std::uint64_t> lines;
  while (reader.next(record)) {
    lines.push_back(record.lines_before);
  }
  EXPECT_THAT(lines, ElementsAre(0, 2, 3));
  EXPECT_EQ(reader.lines(), 4U);
}

/// Text of few different bytes, so that all combinations occur.
std::string random_text(Random& random) {
  constexpr std::string_view kBytes = "ab,,\"\"\"\\#\r\n\n";
  std::string text(random.below(200), ' ');
  for (char& byte : text) {
    byte = kBytes[random.below(kBytes.size())];
  }
  return text;
}

/// The expected records without quotes, a byte at a time.
Records plain_records(std::string_view text) {
  Records records;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string record(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (record.ends_with('\r')) {
      record.pop_back();
    }
    std::ranges::replace(record, ',', '|');
    records.push_back(std::move(record));
  }
  return records;
}

TEST(RecordReaderTest, PlainRecordsOfEveryShape) {
  Random random(palimpsest::test::seed());
  constexpr std::string_view kBytes = "abcdefgh,,,\n\r";
  for (int i = 0; i < palimpsest::test::repeats(20'000); ++i) {
    std::string text;
    for (std::uint64_t left = random.below(200); left > 0; --left) {
      text += kBytes[random.below(kBytes.size())];
    }
    text += '\n';
    ASSERT_EQ(read(kCsv, text), plain_records(text)) << in_quotes(text);
  }
}

// A quoted or escaped part does not change the record's fields before it.
TEST(RecordReaderTest, PlainFieldsBeforeQuotedOnes) {
  EXPECT_THAT(read(kCsv, "a,bc,\"d,\"\"e\",f\ng,h\n"), ElementsAre("a|bc|'d,\"e'|f", "g|h"));
  const std::string many(70, 'x');
  EXPECT_THAT(read(kCsv, fmt::format("{},\"y\"\r\nz,", many)),
              ElementsAre(fmt::format("{}|'y'", many), "z|"));
  EXPECT_THAT(read(kCsv, "a,b\"c,d\n"), ElementsAre("!" + std::string(kQuoteWithin) + "@3"));
  Dialect escaped = kCsv;
  escaped.escape = '\\';
  EXPECT_THAT(read(escaped, "a,b\\,c,d\n"), ElementsAre("a|b,c|d"));
}

Dialect random_dialect(Random& random) {
  Dialect dialect = kCsv;
  if (random.one_in(3)) {
    dialect.escape = '\\';
  }
  if (random.one_in(4)) {
    dialect.quote.reset();
  }
  if (random.one_in(3)) {
    dialect.comment = random.one_in(2) ? "#" : "a,";
  }
  dialect.skip_blank = random.one_in(3);
  return dialect;
}

/// Records with their positions, and everything known about their fields.
struct ReadWith {
  std::vector<std::string> records{};
  std::uint64_t plain = 0;
};

enum class By : std::uint8_t { next = 1, next_plain };

ReadWith read_with(const Dialect& dialect, std::string_view text, std::size_t plain_fields, By by) {
  RecordReader reader(dialect, text, true, RecordReader::Reads::fields);
  ReadWith read;
  RawRecord record;
  PlainRecord plain;
  for (;;) {
    if (by == By::next_plain && reader.next_plain(plain_fields, plain)) {
      record = {.begin = plain.begin, .end = plain.end, .lines_before = plain.lines_before};
      for (std::size_t number = 0; number < plain_fields; ++number) {
        record.fields.push_back({.text = plain.field(number)});
      }
      ++read.plain;
    } else if (!reader.next(record)) {
      break;
    }
    std::string fields;
    for (std::size_t number = 0; number < record.fields.size(); ++number) {
      const RawField& field = record.fields[number];
      const bool is_behind_last =
          dialect.drops_empty_end && number + 1 == plain_fields + 1 && field.text.empty();
      if (!is_behind_last) {
        fields +=
            fmt::format("|{}{}{}", field.quoted ? "q" : "", field.escaped ? "e" : "", field.text);
      }
    }
    read.records.push_back(fmt::format("{}-{} {} {} {}", record.begin, record.end,
                                       record.lines_before, fields, record.fault.has_value()));
  }
  read.records.push_back(fmt::format("{} {}", reader.lines(), reader.skipped_lines()));
  return read;
}

// Plain records are read like all other records.
TEST(RecordReaderTest, PlainRecordsAmongQuotedOnes) {
  Random random(palimpsest::test::seed());
  std::uint64_t plain = 0;
  for (palimpsest::test::Sweep sweep(3'000, 500, 2); sweep.next();) {
    Dialect dialect = random.one_in(4) ? Dialect::of(Format::tbl) : random_dialect(random);
    dialect.format = random.one_in(8) ? Format::tsv : dialect.format;
    dialect.letter_escapes = random.one_in(8);
    dialect.drops_empty_end = dialect.format == Format::tbl || random.one_in(8);
    const std::size_t fields = 1 + random.below(4);
    std::string text;
    for (std::uint64_t left = random.below(random.one_in(10) ? 3'000 : 30); left > 0; --left) {
      for (std::size_t number = 0; number < fields; ++number) {
        text.append(random.below(random.one_in(20) ? 3'000 : 6), 'a');
        text += number + 1 < fields || random.one_in(3) ? std::string(1, dialect.delimiter) : "";
      }
      text += random.one_in(9) ? random_text(random) : (random.one_in(3) ? "\r\n" : "\n");
    }
    const ReadWith read = read_with(dialect, text, fields, By::next_plain);
    const ReadWith expected = read_with(dialect, text, fields, By::next);
    for (std::size_t number = 0; number < expected.records.size(); ++number) {
      ASSERT_EQ(read.records.at(number), expected.records[number]);
    }
    plain += read.plain;
  }
  EXPECT_GT(plain, 3'000U);
}

TEST(RecordReaderTest, EndsAreWhereFieldsAreReadToo) {
  Random random(palimpsest::test::seed());
  for (int i = 0; i < palimpsest::test::repeats(20'000); ++i) {
    const Dialect dialect = random_dialect(random);
    const std::string text = random_text(random);
    RecordReader fields(dialect, text, true, RecordReader::Reads::fields);
    RecordReader ends(dialect, text, true, RecordReader::Reads::ends);
    RawRecord with_fields;
    RawRecord with_end;
    while (fields.next(with_fields)) {
      ASSERT_TRUE(ends.next(with_end)) << in_quotes(text);
      ASSERT_EQ(with_fields.begin, with_end.begin) << in_quotes(text);
      ASSERT_EQ(with_fields.end, with_end.end) << in_quotes(text);
      ASSERT_EQ(with_fields.lines_before, with_end.lines_before) << in_quotes(text);
    }
    ASSERT_FALSE(ends.next(with_end)) << in_quotes(text);
  }
}

}  // namespace
}  // namespace palimpsest::load
