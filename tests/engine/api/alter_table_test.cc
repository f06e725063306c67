// Alters the columns of tables: the resulting rows and indexes, and what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/row_encoder.h"
#include "palimpsest/row_sort.h"
#include "palimpsest/table_of.h"

#include "tests/engine/api/alter_table_fixture.h"
#include "tests/support/error_of.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::accounts;
using test::AlterTableTest;
using test::error_of;
using test::names_of;

struct Account {
  std::int64_t id = 0;
  std::string owner{};
  std::int32_t balance = 0;
};

TEST_F(AlterTableTest, ColumnsComeGoAndAreRenamed) {
  fill(3000);
  EXPECT_TRUE(altered(
      [](Transaction& by) { return by.add_column("account", {"closed", nullable(date())}); }));
  EXPECT_EQ(text_of(7), "(7, \"owner 00007\", 70, null)");
  EXPECT_TRUE(altered(
      [](Transaction& by) { return by.add_column("account", {"currency", character(3)}, "EUR"); }));
  EXPECT_TRUE(altered([](Transaction& by) { return by.drop_column("account", "balance"); }));
  EXPECT_TRUE(
      altered([](Transaction& by) { return by.rename_column("account", "owner", "holder"); }));
  EXPECT_THAT(names_of(table()), ::testing::ElementsAre("id", "holder", "closed", "currency"));
  EXPECT_THAT(table().indexes()[0].columns, ::testing::ElementsAre("holder"));
  table().insert({3000, "owner 02999a", Date(5), "USD"}).require();
  reopen();
  EXPECT_EQ(text_of(7), "(7, \"owner 00007\", null, \"EUR\")");
  EXPECT_EQ(count_by_owner(), 3001U);
  EXPECT_EQ(count_in("account", "by_owner", "owner 02999a"), 1U);
  EXPECT_TRUE(altered([](Transaction& by) { return by.rename_column("account", "id", "number"); }));
  EXPECT_THAT(table().schema().key, ::testing::ElementsAre("number"));
  EXPECT_EQ(text_of(2999), "(2999, \"owner 02999\", null, \"EUR\")");
}

TEST_F(AlterTableTest, RowsAreConverted) {
  fill(2000);
  const TableAlteration to{.columns = {{"cents", decimal(12, 2)},
                                       {"owner", varchar(60)},
                                       {"id", int64()},
                                       {"initial", nullable(varchar(1))},
                                       {"balance", int64()}},
                           .renamed = {}};
  std::size_t converted = 0;
  EXPECT_TRUE(altered([&](Transaction& by) {
    return by.alter_table("account", to, [&](const RowView& before, std::span<Value> row) {
      const std::int64_t balance = before["balance"].as_integer();
      row[0] = Decimal::of(Int128{100} * balance, 2);
      row[3] = before["owner"].as_bytes().substr(0, 1);
      row[4] = balance + (std::int64_t{1} << 40U);
      ++converted;
    });
  }));
  EXPECT_EQ(converted, 2000U);
  EXPECT_EQ(text_of(7), "(70.00, \"owner 00007\", 7, \"o\", 1099511627846)");
  EXPECT_EQ(count_by_owner(), 2000U);
}

// Two columns may exchange names: each keeps its values.
TEST_F(AlterTableTest, NamesMayBeExchanged) {
  database_.run([](Transaction& by) {
    by.create_table(
          {.name = "t", .columns = {{"k", int32()}, {"a", int32()}, {"b", int32()}}, .key = {"k"}})
        .require();
    by.table("t").insert(by, {1, 2, 3}).require();
    by.create_index("t", {.name = "by_a", .columns = {"a"}}).require();
  });
  EXPECT_TRUE(altered([](Transaction& by) {
    return by.alter_table("t", {.columns = {{"k", int32()}, {"a", int32()}, {"b", int32()}},
                                .renamed = {{"a", "b"}, {"b", "a"}}});
  }));
  EXPECT_EQ(database_.table("t").get({1})->text(), "(1, 3, 2)");
  EXPECT_THAT(database_.table("t").indexes()[0].columns, ::testing::ElementsAre("b"));
  Transaction by = begin_bulk();
  EXPECT_EQ(error_of(
                [&] {
                  return by.alter_table(
                      "t", {.columns = {{"k", int32()}, {"b", int32()}}, .renamed = {{"a", "b"}}});
                },
                "index \"by_a\""),
            ErrorCode::invalid_argument)
      << "its column is gone, and another has its name";
  by.rollback();
  EXPECT_TRUE(altered([](Transaction& by_name) {
    return by_name.alter_table(
        "t", {.columns = {{"k", int32()}, {"c", int32()}, {"a", nullable(int32())}, {"b", int32()}},
              .renamed = {{"a", "c"}}});
  }));
  EXPECT_EQ(database_.table("t").get({1})->text(), "(1, 3, null, 2)") << "a new one, a free name";
  EXPECT_EQ(count_in("t", "by_a", 2), 1U);
}

TEST_F(AlterTableTest, WhatIsNotDoneChangesNothing) {
  fill(2000);
  table().upsert({1999, "long name of somebody", 7}).require();
  const auto is_refused = [&](const TableAlteration& to, std::string_view why) {
    Transaction by = begin_bulk();
    EXPECT_EQ(error_of([&] { return by.alter_table("account", to); }, why),
              ErrorCode::invalid_argument);
    EXPECT_EQ(by.table("account").get(by, {7})->text(), "(7, \"owner 00007\", 70)");
    EXPECT_TRUE(table().upsert({7, "owner 00007", 70})) << "no writer is held up";
  };
  const ColumnDefinition id{"id", int64()};
  const ColumnDefinition owner{"owner", varchar(40)};
  const ColumnDefinition balance{"balance", int32()};
  is_refused({.columns = {id, {"owner", varchar(15)}, balance}, .renamed = {}}, "column \"owner\"");
  is_refused({.columns = {id, {"owner", varchar(15)}, balance}, .renamed = {}}, "row (1999)");
  is_refused({.columns = {id, owner, {"balance", int8()}}, .renamed = {}}, "row (13)");
  is_refused({.columns = {id, owner, balance, {"new", int8()}}, .renamed = {}}, "row (0)");
  is_refused({.columns = {id, balance}, .renamed = {}}, "index \"by_owner\"");
  is_refused({.columns = {owner, balance}, .renamed = {}}, "it is in the key");
  is_refused({.columns = {{"id", int32()}, owner, balance}, .renamed = {}}, "must stay int64");
  is_refused({.columns = {id, owner, owner}, .renamed = {}}, "owner");
  is_refused({.columns = {}, .renamed = {}}, "it is in the key");
  is_refused({.columns = {id, owner, balance}, .renamed = {{"none", "owner"}}}, "none");
  is_refused({.columns = {id, owner, balance}, .renamed = {{"owner", "none"}}}, "none");
  is_refused({.columns = {id, owner, balance}, .renamed = {{"owner", "owner"}, {"owner", "id"}}},
             "twice");
  is_refused({.columns = {id, {"owner", bytes(0)}, balance}, .renamed = {}}, "account");
  Transaction by = begin_bulk();
  EXPECT_EQ(by.drop_column("none", "id").kind(), OutcomeKind::absent);
  EXPECT_EQ(by.add_column("none", id).kind(), OutcomeKind::absent);
  EXPECT_EQ(by.rename_column("none", "a", "b").kind(), OutcomeKind::absent);
  EXPECT_EQ(error_of([&] { return by.drop_column("account", "none"); }, "no such column"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { return by.rename_column("account", "none", "x"); }, "no such column"),
            ErrorCode::invalid_argument);
  by.rollback();
  Transaction plain = database_.begin();
  EXPECT_EQ(error_of([&] { return plain.drop_column("account", "balance"); }, "bulk transaction"),
            ErrorCode::invalid_argument);
  plain.rollback();
  EXPECT_EQ(text_of(1998), "(1998, \"owner 01998\", 19980)");
  EXPECT_EQ(count_by_owner(), 2000U);
}

TEST_F(AlterTableTest, WhatAFunctionDoesWrongIsTold) {
  fill(1500);
  const TableAlteration same{.columns = accounts().columns, .renamed = {}};
  Transaction by = begin_bulk();
  EXPECT_THROW(static_cast<void>(by.alter_table("account", same,
                                                [&](const RowView& before, std::span<Value>) {
                                                  if (before["id"].as_integer() == 1234) {
                                                    throw std::runtime_error("enough");
                                                  }
                                                })),
               std::runtime_error);
  EXPECT_EQ(error_of(
                [&] {
                  return by.alter_table("account", same,
                                        [](const RowView&, std::span<Value> row) { row[0] = 3; });
                },
                "altering it cannot change the key of a row, in row (0)"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of(
                [&] {
                  return by.alter_table("account", same, [](const RowView&, std::span<Value> row) {
                    row[2] = "a text";
                  });
                },
                "column \"balance\""),
            ErrorCode::invalid_argument);
  EXPECT_EQ(by.table("account").get(by, {7})->text(), "(7, \"owner 00007\", 70)");
  by.commit();
  EXPECT_EQ(text_of(1234), "(1234, \"owner 01234\", 12340)");
}

TEST_F(AlterTableTest, RowsThatBecomeEqualInAUniqueIndexAreTold) {
  fill(100);
  database_.run([](Transaction& by) {
    by.create_index("account", {.name = "unique", .columns = {"balance"}, .unique = true})
        .require();
  });
  Transaction by = begin_bulk();
  const Outcome outcome = by.alter_table("account", {.columns = accounts().columns, .renamed = {}},
                                         [](const RowView&, std::span<Value> row) {
                                           row[2] =
                                               std::max<std::int64_t>(row[2].as_integer(), 500);
                                         });
  EXPECT_EQ(outcome.kind(), OutcomeKind::exists);
  EXPECT_EQ(outcome.place().index, "unique");
  EXPECT_THAT(outcome.place().key, ::testing::HasSubstr("500"));
  by.commit();
  EXPECT_EQ(text_of(7), "(7, \"owner 00007\", 70)");
  EXPECT_TRUE(table().insert({100, "another", 1}));
}

TEST_F(AlterTableTest, ABulkMayDoMoreWithTheTable) {
  fill(1000);
  {
    Transaction by = begin_bulk();
    by.add_column("account", {"a", nullable(int32())}, 1).require();
    const Table inside = by.table("account");
    inside.update(by, {5}, {{"a", 55}}).require();
    inside.erase(by, {6}).require();
    for (int id = 1000; id < 1500; ++id) {
      inside.insert(by, {id, "appended", 1, 2}).require();
    }
    by.add_column("account", {"b", nullable(int32())}, 2).require();
    by.create_index("account", {.name = "by_a", .columns = {"a"}}).require();
    inside.insert(by, {1500, "appended", 1, 2, 3}).require();
    by.commit();
  }
  EXPECT_EQ(text_of(5), "(5, \"owner 00005\", 50, 55, 2)");
  EXPECT_EQ(text_of(6), "");
  EXPECT_EQ(text_of(1499), "(1499, \"appended\", 1, 2, 2)");
  EXPECT_EQ(text_of(1500), "(1500, \"appended\", 1, 2, 3)");
  EXPECT_EQ(count_in("account", "by_a", 55), 1U);
  EXPECT_EQ(count_by_owner(), 1500U);
  Transaction by = begin_bulk();
  table().erase(by, {7}).require();
  EXPECT_EQ(error_of([&] { return by.drop_column("account", "b"); }, "before rows"),
            ErrorCode::invalid_argument);
  by.create_table({.name = "made", .columns = {{"k", int32()}}, .key = {"k"}}).require();
  by.table("made").insert(by, {1}).require();
  by.add_column("made", {"v", nullable(int32())}, 9).require();
  by.commit();
  EXPECT_EQ(database_.table("made").get({1})->text(), "(1, 9)");
  EXPECT_EQ(text_of(7), "");
}

TEST_F(AlterTableTest, ARolledBackOneLeavesNothing) {
  fill(1000);
  for (int round = 0; round < 3; ++round) {
    Transaction by = begin_bulk();
    by.add_column("account", {"a", nullable(int32())}, 1).require();
    by.table("account").insert(by, {1000, "x", 1, 2}).require();
    by.rollback();
    EXPECT_THAT(names_of(table()), ::testing::ElementsAre("id", "owner", "balance"));
    EXPECT_EQ(text_of(1000), "");
  }
  reopen();
  EXPECT_EQ(text_of(999), "(999, \"owner 00999\", 9990)");
  EXPECT_EQ(count_by_owner(), 1000U);
}

// It would wait for itself.
TEST_F(AlterTableTest, AFunctionDoesNotUseItsTransaction) {
  fill(10);
  Transaction by = begin_bulk();
  const Table table = by.table("account");
  const TableAlteration same{.columns = accounts().columns, .renamed = {}};
  std::size_t rows = 0;
  EXPECT_TRUE(by.alter_table("account", same, [&](const RowView&, std::span<Value> row) {
    const auto is_refused = [&](const auto& call) {
      EXPECT_EQ(error_of(call, "must not use the transaction"), ErrorCode::invalid_argument);
    };
    is_refused([&] { return table.get(by, {1}); });
    is_refused([&] { return table.insert(by, {100, "x", 1}); });
    is_refused([&] { return by.add_column("account", {"x", nullable(int8())}); });
    is_refused([&] { return by.table("account"); });
    is_refused([&] { return by.commit(), 0; });
    is_refused([&] { return by.rollback(), 0; });
    row[2] = this->table().get({row[0]})->view()["balance"].as_integer() + 1;
    ++rows;
  }));
  EXPECT_EQ(rows, 10U);
  by.commit();
  EXPECT_EQ(text_of(7), "(7, \"owner 00007\", 71)");
}

TEST_F(AlterTableTest, OtherDefinitionsGoOn) {
  fill(100);
  Transaction old = database_.begin();
  EXPECT_TRUE(table().get(old, {7}));
  EXPECT_TRUE(altered([](Transaction& by) { return by.add_column("account", {"a", int8()}, 3); }));
  database_.run([](Transaction& by) {
    by.create_index("account", {.name = "by_a", .columns = {"a"}}).require();
    by.drop_index("account", "by_owner").require();
  });
  EXPECT_EQ(count_in("account", "by_a", 3), 100U);
  EXPECT_TRUE(altered([](Transaction& by) { return by.drop_column("account", "owner"); }));
  EXPECT_EQ(text_of(7), "(7, 70, 3)");
  EXPECT_EQ(table().get(old, {7})->text(), "(7, \"owner 00007\", 70)");
  old.rollback();
  database_.run([](Transaction& by) { by.drop_table("account").require(); });
  reopen();
  EXPECT_FALSE(database_.find_table("account"));
}

TEST_F(AlterTableTest, SortedRowsOfOtherColumnsAreRefused) {
  RowEncoder encode(table());
  RowSort sort(table());
  sort.add(encode({1, "Ada", 5}));
  sort.finish();
  EXPECT_TRUE(altered([](Transaction& by) {
    return by.alter_table(
        "account",
        {.columns = {{"id", int64()}, {"owner", varchar(40)}, {"other", int32()}}, .renamed = {}});
  }));
  ASSERT_TRUE(sort.next());
  EXPECT_EQ(error_of([&] { return table().insert(sort.row()); }, "other columns"),
            ErrorCode::invalid_argument);
  RowSort later(table());
  EXPECT_EQ(error_of([&] { return later.add(encode({1, "Ada", 5})), 0; },
                     "a sort takes only rows of its table"),
            ErrorCode::invalid_argument);
}

// Within a leaf and beyond, below and above the memory for retained rows.
TEST_F(AlterTableTest, RowsOfAnyLength) {
  database_.create_table(
      {.name = "text", .columns = {{"k", int32()}, {"v", varchar(6U << 20U)}}, .key = {"k"}});
  std::vector<std::size_t> lengths{0, 10, 900, 1500, 4000, 70'000, std::size_t{5} << 20U, 3, 2000};
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    const std::string value(lengths[k], static_cast<char>('a' + k));
    database_.table("text").insert({static_cast<int>(k), value}).require();
  }
  EXPECT_TRUE(altered([](Transaction& by) {
    return by.alter_table(
        "text", {.columns = {{"w", varchar(6U << 20U)}, {"k", int32()}}, .renamed = {{"v", "w"}}});
  }));
  reopen();
  std::size_t k = 0;
  for (Cursor cursor = database_.table("text").cursor(); cursor.valid(); cursor.next(), ++k) {
    ASSERT_EQ(cursor.row()["w"].as_bytes(), std::string(lengths[k], static_cast<char>('a' + k)));
  }
  EXPECT_EQ(k, lengths.size());
}

TEST_F(AlterTableTest, WhatWasMadeForOtherColumnsIsRefused) {
  fill(10);
  const Table table = this->table();
  const Column<std::int32_t> balance = table.column<std::int32_t>("balance");
  const TableOf<Account> structs(
      table, {{"id", &Account::id}, {"owner", &Account::owner}, {"balance", &Account::balance}});
  RowEncoder encode(table);
  const Row row = *table.get({7});
  EXPECT_EQ(row.get(balance), 70);
  altered([](Transaction& by) {
    return by.alter_table("account",
                          {.columns = {{"id", int64()},
                                       {"other", int32()},
                                       {"owner", varchar(40)},
                                       {"balance", int32()}},
                           .renamed = {}},
                          [](const RowView&, std::span<Value> all) { all[1] = 1; });
  }).require();
  const auto is_refused = [](const auto& call, std::string_view why) {
    EXPECT_EQ(error_of(call, why), ErrorCode::invalid_argument);
  };
  EXPECT_EQ(row.get(balance), 70) << "a copy keeps its columns";
  EXPECT_EQ(structs.of(row).balance, 70);
  is_refused([&] { return table.get({7})->get(balance); }, "before its columns were altered");
  is_refused([&] { return table.modify({7}, [&](RowEditor& to) { to.set(balance, 1); }); },
             "account");
  is_refused([&] { return structs.get({7}); }, "other columns");
  is_refused([&] { return structs.insert({.id = 70, .owner = "x", .balance = 1}); },
             "other columns");
  is_refused([&] { return structs.upsert({.id = 7, .owner = "x", .balance = 1}); },
             "other columns");
  is_refused([&] { return structs.update({.id = 7, .owner = "x", .balance = 1}); },
             "other columns");
  is_refused([&] { return structs.modify({7}, [](Account& account) { account.balance = 1; }); },
             "other columns");
  is_refused(
      [&] {
        return structs.insert_many(std::vector<Account>{{.id = 70, .owner = "x", .balance = 1}});
      },
      "other columns");
  is_refused([&] { return table.insert(encode({70, "x", 1})); }, "other columns");
  EXPECT_EQ(text_of(7), "(7, 1, \"owner 00007\", 70)");
  EXPECT_EQ(table.get({7})->get(table.column<std::int32_t>("balance")), 70);
}

}  // namespace
}  // namespace palimpsest
