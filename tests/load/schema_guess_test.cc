// Schemas guessed from a sample: exact types, nulls, keys.
#include "tools/load/schema_guess.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/load/parsed.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

GuessedTable guess(const Chunk& sample, Dialect dialect, Header header,
                   std::vector<std::string> key = {}) {
  dialect.values.exact = true;
  return guess_schema(sample, dialect, "f",
                      {.table = "t", .header = header, .key = std::move(key)});
}

GuessedTable guess_of(std::string_view text, Header header = Header::automatic) {
  const Dialect dialect = Dialect::of(Format::csv);
  const test::TextFile file(text);
  std::atomic<std::uint64_t> taken = 0;
  ChunkReader reader({file.path()}, dialect, taken);
  return guess(*reader.look_ahead(), dialect, header);
}

std::string guessed(std::string_view text, Format format = Format::csv, Header header = Header::on,
                    std::vector<std::string> key = {}) {
  const Dialect dialect = Dialect::of(format);
  const test::TextFile file(text);
  std::atomic<std::uint64_t> taken = 0;
  ChunkReader reader({file.path()}, dialect, taken);
  return text_of(guess(*reader.look_ahead(), dialect, header, std::move(key)).definition);
}

TEST(SchemaGuessTest, Types) {
  EXPECT_EQ(guessed("id,n,d,f,b,day,at,t,zip,e\n"
                    "a,1,1.5,1e3,true,2024-02-29,2024-02-29T00:00:00Z,x,01234,\n"
                    "b,-2,10,2.5,FALSE,2024-03-01,2024-03-01 00:00:01,1,99999,\n"),
            "id varchar primary key, n int64, d decimal(18,1), f double, b bool, day date, "
            "at timestamp, t varchar, zip varchar, e varchar null");
}

TEST(SchemaGuessTest, NothingThatWouldLoseDigits) {
  EXPECT_EQ(guessed("k,a,b,c\n1,9223372036854775808,0.123456789,12345678901234567.25\n"),
            "k int64 primary key, a decimal(38,0), b double, c decimal(38,2)");
}

// What is not a double's own digits is no double: 2^63 - 1 would be rounded.
TEST(SchemaGuessTest, DoublesKeepTheirDigits) {
  const std::string fifty(50, '7');
  EXPECT_EQ(guessed("k,v\n1," + fifty + "\n2,5\n"), "k int64 primary key, v varchar");
  EXPECT_EQ(guessed("k,v\n1,1e3\n2,9223372036854775807\n"), "k int64 primary key, v decimal(38,0)");
  EXPECT_EQ(guessed("k,v\n1,0.10000000000000001\n2,1.0000000000000000e-01\n"),
            "k int64 primary key, v double");
  EXPECT_EQ(guessed("k,v\n1,0.1234567890123456789\n"), "k int64 primary key, v decimal(38,19)");
  EXPECT_EQ(guessed("k,v\n1,-0\n2,1\n"), "k int64 primary key, v double");
  EXPECT_EQ(guessed("k,v\n1,NaN\n2,nan\n"), "k int64 primary key, v varchar");
}

TEST(SchemaGuessTest, NullsAndKeys) {
  EXPECT_EQ(guessed("a,b,c\n1,x,\n1,y,5\n"), "a int64, b varchar primary key, c int64 null");
  EXPECT_EQ(guessed("a,b\n1,x\n1,x\n", Format::csv, Header::on, {"b", "a"}),
            "a int64, b varchar, primary key (b, a)");
  EXPECT_THROW(static_cast<void>(guessed("a\n")), UsageError);
  EXPECT_THROW(static_cast<void>(guessed("a,b\n1,\n", Format::csv, Header::on, {"b"})), UsageError);
}

TEST(SchemaGuessTest, RowsAreCountedWhereNoColumnIsAKey) {
  const GuessedTable counted = guess_of("row_id,b\n1,x\n1,x\n", Header::on);
  EXPECT_EQ(text_of(counted.definition), "row_id_2 int64 primary key, row_id int64, b varchar");
  EXPECT_EQ(counted.row_id, "row_id_2");
  const std::string long_text(300, 'x');
  EXPECT_EQ(guess_of("a\n" + long_text + "\n", Header::on).row_id, "row_id");
}

TEST(SchemaGuessTest, NamesAreMadeUsable) {
  const std::string long_name(130, 'n');
  const GuessedTable guess =
      guess_of(",a,a,\"b\nc\"," + long_name + ",a_2\n0,1,2,3,4,5\n", Header::on);
  EXPECT_THAT(guess.columns,
              testing::ElementsAre("c1", "a", "a_3", "b_c", std::string(127, 'n'), "a_2"));
  EXPECT_EQ(guess.first_header.size(), 6U);
  EXPECT_EQ(guess.notes.size(), 4U);
  EXPECT_TRUE(guess_of("a,b\n1,2\n", Header::on).columns.empty());
}

TEST(SchemaGuessTest, HeadersAreFound) {
  const auto header_of = [](std::string_view text) { return guess_of(text).header; };
  EXPECT_EQ(header_of("id,v\n1,2.5\n"), Header::match);
  EXPECT_EQ(header_of("3,x\n1,y\n"), Header::off);
  EXPECT_EQ(header_of("first_name,town\nAda,London\n"), Header::match);
  EXPECT_EQ(header_of("\"\",a,b\n1,x,y\n"), Header::on);
  EXPECT_EQ(header_of("\"\",0,1\nr1,5,6\nr2,7,8\n"), Header::on);
  EXPECT_EQ(header_of("x,x\nx,y\n"), Header::off);
  EXPECT_EQ(header_of("5,NA\n6,3\n7,4\n"), Header::off);
  // Words of a dictionary, and years above numbers: nothing tells.
  EXPECT_THROW(static_cast<void>(header_of("apple\npear\n")), UsageError);
  EXPECT_THROW(static_cast<void>(header_of("country,1990,1991,1992\nFrance,5,6,7\n")), UsageError);
}

TEST(SchemaGuessTest, AFirstRecordThatIsNoHeaderIsARecord) {
  EXPECT_EQ(text_of(guess_of("5,x\n007,y\n1,x\n").definition),
            "c1 varchar primary key, c2 varchar");
}

TEST(SchemaGuessTest, OtherFormats) {
  EXPECT_EQ(guessed("1|x|\n2|y|\n", Format::tbl, Header::off), "c1 int64 primary key, c2 varchar");
  EXPECT_EQ(guessed("{\"id\":1,\"a b\":\"1\"}\n{\"a b\":null,\"id\":2,\"x\":1.25}\n", Format::jsonl,
                    Header::off),
            "id int64 primary key, \"a b\" varchar null, x decimal(18,2) null");
  EXPECT_EQ(
      guessed("{\"id\":1,\"o\":{\"a\":[]}}\n{\"id\":2,\"o\":5}\n", Format::jsonl, Header::off),
      "id int64 primary key, o varchar");
}

}  // namespace
}  // namespace palimpsest::load
