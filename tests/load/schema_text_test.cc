// Tables as text: reading, printing, and the reported positions of errors.
#include "tools/load/schema_text.h"

#include <gmock/gmock.h>

#include <string>

#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

using namespace palimpsest::types;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string fault_of(std::string_view text) {
  try {
    static_cast<void>(parse_schema(text, "t"));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(SchemaTextTest, ReadsAllTypes) {
  const TableText read = parse_schema(
      "a int8, b int16, c int32, d int64 primary key, e float, f double, g decimal(12,2), "
      "h decimal(38), i bool, j date, k timestamp, l char(5), m varchar, n varchar(7), o bytes, "
      "p bytes(9) null",
      "t");
  const TableSchema expected{.name = "t",
                             .columns = {{"a", int8()},
                                         {"b", int16()},
                                         {"c", int32()},
                                         {"d", int64()},
                                         {"e", float32()},
                                         {"f", float64()},
                                         {"g", decimal(12, 2)},
                                         {"h", decimal(38)},
                                         {"i", boolean()},
                                         {"j", date()},
                                         {"k", timestamp()},
                                         {"l", character(5)},
                                         {"m", varchar(kVarcharBytesMax)},
                                         {"n", varchar(7)},
                                         {"o", types::bytes()},
                                         {"p", nullable(types::bytes(9))}},
                             .key = {"d"}};
  EXPECT_EQ(read.table, expected);
}

TEST(SchemaTextTest, ReadsKeysAndIndexes) {
  const TableText read = parse_schema(
      "A INT32, -- a comment, with words\n b varchar NOT NULL, \"primary\" boolean null,\n"
      "PRIMARY KEY (b, A), index i (\"primary\"), unique index \"a \"\"b\"\" c\" (A),",
      "t");
  EXPECT_THAT(read.table.key, ElementsAre("b", "A"));
  EXPECT_EQ(read.table.columns[2].name, "primary");
  ASSERT_EQ(read.indexes.size(), 2U);
  EXPECT_EQ(read.indexes[0], (IndexSchema{.name = "i", .columns = {"primary"}}));
  EXPECT_EQ(read.indexes[1], (IndexSchema{.name = "a \"b\" c", .columns = {"A"}, .unique = true}));
}

TEST(SchemaTextTest, PrintsWhatItReads) {
  for (const char* text :
       {"id int64 primary key, amount decimal(12,2), note varchar null",
        "a int8, b char(3), primary key (b, a), index i (a, b), unique index j (b)",
        "\"a b\" bytes(10) primary key, \"1st\" float null, größe double, \"index\" bool, "
        "\"x\"\"y\" date, \"index \" timestamp, t varchar(99)"}) {
    const TableText read = parse_schema(text, "t");
    EXPECT_EQ(text_of(read), text);
    EXPECT_EQ(parse_schema(text_of(read), "t"), read);
  }
}

TEST(SchemaTextTest, NamesPlaceAndReason) {
  EXPECT_EQ(fault_of("id int65 primary key"),
            "schema, line 1, column 4: a type is expected, not \"int65\"; types are int8, int16, "
            "int32, int64, float, double, decimal(p,s), bool, date, timestamp, char(n), varchar, "
            "bytes, and as SQL calls them");
  EXPECT_EQ(fault_of("id int64 primary key,\n name"),
            "schema, line 2, column 6: a type is expected, not the end; types are int8, int16, "
            "int32, int64, float, double, decimal(p,s), bool, date, timestamp, char(n), varchar, "
            "bytes, and as SQL calls them");
  EXPECT_EQ(fault_of("id int64 primary key name"),
            "schema, line 1, column 22: \",\" or the end is expected, not \"name\"");
  EXPECT_EQ(fault_of("id char primary key"),
            "schema, line 1, column 9: \"(\" is expected, not \"primary\"");
  EXPECT_EQ(fault_of("id decimal(x,2)"),
            "schema, line 1, column 12: a number is expected, not \"x\"");
  EXPECT_EQ(fault_of("1st int64"),
            "schema, line 1, column 1: a name that begins with a digit needs double quotes: "
            "\"1st\"");
  EXPECT_EQ(fault_of("\"id int64"), "schema, line 1, column 1: the name in quotes does not end");
  EXPECT_EQ(fault_of("a int8 primary key, b int8 primary key"),
            "schema, line 1, column 28: a second primary key; one of several columns is "
            "\"primary key (a, b)\"");
  EXPECT_THAT(fault_of("a int8"), HasSubstr("there is no primary key"));
  EXPECT_THAT(fault_of(""), HasSubstr("the name of a column is expected, not the end"));
  EXPECT_THAT(fault_of("index int8 primary key"), HasSubstr("\"(\" is expected"));
}

TEST(SchemaTextTest, RefusesWhatNoTableIs) {
  EXPECT_THAT(fault_of("a int8 null primary key"), HasSubstr("must not be nullable"));
  EXPECT_THAT(fault_of("a int8, a int8, primary key (a)"), HasSubstr("named twice"));
  EXPECT_THAT(fault_of("a decimal(39,2) primary key"), HasSubstr("39 digits"));
  EXPECT_THAT(fault_of("a decimal(4294967296) primary key"), HasSubstr("a number is expected"));
  EXPECT_THAT(fault_of("a int8 primary key, index i (b)"), HasSubstr("no column \"b\""));
  EXPECT_THAT(fault_of("a int8 primary key, index i (a), index i (a)"),
              HasSubstr("index \"i\" is there twice"));
  EXPECT_THAT(fault_of("\"a\nb\" int8 primary key"), HasSubstr("control characters"));
  EXPECT_THAT(fault_of("\"\" int8 primary key"), HasSubstr("a name must have 1 to"));
}

TEST(SchemaTextTest, ReadsNames) {
  EXPECT_THAT(parse_names("a, \"b, c\", -, d"), ElementsAre("a", "b, c", "", "d"));
  EXPECT_THROW(static_cast<void>(parse_names("a b")), UsageError);
  EXPECT_THROW(static_cast<void>(parse_names("")), UsageError);
}

}  // namespace
}  // namespace palimpsest::load
