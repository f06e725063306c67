// Schemas guessed from a sample: exact types, nulls, keys.
#include "tools/load/schema_guess.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/load/parsed.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

std::string guessed(std::string_view text, Format format = Format::csv, Header header = Header::on,
                    std::vector<std::string> key = {}) {
  const Dialect dialect = Dialect::of(format);
  const test::TextFile file(text);
  std::atomic<std::uint64_t> taken = 0;
  ChunkReader reader({file.path()}, dialect, taken);
  return text_of(guess_schema(*reader.look_ahead(), dialect, "f",
                              {.table = "t", .header = header, .key = std::move(key)}));
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

TEST(SchemaGuessTest, NullsAndKeys) {
  EXPECT_EQ(guessed("a,b,c\n1,x,\n1,y,5\n"), "a int64, b varchar primary key, c int64 null");
  EXPECT_EQ(guessed("a,b\n1,x\n1,x\n", Format::csv, Header::on, {"b", "a"}),
            "a int64, b varchar, primary key (b, a)");
  EXPECT_THROW(static_cast<void>(guessed("a\n1\n1\n")), UsageError);
  EXPECT_THROW(static_cast<void>(guessed("a\n")), UsageError);
  EXPECT_THROW(static_cast<void>(guessed("a,a\n1,2\n")), UsageError);
  EXPECT_THROW(static_cast<void>(guessed("a,b\n1,\n", Format::csv, Header::on, {"b"})), UsageError);
}

TEST(SchemaGuessTest, ColumnsWithoutNames) {
  const auto refused = [](std::string_view text) {
    try {
      return guessed(text);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refused(",a\n0,1\n"),
            "f: the header has no name for column 1 of 2: --columns names all of them, with - for "
            "one that is not loaded");
  EXPECT_THAT(refused("a,\"\",b\n0,1,2\n"), testing::HasSubstr("no name for column 2 of 3: "));
  EXPECT_THAT(refused("a,b,\n0,1,2\n"), testing::HasSubstr("no name for column 3 of 3: "));
}

TEST(SchemaGuessTest, OtherFormats) {
  EXPECT_EQ(guessed("1|x|\n2|y|\n", Format::tbl, Header::off), "c1 int64 primary key, c2 varchar");
  EXPECT_EQ(guessed("{\"id\":1,\"a b\":\"1\"}\n{\"a b\":null,\"id\":2,\"x\":1.25}\n", Format::jsonl,
                    Header::off),
            "id int64 primary key, \"a b\" varchar null, x decimal(18,2) null");
}

}  // namespace
}  // namespace palimpsest::load
