// Cursors over tables and indexes: both directions, bounds, seeking, concurrent changes.
#include "engine/table/row_cursor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tests/engine/table/table_fixture.h"

namespace palimpsest::engine::test {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr int kPeople = 200;

class RowCursorTest : public ::testing::Test {
 protected:
  /// Ids from 0; by city, then by age, which falls when ids rise.
  RowCursorTest() {
    const auto transaction = table_.begin();
    for (int id = 0; id < kPeople; ++id) {
      const std::string note(id % 50 == 0 ? 5000 : 20, 'n');
      const std::string name = "n" + std::to_string(id);
      EXPECT_TRUE(table_.in(transaction).insert({id, name, city(id), 1000 - id, note}));
    }
    transaction->commit();
  }
  static Value city(int id) { return id % 4 == 0 ? Value() : Value(id % 4 == 1 ? "Bonn" : "Rome"); }
  static std::int64_t id_of(const RowCursor& cursor) { return cursor.row()["id"].as_integer(); }
  static Ids forward(RowCursor& cursor) {
    Ids ids;
    for (; cursor.valid(); cursor.next()) {
      ids.push_back(id_of(cursor));
      EXPECT_EQ(cursor.row()["age"], Value(1000 - ids.back()));
      EXPECT_EQ(cursor.row()["note"].as_bytes().size(), ids.back() % 50 == 0 ? 5000U : 20U);
    }
    return ids;
  }
  static Ids backward(RowCursor& cursor) {
    Ids ids;
    for (cursor.seek_last(); cursor.valid(); cursor.previous()) {
      ids.push_back(id_of(cursor));
    }
    std::ranges::reverse(ids);
    return ids;
  }
  static Ids from_to(std::int64_t first, std::int64_t last) {
    Ids ids(static_cast<std::size_t>(last - first + 1));
    std::iota(ids.begin(), ids.end(), first);
    return ids;
  }

  OneTable table_{people(), indexes_of_people()};
};

TEST_F(RowCursorTest, OverATable) {
  const auto transaction = table_.begin();
  for (txn::Transaction* in : {static_cast<txn::Transaction*>(nullptr), transaction.get()}) {
    RowCursor all({in, table_.state()}, Range::all(), 1);
    EXPECT_EQ(forward(all), from_to(0, kPeople - 1));
    EXPECT_EQ(backward(all), from_to(0, kPeople - 1));
    RowCursor some({in, table_.state()}, Range::between({50}, {100}), 1000);
    EXPECT_EQ(forward(some), from_to(50, 100));
    EXPECT_EQ(backward(some), from_to(50, 100));
    some.seek({0});
    ASSERT_TRUE(some.valid());
    EXPECT_EQ(id_of(some), 50);
    some.previous();
    EXPECT_FALSE(some.valid());
    some.seek({77});
    EXPECT_EQ(forward(some), from_to(77, 100));
    some.seek({101});
    EXPECT_FALSE(some.valid());
    RowCursor none({in, table_.state()}, Range::between({100}, {50}), 8);
    EXPECT_EQ(forward(none), Ids());
    EXPECT_EQ(backward(none), Ids());
  }
}

TEST_F(RowCursorTest, ExclusiveBoundsAreNotShown) {
  const std::vector<Value> lower{50};
  const std::vector<Value> upper{150};
  const Range open = Range::between(lower, upper, Range::Bound::exclusive, Range::Bound::exclusive);
  RowCursor rows({nullptr, table_.state()}, open, 1);
  EXPECT_EQ(forward(rows), from_to(51, 149));
  EXPECT_EQ(backward(rows), from_to(51, 149));
  rows.seek({50});
  EXPECT_EQ(id_of(rows), 51);
  rows.seek({150});
  EXPECT_FALSE(rows.valid());
}

TEST_F(RowCursorTest, OverAnIndex) {
  RowCursor bonn({nullptr, table_.state()}, "by_city", Range::prefix({"Bonn"}));
  Ids expected;
  for (int id = kPeople - 3; id > 0; id -= 4) {
    expected.push_back(id);
  }
  EXPECT_EQ(forward(bonn), expected);
  EXPECT_EQ(backward(bonn), expected);
  bonn.seek({"Bonn", 1000 - 101});
  ASSERT_TRUE(bonn.valid());
  EXPECT_EQ(id_of(bonn), 101);
  RowCursor nulls({nullptr, table_.state()}, "by_city", Range::prefix({Value()}));
  EXPECT_EQ(forward(nulls).size(), kPeople / 4U);
  const auto transaction = table_.begin();
  RowCursor names({transaction.get(), table_.state()}, "by_name", Range::from({"n19"}));
  ASSERT_TRUE(names.valid());
  EXPECT_EQ(id_of(names), 19);
  names.next();
  EXPECT_EQ(id_of(names), 190);
  EXPECT_EQ(error_of(
                [&] {
                  names.seek(Key::encoded("n2"));
                  return true;
                },
                "by_name"),
            ErrorCode::invalid_argument);
  EXPECT_FALSE(names.valid());
  names.seek({"n2"});
  EXPECT_EQ(id_of(names), 2);
  EXPECT_EQ(
      error_of([&] { return RowCursor({nullptr, table_.state()}, "x", Range::all()).valid(); },
               "no index \"x\""),
      ErrorCode::not_found);
}

TEST_F(RowCursorTest, RowsThatAreGoneArePassedOver) {
  RowCursor names({nullptr, table_.state()}, "by_name", Range::between({"n10"}, {"n103"}));
  RowCursor large({nullptr, table_.state()}, Range::between({49}, {51}), 8);
  const auto transaction = table_.begin();
  ASSERT_TRUE(table_.in(transaction).erase({100}));
  ASSERT_TRUE(table_.in(transaction).erase({101}));
  ASSERT_TRUE(table_.in(transaction).erase({50}));
  transaction->commit();
  EXPECT_EQ(id_of(names), 10);
  names.next();  // over copied entries of rows that are not there
  EXPECT_EQ(id_of(names), 102);
  names.previous();
  EXPECT_EQ(id_of(names), 10);
  EXPECT_EQ(forward(large), (Ids{49, 51}));
}

TEST_F(RowCursorTest, AnIndexThatWasDroppedIsNotFound) {
  RowCursor names({nullptr, table_.state()}, "by_name", Range::all());
  RowCursor cities({nullptr, table_.state()}, "by_city", Range::all());
  RowCursor rows({nullptr, table_.state()}, Range::all(), 8);
  table_.define({indexes_of_people()[0]});
  cities.next();
  EXPECT_TRUE(cities.valid());
  rows.next();
  EXPECT_TRUE(rows.valid());
  EXPECT_EQ(error_of(
                [&] {
                  names.next();
                  return true;
                },
                "no index \"by_name\""),
            ErrorCode::not_found);
  EXPECT_FALSE(names.valid());
  table_.state().change_to(nullptr);
  table_.state().end_change(true);
  EXPECT_EQ(error_of(
                [&] {
                  rows.next();
                  return true;
                },
                "people"),
            ErrorCode::not_found);
}

TEST_F(RowCursorTest, AnIndexThatWasMadeAgainOtherwiseIsNotFound) {
  RowCursor names({nullptr, table_.state()}, "by_name", Range::all());
  table_.define({indexes_of_people()[0], {.name = "by_name", .columns = {"age"}, .unique = true}});
  EXPECT_EQ(error_of(
                [&] {
                  names.next();
                  return true;
                },
                "no index \"by_name\""),
            ErrorCode::not_found);
}

TEST_F(RowCursorTest, ATransactionThatHasEndedGoesOnNoMore) {
  const auto transaction = table_.begin();
  RowCursor rows({transaction.get(), table_.state()}, Range::all(), 8);
  transaction->commit();
  EXPECT_EQ(error_of([&] {
              rows.next();
              return true;
            }),
            ErrorCode::invalid_argument);
}

// The slot belongs to another transaction by then; the cursor must not read with its snapshot.
TEST_F(RowCursorTest, DoesNotGoOnInAnotherTransaction) {
  auto first = table_.begin();
  txn::Transaction* const slot = first.get();
  RowCursor cursor({slot, table_.state()}, Range::all(), 1);
  EXPECT_EQ(id_of(cursor), 0);
  first->commit();
  first.reset();
  const auto second = table_.begin();
  ASSERT_EQ(second.get(), slot) << "the slot is used again";
  EXPECT_EQ(error_of([&] { cursor.seek_last(); }), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace palimpsest::engine::test
