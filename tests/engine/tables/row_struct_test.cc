// Structs mapped onto rows: beside handles and layout, and what cannot be mapped.
#include "engine/tables/row_struct.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/engine/tables/random_table.h"
#include "tests/support/error_of.h"

namespace palimpsest::engine {
namespace {

using namespace palimpsest::types;
using palimpsest::test::bytes_of;

TableSchema stock_table() {
  return {.name = "stock",
          .columns = {{"id", int32()},
                      {"data", nullable(varchar(50))},
                      {"ytd", int64()},
                      {"counted", timestamp()},
                      {"quantity", int32()},
                      {"since", date()},
                      {"district", character(8)},
                      {"on", boolean()},
                      {"weight", float64()},
                      {"next", nullable(int32())},
                      {"price", decimal(5, 2)}},
          .key = {"id"}};
}

std::string stock_row(const RowLayout& layout, const std::vector<Value>& changed = {}) {
  std::vector<Value> values{
      1,   "data", std::int64_t{1} << 40, Timestamp(7), -3, Date(11), "ab", true,
      0.5, {},     Decimal::of(5)};
  for (std::size_t at = 0; at < changed.size(); ++at) {
    values[at] = changed[at].is_null() ? values[at] : changed[at];
  }
  std::string row;
  layout.encode(values, row);
  return row;
}

/// In the order of the columns, without holes.
struct Stock {
  std::int64_t ytd;
  Timestamp counted;
  std::int32_t quantity;
  Date since;
  std::array<char, 8> district;
};

RowStruct<Stock> stock_of(const RowLayout& layout) {
  return RowStruct<Stock>(layout, Member{"ytd", &Stock::ytd}, Member{"counted", &Stock::counted},
                          Member{"quantity", &Stock::quantity}, Member{"since", &Stock::since},
                          Member{"district", &Stock::district});
}

TEST(RowStruct, InTheOrderOfTheColumnsItIsOnePiece) {
  const RowLayout layout(stock_table());
  const RowStruct<Stock> stock = stock_of(layout);
  EXPECT_EQ(stock.pieces(), 1U);
  const Stock found = stock.get(stock_row(layout));
  EXPECT_EQ(found.ytd, std::int64_t{1} << 40);
  EXPECT_EQ(found.counted, Timestamp(7));
  EXPECT_EQ(found.quantity, -3);
  EXPECT_EQ(found.since, Date(11));
  EXPECT_EQ(std::string_view(found.district.data(), 8), "ab      ");
}

TEST(RowStruct, WhatIsSetIsTheRowOfTheNewValues) {
  const RowLayout layout(stock_table());
  const RowStruct<Stock> stock = stock_of(layout);
  std::string row = stock_row(layout);
  Stock changed = stock.get(row);
  changed.ytd += 2;
  changed.since = Date(-1);
  changed.district = {'x', 'y', ' ', ' ', ' ', ' ', ' ', ' '};
  stock.set(bytes_of(row), changed);
  EXPECT_EQ(row, stock_row(layout, {{}, {}, (std::int64_t{1} << 40) + 2, {}, {}, Date(-1), "xy"}));
  EXPECT_EQ(layout.validate(row), std::nullopt);
}

TEST(RowStruct, MembersMayLieAnywhere) {
  struct Other {
    std::int32_t quantity;
    double weight;
    int unmapped;
    std::int64_t ytd;
  };
  const RowLayout layout(stock_table());
  const RowStruct<Other> other(layout, Member{"quantity", &Other::quantity},
                               Member{"weight", &Other::weight}, Member{"ytd", &Other::ytd});
  EXPECT_EQ(other.pieces(), 3U);
  std::string row = stock_row(layout);
  Other found = other.get(row);
  EXPECT_EQ(found.quantity, -3);
  EXPECT_EQ(found.weight, 0.5);
  EXPECT_EQ(found.ytd, std::int64_t{1} << 40);
  EXPECT_EQ(found.unmapped, 0);
  found = {.quantity = 8, .weight = -2.5, .unmapped = 5, .ytd = 4};
  other.set(bytes_of(row), found);
  EXPECT_EQ(row, stock_row(layout, {{}, {}, 4, {}, 8, {}, {}, {}, -2.5}));
}

TEST(RowStruct, NeighboursInTheRowNeedNotBeNeighboursInTheStruct) {
  struct Reversed {
    Date since;
    std::int32_t quantity;
  };
  const RowLayout layout(stock_table());
  const RowStruct<Reversed> reversed(layout, Member{"since", &Reversed::since},
                                     Member{"quantity", &Reversed::quantity});
  EXPECT_EQ(reversed.pieces(), 2U);
  const Reversed found = reversed.get(stock_row(layout));
  EXPECT_EQ(found.quantity, -3);
  EXPECT_EQ(found.since, Date(11));
}

TEST(RowStructDeathTest, AColumnIsOneMember) {
  struct Twice {
    std::int32_t one;
    std::int32_t other;
  };
  const RowLayout layout(stock_table());
  EXPECT_DEATH(
      RowStruct<Twice>(layout, Member{"quantity", &Twice::one}, Member{"quantity", &Twice::other}),
      "a column is one member of a struct");
}

TEST(RowStruct, WhatCannotBeAMemberIsRefused) {
  struct Wrong {
    std::int32_t number;
    std::array<char, 7> text;
  };
  const RowLayout layout(stock_table());
  const auto refused = [&](auto member, std::string_view reason) {
    return test::error_of([&] { return RowStruct<Wrong>(layout, member).pieces(); }, reason) ==
           ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused(Member{"next", &Wrong::number},
                      "table \"stock\", column \"next\" of type nullable(int32): it may be null"));
  EXPECT_TRUE(refused(Member{"district", &Wrong::text},
                      "column \"district\" of type character(8): a member of a struct for it has 8 "
                      "bytes, not 7"));
  EXPECT_TRUE(refused(Member{"price", &Wrong::number}, "it is asked for as int32"));
  EXPECT_TRUE(refused(Member{"id", &Wrong::number}, "in the primary key"));
  EXPECT_TRUE(refused(Member{"nothing", &Wrong::number}, "none of that name"));
}

}  // namespace
}  // namespace palimpsest::engine
