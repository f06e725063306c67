// Schemas: written as in the public header, and each way of being invalid.
#include "palimpsest/schema.h"

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/error_of.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;

TableSchema accounts() {
  return {.name = "account",
          .columns = {{"id", int64()},
                      {"owner", varchar(40)},
                      {"balance", decimal(12, 2)},
                      {"closed", nullable(date())}},
          .key = {"id"}};
}

TEST(Schema, OneAsInTheHeaderIsValid) {
  const TableSchema table = accounts();
  table.validate();
  const IndexSchema by_owner{.name = "by_owner", .columns = {"owner", "closed"}};
  by_owner.validate(table);
  EXPECT_EQ(table.find_column("balance"), 2U);
  EXPECT_EQ(table.find_column("Balance"), std::nullopt);
  EXPECT_FALSE(by_owner.unique);
}

TEST(Schema, ThePlainestIsValid) {
  const TableSchema table = key_value_table("blobs");
  table.validate();
  EXPECT_EQ(table.columns[1].type, bytes(1U << 30U));
}

TEST(Schema, AllTypesAtTheirLimitsAreValid) {
  TableSchema table{.name = "limits",
                    .columns = {{"a", boolean()},
                                {"b", int8()},
                                {"c", int16()},
                                {"d", int32()},
                                {"e", float32()},
                                {"f", float64()},
                                {"g", decimal(1, 0)},
                                {"h", decimal(38, 38)},
                                {"i", timestamp()},
                                {"j", character(kCharacterBytesMax)},
                                {"k", character(1)},
                                {"l", varchar(1)},
                                {"m", varchar(kVarcharBytesMax)},
                                {"o", bytes()},
                                {std::string(kNameBytesMax, 'n'), bytes(1)}},
                    .key = {"c", "b"}};
  table.validate();
}

TEST(Schema, TypesPrintAsTheyAreWritten) {
  EXPECT_EQ(text_of(int64()), "int64");
  EXPECT_EQ(text_of(decimal(12, 2)), "decimal(12, 2)");
  EXPECT_EQ(text_of(nullable(varchar(40))), "nullable(varchar(40))");
  EXPECT_EQ(text_of(character(2)), "character(2)");
}

struct Refusal {
  std::function<void(TableSchema&)> spoil;
  std::string message;  ///< a part of it
};

Refusal column_refused(DataType type, const std::string& message) {
  return {[type](TableSchema& table) { table.columns[1].type = type; },
          "table \"account\", column \"owner\" of type " + text_of(type) + ": " + message};
}

void expect_refused(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    TableSchema table = accounts();
    refusal.spoil(table);
    EXPECT_EQ(test::error_of([&] { return table.validate(), 0; }, refusal.message),
              ErrorCode::invalid_argument)
        << refusal.message;
  }
}

TEST(Schema, WhatNoTableCanBeIsRefused) {
  const std::vector<Refusal> refusals{
      {[](TableSchema& table) { table.name.clear(); },
       "a name must have 1 to 127 bytes, this one has 0"},
      {[](TableSchema& table) { table.name.assign(128, 'n'); }, "this one has 128"},
      {[](TableSchema& table) { table.name = "a\nb"; }, "control characters"},
      {[](TableSchema& table) { table.columns.clear(); }, "0 columns: it must have 1 to 1000"},
      {[](TableSchema& table) { table.columns.resize(1001, {.name = "c", .type = int8()}); },
       "1001 columns: it must have 1 to 1000"},
      {[](TableSchema& table) { table.columns[3].name = ""; }, "table \"account\", column \"\""},
      {[](TableSchema& table) { table.columns[3].name = "owner"; },
       "table \"account\": column \"owner\" is named twice"},
      {[](TableSchema& table) { table.key.clear(); },
       "primary key: 0 columns: it must have 1 to 32"},
      {[](TableSchema& table) { table.key = {"Id"}; }, "there is no column \"Id\""},
      {[](TableSchema& table) { table.key = {"id", "owner", "id"}; }, "\"id\" is named twice"},
      {[](TableSchema& table) { table.key = {"id", "closed"}; },
       "column \"closed\" of the primary key must not be nullable"},
      {[](TableSchema& table) {
         table.columns[1].type = character(8185);
         table.key = {"id", "owner"};
       },
       "at least 8193 bytes, but a key has at most 8192"},
  };
  expect_refused(refusals);
}

TEST(Schema, WhatNoColumnCanBeIsRefused) {
  const std::vector<Refusal> refusals{
      column_refused(character(0), "a length of 0 bytes: it must be from 1 to 65535"),
      column_refused(character(65'536), "a length of 65536 bytes: it must be from 1 to 65535"),
      column_refused(varchar(0), "a length of 0 bytes"),
      column_refused(bytes(kVarcharBytesMax + 1), "a length of 1073741825 bytes"),
      column_refused(decimal(0), "0 digits: it must have 1 to 38"),
      column_refused(decimal(39), "39 digits: it must have 1 to 38"),
      column_refused(decimal(256 + 12), "268 digits"),
      column_refused(decimal(5, 6), "6 digits after the point, but only 5 digits in all"),
      column_refused({.type = ColumnType::int32, .length = 4},
                     "a length of 4 bytes: it must be from 0 to 0"),
      column_refused({.type = ColumnType::int32, .scale = 2},
                     "only decimals have precision and scale"),
      column_refused({.type = ColumnType{0}}, "there is no type 0"),
      column_refused({.type = ColumnType{14}}, "there is no type 14"),
  };
  expect_refused(refusals);
}

TEST(Schema, WhatNoIndexCanBeIsRefused) {
  const TableSchema table = accounts();
  const auto refused = [&](const IndexSchema& index, std::string_view message) {
    return test::error_of([&] { return index.validate(table), 0; }, message) ==
           ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused({.name = "", .columns = {"owner"}}, "table \"account\", index \"\""));
  EXPECT_TRUE(refused({.name = "i", .columns = {}}, "index \"i\": 0 columns"));
  EXPECT_TRUE(refused({.name = "i", .columns = {"nobody"}}, "there is no column \"nobody\""));
  EXPECT_TRUE(refused({.name = "i", .columns = {"owner", "owner"}}, "\"owner\" is named twice"));
}

}  // namespace
}  // namespace palimpsest
