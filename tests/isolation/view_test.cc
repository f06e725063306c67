// Visibility of concurrent changes: for cursors that were opened before, for an index whose columns
// change, of large values that are replaced, of indexes that are new; and of a transaction's own
// changes.
#include <gmock/gmock.h>

#include <string>

#include "tests/isolation/schedule.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"

namespace palimpsest::test {
namespace {

constexpr std::size_t kLargeBytes = 6000;  // beyond a page

class ViewTest : public Schedule {
 protected:
  ViewTest() {
    for (std::int64_t id = 3; id <= 8; ++id) {
      const std::string name = "n" + std::to_string(id);
      items_.table().insert({id, name, 10 * id, "", 0}).require();
    }
  }
  /// While a cursor stands on the first row, changes, erases and inserts rows behind it.
  void change_behind() {
    Actor writer = begin_first();
    ASSERT_EQ(writer.put(5, 55), done);
    ASSERT_EQ(writer.erase(6), done);
    ASSERT_EQ(writer.insert(9, "n9", 90), done);
    writer.commit();
  }
  /// Whether changes of the first one are visible at once.
  [[nodiscard]] bool is_seen_at_once() const {
    return is(Isolation::none) && GetParam().bulk != Bulk::first;
  }
  /// While `old` sees a value that a bulk has replaced, no writer may change the row.
  void expect_kept_for(Actor& old) {
    EXPECT_EQ(nobody().erase(x()), conflict) << "no other snapshot could keep the large value";
    Actor next = begin_first();
    EXPECT_EQ(error_of([&] { return next.set_note(x(), "next"); }), ErrorCode::gate_timeout);
    next.rollback();
    EXPECT_EQ(old.note(x()), std::string(kLargeBytes, 'a'));
    old.commit();
    EXPECT_EQ(begin_first().set_note(x(), "next"), done);
  }
  [[nodiscard]] static Items before() {
    return {{1, "n1", 10}, {2, "n2", 20}, {3, "n3", 30}, {4, "n4", 40},
            {5, "n5", 50}, {6, "n6", 60}, {7, "n7", 70}, {8, "n8", 80}};
  }
  [[nodiscard]] static Items after() {
    return {{1, "n1", 10}, {2, "n2", 20}, {3, "n3", 30}, {4, "n4", 40},
            {5, "n5", 55}, {7, "n7", 70}, {8, "n8", 80}, {9, "n9", 90}};
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, ViewTest, ::testing::ValuesIn(all_settings_and_bulks()),
                         [](const auto& each) { return name_of(each.param); });

// Cursors

TEST_P(ViewTest, CursorStaysAtItsState) {
  Actor reader = begin();
  Cursor rows = reader.cursor(Range::up_to({99}));
  ASSERT_EQ(rows.row()["id"].as_integer(), 1);
  change_behind();
  EXPECT_EQ(rest_of(rows), is(Isolation::none) ? after() : before());
  rows.seek_last();
  EXPECT_EQ(rows.row()["id"].as_integer(), is(Isolation::none) ? 9 : 8);
  Cursor later = reader.cursor(Range::up_to({99}));
  EXPECT_EQ(rest_of(later), has_snapshots() ? before() : after());
}

TEST_P(ViewTest, CursorOverAnIndexStaysAtItsState) {
  Actor reader = begin();
  Cursor rows = reader.cursor_by_value(Range::up_to({99}));
  ASSERT_EQ(rows.row()["id"].as_integer(), 1);
  change_behind();
  ASSERT_EQ(nobody().put(8, 15), done);  // from the end of the order to its beginning
  const Items seen = rest_of(rows);
  if (!is(Isolation::none)) {
    EXPECT_EQ(seen, before());
  }
  rows.seek_first();
  Items newest = after();
  newest.erase(newest.begin() + 6);
  newest.insert(newest.begin() + 1, Item{8, "n8", 15});
  EXPECT_EQ(rest_of(rows), is(Isolation::none) ? newest : before());
  Cursor later = reader.cursor_by_value(Range::up_to({99}));
  EXPECT_EQ(rest_of(later), has_snapshots() ? before() : newest);
}

TEST_P(ViewTest, CursorWithoutATransactionStaysAtItsState) {
  Cursor rows = nobody().cursor(Range::up_to({99}));
  Cursor by_value = nobody().cursor_by_value(Range::up_to({99}));
  change_behind();
  EXPECT_EQ(rest_of(rows), is(Isolation::none) ? after() : before());
  by_value.seek_first();
  EXPECT_EQ(rest_of(by_value), is(Isolation::none) ? after() : before());
}

TEST_P(ViewTest, CursorGoesBackInItsState) {
  Actor reader = begin();
  Cursor rows = reader.cursor(Range::up_to({99}));
  rows.seek_last();
  ASSERT_EQ(rows.row()["id"].as_integer(), 8);
  change_behind();
  ASSERT_EQ(nobody().erase(1), done);
  Items seen;
  for (; rows.valid(); rows.previous()) {
    seen.push_back({rows.row()["id"].as_integer(), "", rows.row()["value"].as_integer()});
  }
  EXPECT_EQ(seen.size() == before().size(), !is(Isolation::none));
  EXPECT_EQ(seen.back().id, is(Isolation::none) ? 2 : 1);
}

TEST_P(ViewTest, CursorSeesNothingUncommitted) {
  auto [writer, reader] = begin_two();
  ASSERT_EQ(writer.put(5, 55), done);
  ASSERT_EQ(writer.erase(6), done);
  ASSERT_EQ(writer.insert(9, "n9", 90), done);
  EXPECT_EQ(reader.all(), is_seen_at_once() ? after() : before());
  writer.rollback();
  EXPECT_EQ(reader.all(), before());
}

TEST_P(ViewTest, OrderOfAnIndexIsThatOfWhatIsSeen) {
  auto [writer, reader] = begin_two();
  for (std::int64_t id = 1; id <= 8; ++id) {  // in reverse
    ASSERT_EQ(writer.put(id, 100 - 10 * id), done);
    const Items seen = reader.all();  // compares every order
    EXPECT_EQ(seen.size(), 8U);
    EXPECT_EQ(seen == before(), !is_seen_at_once()) << "until it has committed";
  }
  writer.commit();
  Cursor rows = reader.cursor_by_value(Range::up_to({99}));
  EXPECT_EQ(rows.row()["id"].as_integer(), has_snapshots() ? 1 : 8);
  EXPECT_EQ(reader.all() == before(), has_snapshots());
}

// Own changes

TEST_P(ViewTest, OwnChangesAreSeenInEveryWay) {
  Actor writer = begin_first();
  ASSERT_EQ(writer.put(5, 54), done);
  ASSERT_EQ(writer.put(5, 55), done);
  ASSERT_EQ(writer.erase(6), done);
  ASSERT_EQ(writer.insert(9, "n9", 90), done);
  EXPECT_EQ(writer.all(), after());
  EXPECT_EQ(writer.value(5), 55);
  EXPECT_FALSE(writer.value(6).has_value());
  EXPECT_EQ(writer.id_of_name("n9"), 9);
  EXPECT_FALSE(writer.id_of_name("n6").has_value());
  EXPECT_EQ(writer.insert(6, "n6", 61), done) << "its own erase is no conflicting_writer";
  EXPECT_EQ(writer.value(6), 61);
  EXPECT_EQ(writer.erase(6), done);
  writer.commit();
  EXPECT_EQ(nobody().all(), after());
}

TEST_P(ViewTest, OwnChangesAndThoseOfOtherTransactions) {
  Actor one = begin();
  ASSERT_EQ(one.put(1, 11), done);
  ASSERT_EQ(nobody().put(2, 21), done);
  Items seen = before();
  seen[0].value = 11;
  seen[1].value = has_snapshots() ? 20 : 21;
  EXPECT_EQ(one.all(), seen);
  one.rollback();
  EXPECT_EQ(nobody().value(1), 10);
  EXPECT_EQ(nobody().value(2), 21);
}

// Large values

TEST_P(ViewTest, LargeValuesReplacedUnderASnapshot) {
  const std::string first(kLargeBytes, 'a');
  ASSERT_EQ(nobody().set_note(x(), first), done);
  Actor old = begin();
  EXPECT_EQ(old.note(x()), first);
  for (const std::string& note : {std::string(2 * kLargeBytes, 'b'), std::string("short"),
                                  std::string(1500, 'c'), std::string(kLargeBytes, 'd')}) {
    auto [writer, reader] = begin_two();
    ASSERT_EQ(writer.set_note(x(), note), done);
    EXPECT_EQ(writer.note(x()), note);
    EXPECT_EQ(reader.note(x()) == note, is_seen_at_once());
    writer.commit();
    EXPECT_EQ(old.note(x()), has_snapshots() ? first : note);
    EXPECT_EQ(nobody().note(x()), note);
    if (GetParam().bulk == Bulk::first && has_snapshots()) {
      reader.commit();
      expect_kept_for(old);
      return;
    }
  }
  // Rows whose large values a bulk has replaced are in conflict until the engine has looked at
  // them.
  ASSERT_TRUE(eventually([&] { return nobody().erase(x()) == done; }));
  EXPECT_EQ(old.note(x()).value_or(""), has_snapshots() ? first : "");
  old.commit();
  EXPECT_FALSE(nobody().note(x()).has_value());
}

TEST_P(ViewTest, LargeValuesRolledBack) {
  const std::string first(kLargeBytes, 'a');
  ASSERT_EQ(nobody().set_note(x(), first), done);
  auto [writer, reader] = begin_two();
  ASSERT_EQ(writer.set_note(x(), std::string(2 * kLargeBytes, 'b')), done);
  ASSERT_EQ(writer.set_note(x(), "short"), done);
  ASSERT_EQ(writer.set_note(y(), first), done);
  EXPECT_EQ(reader.note(x()) == first, !is_seen_at_once());
  writer.rollback();
  EXPECT_EQ(reader.note(x()), first);
  EXPECT_EQ(reader.note(y()), "");
  EXPECT_EQ(reader.put(x(), 11), done);
  EXPECT_EQ(reader.note(x()), first);
  reader.commit();
}

// Definitions

TEST_P(ViewTest, IndexMadeSinceIsNotThere) {
  Actor old = begin();
  EXPECT_EQ(old.value(1), 10);
  items_.database().create_index("item", {.name = "by_touched", .columns = {"touched"}});
  const auto use = [&](Actor& actor) {
    return actor.transaction()
        .table("item")
        .index("by_touched")
        .cursor(actor.transaction())
        .valid();
  };
  EXPECT_EQ(error_of([&] { return use(old); }) == ErrorCode::not_found, has_snapshots());
  Actor later = begin();
  EXPECT_TRUE(use(later));
}

}  // namespace
}  // namespace palimpsest::test
