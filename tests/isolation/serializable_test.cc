// What counts as read by a serializable transaction, call by call: one transaction reads in some
// way, another one changes something and commits, and the first one changes something else. It
// commits exactly if what it has read has not changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "tests/isolation/items.h"
#include "tests/support/error_of.h"
#include "tests/support/thread_group.h"

namespace palimpsest::test {
namespace {

using Read = std::function<void(SerializableItems&, Transaction&)>;
using Change = std::function<void(SerializableItems&, Transaction&)>;

constexpr std::int64_t kItems = 40;
constexpr std::int64_t kOwn =
    1000;  ///< the row that the reader changes itself, which it does not read

/// Changes that may affect a read.
enum class What : std::uint8_t {
  row_5 = 0,     ///< its note
  value_5,       ///< of row 5: 50 becomes 55
  value_5_away,  ///< of row 5: 50 becomes 999
  row_5_erased,
  row_5_and_back,  ///< erased, and inserted again unchanged
  new_6,           ///< that did not exist
  new_6_gone,      ///< inserted, and erased by another one
  row_9,
  row_5_renamed,
  nothing,
  new_last,  ///< behind all rows, in each order
};
constexpr std::size_t kChanges = 11;

void change(What what, SerializableItems& items, Transaction& in) {
  const Table& table = *items.table;
  switch (what) {
    case What::row_5: table.update(in, {5}, {{"note", "changed"}}).require(); break;
    case What::value_5: table.update(in, {5}, {{"value", 55}}).require(); break;
    case What::value_5_away: table.update(in, {5}, {{"value", 999}}).require(); break;
    case What::row_5_erased: table.erase(in, {5}).require(); break;
    case What::row_5_and_back:
      table.erase(in, {5}).require();
      table.insert(in, {5, "n005", 50, "note"}).require();
      break;
    case What::new_6:
    case What::new_6_gone: table.insert(in, {6, "n006", 60, "new"}).require(); break;
    case What::row_9: table.update(in, {9}, {{"note", "changed"}}).require(); break;
    case What::row_5_renamed: table.update(in, {5}, {{"name", "other"}}).require(); break;
    case What::new_last: table.insert(in, {2000, "zzz", 200'000, "new"}).require(); break;
    case What::nothing: break;
  }
}

void make(SerializableItems& items, What what) {
  Transaction in = items.begin(Isolation::snapshot);
  change(what, items, in);
  in.commit();
  if (what == What::new_6_gone) {
    Transaction another = items.begin(Isolation::read_committed);
    items.table->erase(another, {6}).require();
    another.commit();
  }
}

struct Case {
  const char* name;
  Read read;
  /// Which changes affect it: for each What in turn, 'x'; '?' if either will do.
  const char* met;
};

void stop_after(std::size_t rows, Cursor cursor) {
  for (; rows > 1 && cursor.valid(); --rows) {
    cursor.next();
  }
}

template <class Outcomes>
void expect_kind(OutcomeKind kind, const Outcomes& outcome) {
  EXPECT_EQ(outcome.kind(), kind);
}

// Rows are 0, 1, ... 39 without 6; values are ten times the ids; names n000 ...
std::vector<Case> gets_and_visits() {
  return {
      {"Nothing", [](auto&, auto&) {}, "..........."},
      {"Get", [](auto& items, auto& in) { EXPECT_TRUE(items.table->get(in, {5})); }, "xxxxx...x.."},
      {"GetOfNone", [](auto& items, auto& in) { EXPECT_FALSE(items.table->get(in, {6})); },
       ".....x?...."},
      {"GetMany",
       [](auto& items, auto& in) {
         const std::array<Value, 3> ids{7, 5, 6};
         const std::array keys{Key({&ids[0], 1}), Key({&ids[1], 1}), Key({&ids[2], 1})};
         items.table->read_many(in, keys, [](std::size_t, const RowView&) {});
       },
       "xxxxxx?.x.."},
      {"VisitMany",
       [](auto& items, auto& in) {
         const std::array<Value, 2> ids{9, 6};
         const std::array keys{Key({&ids[0], 1}), Key({&ids[1], 1})};
         items.table->visit_many(in, keys, [](std::size_t, const RowView&) {});
       },
       ".....x?x..."},
      {"Visit",
       [](auto& items, auto& in) {
         items.table->visit(in, Range::between({4}, {7}), [](const RowView&) { return true; });
       },
       "xxxxxx?.x.."},
      {"VisitBackward",
       [](auto& items, auto& in) {
         items.table->visit(
             in, Range::between({4}, {7}), [](const RowView&) { return true; },
             Direction::backward);
       },
       "xxxxxx?.x.."},
      {"VisitStopped",
       [](auto& items, auto& in) {
         items.table->visit(in, Range::from({5}),
                            [](const RowView& row) { return row["id"].as_integer() != 7; });
       },
       "xxxxxx?.x.."},
      {"VisitStoppedBefore",
       [](auto& items, auto& in) {
         items.table->visit(in, Range::from({3}),
                            [](const RowView& row) { return row["id"].as_integer() != 4; });
       },
       "..........."},
      {"VisitBackwardStopped",
       [](auto& items, auto& in) {
         items.table->visit(
             in, Range::up_to({8}), [](const RowView& row) { return row["id"].as_integer() != 7; },
             Direction::backward);
       },
       "..........."},
      {"VisitThrows",
       [](auto& items, auto& in) {
         EXPECT_ANY_THROW(items.table->visit(
             in, Range::all(), [](const RowView&) -> bool { throw std::runtime_error("enough"); }));
       },
       "xxxxxx?xx.x"},
      {"VisitOfNothing",
       [](auto& items, auto& in) {
         items.table->visit(in, Range::between({6}, {6}), [](const RowView&) { return true; });
       },
       ".....x?...."},
  };
}

std::vector<Case> cursors() {
  return {
      {"CursorOfOne",
       [](auto& items, auto& in) { stop_after(1, items.table->cursor(in, Range::from({5}))); },
       "xxxxx...x.."},
      {"CursorOverAHole",
       [](auto& items, auto& in) { stop_after(2, items.table->cursor(in, Range::from({5}))); },
       "xxxxxx?.x.."},
      {"CursorBeforeAHole",
       [](auto& items, auto& in) { stop_after(2, items.table->cursor(in, Range::from({3}))); },
       "..........."},
      {"CursorToTheEnd",
       [](auto& items, auto& in) {
         stop_after(100, items.table->cursor(in, Range::between({7}, {9})));
       },
       ".......x..."},
      {"CursorFromBehind",
       [](auto& items, auto& in) {
         Cursor cursor = items.table->cursor(in, Range::up_to({7}));
         cursor.seek_last();
         cursor.previous();
       },
       "xxxxxx?.x.."},
      {"CursorFromTheVeryEnd",
       [](auto& items, auto& in) {
         Cursor cursor = items.table->cursor(in, Range::from({30}));
         cursor.seek_last();
         cursor.seek({35});
       },
       "..........x"},
      {"CursorAtTheVeryEnd",
       [](auto& items, auto& in) {
         Cursor cursor = items.table->cursor(in, Range::from({1000}));
         cursor.seek_last();
         EXPECT_EQ(cursor.row()["id"], Value(1000));
       },
       "..........x"},
      {"CursorPastTheEnd",
       [](auto& items, auto& in) {
         Cursor cursor = items.table->cursor(in, Range::from({1500}));
         cursor.seek_last();
         EXPECT_FALSE(cursor.valid());
       },
       "..........x"},
      {"CursorThatTurns",
       [](auto& items, auto& in) {
         Cursor cursor = items.table->cursor(in, Range::from({7}));
         cursor.next();
         cursor.next();
         cursor.previous();
       },
       ".......x..."},
  };
}

std::vector<Case> indexes_and_writes() {
  return {
      {"ByName", [](auto& items, auto& in) { EXPECT_TRUE(items.by_name->get(in, {"n005"})); },
       "xxxxx...x.."},
      {"ByNameOfNone",
       [](auto& items, auto& in) { EXPECT_FALSE(items.by_name->get(in, {"n006"})); },
       ".....x?...."},
      {"ByNameOfOther",
       [](auto& items, auto& in) { EXPECT_FALSE(items.by_name->get(in, {"other"})); },
       "........x.."},
      {"ByValue",
       [](auto& items, auto& in) {
         stop_after(100, items.by_value->cursor(in, Range::between({45}, {65})));
       },
       "xxxxxx?.x.."},
      {"ByValueOfNone",
       [](auto& items, auto& in) {
         stop_after(100, items.by_value->cursor(in, Range::between({51}, {59})));
       },
       ".x........."},
      {"ByValueFromTheVeryEnd",
       [](auto& items, auto& in) {
         Cursor cursor = items.by_value->cursor(in, Range::from({99'000}));
         cursor.seek_last();
         EXPECT_EQ(cursor.row()["id"], Value(1000));
       },
       "..........x"},
      {"Exists",
       [](auto& items, auto& in) {
         expect_kind(OutcomeKind::exists, items.table->insert(in, {5, "x", 1, ""}));
       },
       "xxxxx...x.."},
      {"ExistsByName",
       [](auto& items, auto& in) {
         expect_kind(OutcomeKind::exists, items.table->insert(in, {6, "n005", 1, ""}));
       },
       "...x?x?.x.."},
      {"AbsentUpdate",
       [](auto& items, auto& in) {
         expect_kind(OutcomeKind::absent, items.table->update(in, {6}, {{"note", "x"}}));
       },
       ".....x?...."},
      {"AbsentErase",
       [](auto& items, auto& in) { expect_kind(OutcomeKind::absent, items.table->erase(in, {6})); },
       ".....x?...."},
      {"EraseRange",
       [](auto& items, auto& in) {
         EXPECT_EQ(items.table->erase_range(in, Range::between({6}, {8})).rows, 2U);
       },
       ".....x?...."},
  };
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> made = gets_and_visits();
    std::ranges::copy(cursors(), std::back_inserter(made));
    std::ranges::copy(indexes_and_writes(), std::back_inserter(made));
    return made;
  }();
  return all;
}

class ReadsOfSerializable : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static const Case& of() { return cases()[GetParam()]; }
};

/// Whether the reader has committed, with its own change.
bool commits(SerializableItems& items, const Case& one, What what) {
  Transaction in = items.begin();
  one.read(items, in);
  make(items, what);
  items.table->update(in, {kOwn}, {{"note", "done"}}).require();
  std::string message;
  const auto code = error_of([&] { in.commit(); }, &message);
  EXPECT_EQ(code.value_or(ErrorCode::not_serializable), ErrorCode::not_serializable) << message;
  EXPECT_FALSE(in.is_active());
  const std::optional<Row> own = items.table->get({kOwn});
  EXPECT_TRUE(own && ((*own)["note"].as_bytes() == "done") == !code);
  if (code) {
    EXPECT_NE(message.find("table \"item\""), std::string::npos) << message;
  }
  return !code;
}

TEST_P(ReadsOfSerializable, AreMetByWhatChangesThem) {
  for (const char* const note : {"note", "long"}) {
    for (std::size_t what = 0; what < kChanges; ++what) {
      SerializableItems items;
      Transaction in = items.begin();
      const std::string text = *note == 'l' ? std::string(6000, 'l') : note;
      for (std::int64_t id = 0; id < kItems; ++id) {
        if (id != 6) {
          const std::string name = SerializableItems::name_of(id);
          items.table->insert(in, {id, name, 10 * id, text}).require();
        }
      }
      items.table->insert(in, {kOwn, "own", 100'000, ""}).require();
      in.commit();
      const bool committed = commits(items, of(), What{static_cast<std::uint8_t>(what)});
      if (of().met[what] != '?') {
        EXPECT_EQ(committed, of().met[what] == '.') << note << ", change " << what;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, ReadsOfSerializable,
                         ::testing::Range<std::size_t>(0, cases().size()),
                         [](const auto& each) { return std::string(cases()[each.param].name); });

TEST_F(Serializable, TheErrorNamesTheRow) {
  Transaction in = items_.begin();
  EXPECT_EQ(value(in, 2), 2);
  items_.table->update({2}, {{"note", "changed"}}).require();
  set(in, 1, 7);
  std::string message;
  EXPECT_EQ(error_of([&] { in.commit(); }, &message), ErrorCode::not_serializable);
  EXPECT_NE(message.find("table \"item\": the row of key (2)"), std::string::npos) << message;
  EXPECT_EQ(error_of([&] { in.commit(); }), ErrorCode::invalid_argument) << "it has ended";
}

TEST_F(Serializable, ATransactionWithoutChangesCommits) {
  Transaction in = items_.begin();
  EXPECT_EQ(value(in, 2), 2);
  items_.table->update({2}, {{"value", 3}}).require();
  EXPECT_EQ(value(in, 2), 2);
  in.commit();
}

TEST_F(Serializable, ATransactionThatReadOnlyItsOwnChangesCommits) {
  Transaction in = items_.begin();
  EXPECT_EQ(value(in, 2), 2);
  set(in, 2, 5);
  {
    // A call without a transaction would wait for this thread's own one, and be refused.
    Transaction another = items_.begin(Isolation::snapshot);
    EXPECT_EQ(items_.table->update(another, {2}, {{"value", 3}}).kind(), OutcomeKind::conflict);
  }
  items_.table->update({3}, {{"value", 3}}).require();
  in.commit();
}

// A call that was not done releases its rows; those that its caller has seen count as read.
TEST_F(Serializable, WhatACallHasShownThatWasNotDoneWasRead) {
  const std::array<Value, 2> ids{1, 77};
  const std::array keys{Key({&ids[0], 1}), Key({&ids[1], 1})};
  const auto all_calls = std::to_array<std::function<void(Transaction&)>>({
      [&](Transaction& in) {
        const Outcome outcome = items_.table->modify_many(in, keys, [](std::size_t, RowEditor&) {});
        EXPECT_EQ(outcome.kind(), OutcomeKind::absent);
      },
      [&](Transaction& in) {
        EXPECT_ANY_THROW(static_cast<void>(items_.table->modify(
            in, {1}, [](RowEditor&) { throw std::runtime_error("not this one"); })));
      },
      [&](Transaction& in) {
        const Outcome outcome = items_.table->update(in, {1}, {{"name", "n003"}});
        EXPECT_EQ(outcome.kind(), OutcomeKind::exists);
      },
      [&](Transaction& in) {
        EXPECT_EQ(
            error_of([&] { static_cast<void>(items_.table->modify(in, {3}, [](RowEditor&) {})); }),
            ErrorCode::invalid_argument);
      },
  });
  const std::string large(6000, 'l');
  items_.table->update({3}, {{"note", large}}).require();
  for (const auto& call : all_calls) {
    Transaction in = items_.begin();
    call(in);
    for (const std::int64_t id : {1, 3}) {
      items_.table->update({id}, {{"value", value_of(id) + 1}}).require();
    }
    set(in, 2, 9);
    EXPECT_EQ(error_of([&] { in.commit(); }), ErrorCode::not_serializable);
  }
}

TEST_F(Serializable, RunTriesAgain) {
  int calls = 0;
  items_.database.run(
      [&](Transaction& in) {
        const std::int64_t seen = value(in, 2);
        if (++calls == 1) {
          items_.table->update({2}, {{"value", 30}}).require();
        }
        set(in, 1, seen + 1);
      },
      {.transaction = {.isolation = Isolation::serializable}});
  EXPECT_EQ(calls, 2);
  EXPECT_EQ((*items_.table->get({1}))["value"].as_integer(), 31);
}

TEST_F(Serializable, ABulkIsInTheWayOfAll) {
  Transaction in = items_.begin();
  EXPECT_EQ(value(in, 2), 2);
  items_.database.create_table(
      {.name = "other", .columns = {{"id", types::int64()}}, .key = {"id"}});
  set(in, 1, 7);
  std::string message;
  EXPECT_EQ(error_of([&] { in.commit(); }, &message), ErrorCode::not_serializable);
  EXPECT_NE(message.find("a bulk transaction has committed"), std::string::npos) << message;

  Transaction next = items_.begin();
  EXPECT_EQ(value(next, 2), 2);
  Transaction bulk = items_.database.begin({.bulk = true});
  const Table other = bulk.table("other");
  other.insert(bulk, {1}).require();
  bulk.commit();
  set(next, 1, 7);
  EXPECT_EQ(error_of([&] { next.commit(); }), ErrorCode::not_serializable);
}

TEST_F(Serializable, IsNoBulk) {
  EXPECT_EQ(error_of([&] {
              static_cast<void>(
                  items_.database.begin({.isolation = Isolation::serializable, .bulk = true}));
            }),
            ErrorCode::invalid_argument);
  Transaction in = items_.database.begin(
      {.isolation = Isolation::serializable, .expected_changes = std::uint64_t{1} << 40U});
  EXPECT_EQ(value(in, 2), 2);
  items_.table->update({2}, {{"value", 3}}).require();
  set(in, 1, 7);
  EXPECT_EQ(error_of([&] { in.commit(); }), ErrorCode::not_serializable);
}

// A refused transaction is rolled back, and its pages are freed: for rows with pages of their own.
TEST_F(Serializable, WhatWasRefusedLeavesNothing) {
  const std::string text(15'000, 't');
  items_.table->update({1}, {{"note", text}}).require();
  for (int round = 0; round < 50; ++round) {
    Transaction in = items_.begin();
    EXPECT_EQ(value(in, 2), 2 + round);
    items_.table->update(in, {1}, {{"note", "short"}}).require();
    items_.table->insert(in, {100, "hundred", 1, text}).require();
    items_.table->update({2}, {{"value", 3 + round}}).require();
    EXPECT_EQ(error_of([&] { in.commit(); }), ErrorCode::not_serializable);
    EXPECT_EQ((*items_.table->get({1}))["note"].as_bytes(), text);
    EXPECT_FALSE(items_.table->get({100}));
  }
}

// A transaction that only found that the table does not exist has read that.
TEST_F(Serializable, ATransactionThatReadNothingIsCheckedForDefinitions) {
  Transaction in = items_.begin();
  EXPECT_FALSE(items_.database.find_table("other"));
  items_.database.create_table(
      {.name = "other", .columns = {{"id", types::int64()}}, .key = {"id"}});
  set(in, 1, 7);
  EXPECT_EQ(error_of([&] { in.commit(); }), ErrorCode::not_serializable);
}

}  // namespace
}  // namespace palimpsest::test
