// Records as rows of a table: nulls, columns in any order, JSON, and faults with their positions.
#include "tools/load/row_parser.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "tests/load/parsed.h"
#include "tools/load/fault.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

using test::parsed;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const Dialect kCsv = Dialect::of(Format::csv);
const Dialect kTsv = Dialect::of(Format::tsv);
const Dialect kTbl = Dialect::of(Format::tbl);
const Dialect kJson = Dialect::of(Format::jsonl);

TableText people() {
  return parse_schema("id int32 primary key, name varchar(5), age int8 null, note varchar null",
                      "people");
}

TEST(RowParserTest, EmptyFieldsOfCsv) {
  EXPECT_THAT(parsed(people(), kCsv, "1,,,\n2,\"\",7,\"\"\n"),
              ElementsAre("(1, \"\", null, null)", "(2, \"\", 7, \"\")"));
  EXPECT_THAT(parsed(people(), kCsv, ",a,,\n"),
              ElementsAre("f:1:1 (byte 0), column \"id\": null error: no value, and the column is "
                          "never null"));
  EXPECT_THAT(parsed(people(), kCsv, "1,a,\"\",\n"),
              ElementsAre("f:1:5 (byte 4), column \"age\": type error: not an integer: \"\""));
}

TEST(RowParserTest, TextForNull) {
  Dialect dialect = kCsv;
  dialect.null_rule = NullRule::text;
  dialect.null_text = "NULL";
  EXPECT_THAT(parsed(people(), dialect, "1,,NULL,\"NULL\"\n2,null,NULL,\n"),
              ElementsAre("(1, \"\", null, \"NULL\")", "(2, \"null\", null, \"\")"));
  EXPECT_THAT(parsed(people(), dialect, "1,NULL,,\n"),
              ElementsAre(HasSubstr("column \"name\": null error")));
  EXPECT_THAT(parsed(people(), dialect, "1,a,,\n"),
              ElementsAre(HasSubstr("column \"age\": type error")));
}

TEST(RowParserTest, NullsOfTsvAndTbl) {
  EXPECT_THAT(parsed(people(), kTsv, "1\t\t\t\n2\ta\\\\N\t\\N\t\\N\n3\t\\N\t\t\n"),
              ElementsAre("(1, \"\", null, \"\")", "(2, \"a\\\\N\", null, null)",
                          HasSubstr("f:3:3 (byte 20), column \"name\": null error")));
  EXPECT_THAT(parsed(people(), kTbl, "1|a|7|b|\n2|a|7|b\n3|a||\n4|a|||\n"),
              ElementsAre("(1, \"a\", 7, \"b\")", "(2, \"a\", 7, \"b\")", "(3, \"a\", null, null)",
                          "(4, \"a\", null, null)"));
}

TEST(RowParserTest, FaultsHaveAPlace) {
  EXPECT_THAT(
      parsed(people(), kCsv, "1,a,1,\"x\ny\"\n2,abcdef,3,\n3,\"\n\n\",300,\n4,a\n5,a,1,z\n"),
      ElementsAre(
          "(1, \"a\", 1, \"x\\x0Ay\")",
          "f:3:3 (byte 14), column \"name\": range error: 6 bytes, the column has at "
          "most 5: \"abcdef\"",
          "f:6:3 (byte 31), column \"age\": range error: beyond -128 to 127: "
          "\"300\"",
          "f:7:1 (byte 36): parse error: 2 fields, 4 expected; --fill-missing makes missing last "
          "fields null: \"4,a\"",
          "(5, \"a\", 1, \"z\")"));
  EXPECT_THAT(
      parsed(people(), kCsv, "1,a,1,\"b\"c\n"),
      ElementsAre(
          "f:1:10 (byte 9): parse error: text behind the closing quote (--quote none takes quotes "
          "as they are): "
          "\"1,a,1,\\\"b\\\"c\""));
}

TEST(RowParserTest, Headers) {
  const std::size_t chunk = ChunkReader::kChunkBytes;
  EXPECT_THAT(parsed(people(), kCsv, "note,\"name\",id\nx,a,1\n", chunk, Header::match),
              ElementsAre("(1, \"a\", null, \"x\")"));
  EXPECT_THAT(parsed(people(), kCsv, "1st,2nd,3rd,4th\n1,a,2,b\nx,,,\n", chunk, Header::on),
              ElementsAre("(1, \"a\", 2, \"b\")", HasSubstr("f:3:1 (byte 24), column \"id\"")));
  const auto match = [&](const char* text, Header header) {
    static_cast<void>(parsed(people(), kCsv, text, chunk, header));
  };
  EXPECT_THROW(match("id,name,size\n", Header::match), UsageError);
  EXPECT_THROW(match("id,age\n", Header::match), UsageError);
  EXPECT_THROW(match("id,name,id\n", Header::match), UsageError);
  EXPECT_THROW(match("id,name,\n", Header::match), UsageError);
  EXPECT_THROW(match("name,id,age,note\n", Header::on), UsageError);
  EXPECT_THROW(match("", Header::on), UsageError);
}

TEST(RowParserTest, NamedColumns) {
  const TableText table = people();
  const std::vector<std::string> names{"note", "", "name", "id"};
  const ColumnPlan plan = plan_of(table.table, names);
  EXPECT_THAT(plan.columns, ElementsAre(3, ColumnPlan::kIgnored, 1, 0));
  EXPECT_THAT(plan.absent, ElementsAre(2));
}

TEST(RowParserTest, BytesInHexadecimalOrRaw) {
  const TableText table = parse_schema("k bytes(4) primary key, v bytes null", "t");
  EXPECT_THAT(parsed(table, kCsv, "\\x0041,\\x\n,\n"),
              ElementsAre("(\"\\x00A\", \"\")", "(\"\", null)"));
  Dialect dialect = kCsv;
  dialect.bytes = BytesText::raw;
  EXPECT_THAT(parsed(table, dialect, "\\x00,\"\"\nA,\n"),
              ElementsAre("(\"\\\\x00\", \"\")", "(\"A\", null)"));
}

TEST(RowParserTest, Json) {
  const TableText table = parse_schema(
      "id int64 primary key, d decimal(38,4) null, f double null, b bool null, t varchar null, "
      "day date null, x bytes null",
      "t");
  EXPECT_THAT(
      parsed(table, kJson,
             R"({"id":9223372036854775807,"d":1234567890123456789012345678901234.5678,"f":1e3,)"
             R"("b":true,"t":"a\"\u00e4\n","day":"2024-02-29","x":"\\x00ff"})"
             "\n"
             R"( { "t" : null , "id" : -1 , "f" : "NaN" } )"
             "\r\n"
             R"({"id":"7","d":"-1.5","b":null})"),
      ElementsAre("(9223372036854775807, 1234567890123456789012345678901234.5678, 1000, true, "
                  "\"a\\\"\xC3\xA4\\x0A\", 2024-02-29, \"\\x00\\xFF\")",
                  "(-1, null, nan, null, null, null, null)",
                  "(7, -1.5000, null, null, null, null, null)"));
}

TEST(RowParserTest, FaultsOfJson) {
  const TableText table = parse_schema("id int32 primary key, t varchar(3) null, b bool null", "t");
  const auto fault = [&](const char* text) {
    const auto lines = parsed(table, kJson, text);
    EXPECT_EQ(lines.size(), 1U);
    return lines.empty() ? std::string() : lines.front();
  };
  EXPECT_EQ(fault(R"({"id":1,"t":"abcd"})"),
            "f:1:13 (byte 12), column \"t\": range error: 4 bytes, the column has at most 3: "
            "\"abcd\"");
  EXPECT_THAT(fault(R"({"id":1,"T":"a"})"), HasSubstr("table \"t\" has no column \"T\""));
  EXPECT_THAT(fault(R"({"id":1,"id":2})"), HasSubstr("the member is there twice"));
  EXPECT_THAT(fault(R"({"t":"a"})"), HasSubstr("column \"id\": null error"));
  EXPECT_THAT(fault(R"({"id":null})"), HasSubstr("column \"id\": null error"));
  EXPECT_THAT(fault(R"({"id":1.5})"), HasSubstr("type error: not an integer: \"1.5\""));
  EXPECT_THAT(fault(R"({"id":1,"t":5})"), HasSubstr("type error: a number in a column"));
  EXPECT_THAT(fault(R"({"id":true})"), HasSubstr("type error: true and false"));
  EXPECT_THAT(fault(R"({"id":1,"b":1})"), HasSubstr("type error: a number in a column"));
  EXPECT_THAT(fault(R"({"id":1,"t":[1]})"), HasSubstr("type error: an array or an object"));
  EXPECT_THAT(fault(R"({"id":4294967296})"), HasSubstr("range error"));
  for (const char* text : {"",
                           "1",
                           "[]",
                           "null",
                           "{",
                           "}",
                           "{\"id\":1",
                           "{\"id\":1}}",
                           "{\"id\":1} {}",
                           "{\"id\":01}",
                           "{\"id\":1,}",
                           "{\"id\" 1}",
                           "{id:1}",
                           "{\"id\":+1}",
                           "{\"id\":1x}",
                           "{\"id\":nul}",
                           "{\"id\":1,\"t\":\"\\x\"}",
                           "{\"id\":1,\"t\":\"a\xFF\"}",
                           "{\"id\":1,\"b\":tru}",
                           "{\"id\":1}x",
                           "{\"id\":.5}",
                           "{\"id\":1.}",
                           "{\"id\":-}",
                           "{\"id\":1 2}"}) {
    const std::string line = std::string(text) + "\n";
    EXPECT_THAT(fault(line.c_str()), HasSubstr("parse error")) << text;
  }
}

TEST(RowParserTest, WhatFollowsAnObject) {
  const TableText table = parse_schema("id int32 primary key, t varchar null", "t");
  const auto fault = [&](const std::string& text) {
    const auto lines = parsed(table, kJson, text + "\n");
    EXPECT_EQ(lines.size(), 1U);
    return lines.empty() ? std::string() : lines.front();
  };
  for (const std::string more : {"x", "1", "{\"id\":2}", "}", "]", ",", "\"", "\"a\"", "null"}) {
    for (const std::string object : {R"({"id":1})", R"( {"id":1,"t":"}\"}\\"})", "{}"}) {
      EXPECT_THAT(fault(fmt::format("{} {}", object, more)),
                  HasSubstr(fmt::format("f:1:{} (byte {}): parse error: something follows the "
                                        "object: {}",
                                        object.size() + 2, object.size() + 1, in_quotes(more))))
          << object << more;
    }
  }
  for (const char* text :
       {R"({"id":1)", R"({"id":1,"t":"}x)", R"({"id":{"a":1})", "x{}", "[{}] 1"}) {
    EXPECT_THAT(fault(text), Not(HasSubstr("follows"))) << text;
  }
}

TEST(RowParserTest, JsonGoesOnBehindAFault) {
  const TableText table = parse_schema("id int32 primary key", "t");
  EXPECT_THAT(parsed(table, kJson, "{\"id\":1}\n{\"id\":\n{\"id\":3}\n"),
              ElementsAre("(1)", HasSubstr("f:2:"), "(3)"));
}

}  // namespace
}  // namespace palimpsest::load
