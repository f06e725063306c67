// Two transactions that want the same key, or the same values of a unique index; and statements
// that fail and leave nothing behind.
#include <gmock/gmock.h>

#include <string>

#include "tests/isolation/schedule.h"

namespace palimpsest::test {
namespace {

using ::testing::ElementsAre;

class WriteConflictsTest : public Schedule {
 protected:
  /// The outcome of a write over a change that another transaction has committed since this one
  /// began.
  [[nodiscard]] OutcomeKind too_late_or(OutcomeKind otherwise) const {
    return has_snapshots() ? conflict : otherwise;
  }
  [[nodiscard]] std::string name_of_x() const { return x() == 1 ? "n1" : "n2"; }
};
INSTANTIATE_TEST_SUITE_P(Levels, WriteConflictsTest, ::testing::ValuesIn(all_settings()),
                         [](const auto& each) { return name_of(each.param); });

// The same key

TEST_P(WriteConflictsTest, SecondInsertOfAKeyWaitsForTheFirst) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.insert(3, "one", 30), done);
  EXPECT_EQ(two.insert(3, "two", 31), conflict);
  one.commit();
  EXPECT_EQ(two.insert(3, "two", 31), too_late_or(exists));
  two.rollback();
  EXPECT_EQ(nobody().insert(3, "two", 31), exists);
  EXPECT_EQ(nobody().all().back(), (Item{3, "one", 30}));
}

TEST_P(WriteConflictsTest, SecondInsertOfAKeyIsDoneIfTheFirstIsRolledBack) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.insert(3, "one", 30), done);
  EXPECT_EQ(two.insert(3, "two", 31), conflict);
  one.rollback();
  EXPECT_EQ(two.insert(3, "two", 31), done);
  two.commit();
  EXPECT_EQ(nobody().all().back(), (Item{3, "two", 31}));
}

TEST_P(WriteConflictsTest, InsertOverARowErasedSince) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.erase(x()), done);
  EXPECT_EQ(two.insert(x(), "two", 31), conflict);
  one.commit();
  EXPECT_EQ(two.value(x()).has_value(), has_snapshots());
  EXPECT_EQ(two.insert(x(), "two", 31), too_late_or(done));
  has_snapshots() ? two.rollback() : two.commit();
  EXPECT_EQ(nobody().value(x()).has_value(), !has_snapshots());
}

TEST_P(WriteConflictsTest, ErasedAndInsertedAgainByOtherTransactions) {
  Actor old = begin();
  EXPECT_EQ(old.value(x()), x_before());
  Actor eraser = begin();
  ASSERT_EQ(eraser.erase(x()), done);
  eraser.commit();
  Actor inserter = begin();
  ASSERT_EQ(inserter.insert(x(), "again", 99), done);
  inserter.commit();
  EXPECT_EQ(old.value(x()), has_snapshots() ? x_before() : 99);
  EXPECT_EQ(old.id_of_name("again").has_value(), !has_snapshots());
  EXPECT_EQ(old.id_of_name(name_of_x()).has_value(), has_snapshots());
  EXPECT_EQ(old.all().size(), 2U);
  EXPECT_EQ(old.put(x(), 98), too_late_or(done));
  EXPECT_EQ(old.erase(x()), too_late_or(done));
  EXPECT_NE(old.insert(4, "again", 40), has_snapshots() ? done : exists);
  old.rollback();
  EXPECT_EQ(nobody().value(x()), 99);
}

TEST_P(WriteConflictsTest, InsertedAndErasedAgainByOtherTransactions) {
  Actor old = begin();
  ASSERT_EQ(nobody().insert(3, "n3", 30), done);
  ASSERT_EQ(nobody().erase(3), done);
  EXPECT_FALSE(old.value(3).has_value());
  EXPECT_EQ(old.put(3, 31), too_late_or(absent));
  EXPECT_EQ(old.erase(3), too_late_or(absent));
  EXPECT_EQ(old.insert(3, "old", 32), too_late_or(done));
  old.rollback();
  EXPECT_EQ(nobody().all().size(), 2U);
}

TEST_P(WriteConflictsTest, ChangeOfARowThatIsNotYetThere) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.insert(3, "n3", 30), done);
  EXPECT_EQ(two.put(3, 31), conflict);
  EXPECT_EQ(two.erase(3), conflict);
  one.rollback();
  EXPECT_EQ(two.put(3, 31), absent);
  EXPECT_EQ(two.erase(3), absent);
}

TEST_P(WriteConflictsTest, RolledBackChangesDoNotConflict) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.put(x(), 11), done);
  ASSERT_EQ(one.erase(y()), done);
  ASSERT_EQ(one.insert(y(), "other", 12), done);
  one.rollback();
  EXPECT_THAT(two.all(), ElementsAre(Item{1, "n1", 10}, Item{2, "n2", 20}));
  EXPECT_EQ(two.put(x(), 13), done);
  EXPECT_EQ(two.erase(y()), done);
  two.commit();
  EXPECT_EQ(nobody().value(x()), 13);
}

TEST_P(WriteConflictsTest, TheLaterOfTwoGenerationsDoesNotConflict) {
  ASSERT_EQ(nobody().put(x(), 11), done);
  Actor one = begin();
  EXPECT_EQ(one.put(x(), 12), done);
  one.commit();
  Actor two = begin();
  EXPECT_EQ(two.put(x(), 13), done);
  two.commit();
  EXPECT_EQ(nobody().value(x()), 13);
}

// The same values in a unique index

TEST_P(WriteConflictsTest, SameNameUncommitted) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.insert(3, "same", 30), done);
  EXPECT_EQ(two.insert(4, "same", 40), conflict);
  EXPECT_EQ(two.rename(y(), "same"), conflict);
  one.rollback();
  EXPECT_EQ(two.insert(4, "same", 40), done);
  two.commit();
  EXPECT_EQ(nobody().id_of_name("same"), 4);
}

TEST_P(WriteConflictsTest, SameNameCommittedSince) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.insert(3, "same", 30), done);
  one.commit();
  EXPECT_EQ(two.insert(4, "same", 40), too_late_or(exists));
  EXPECT_EQ(two.rename(y(), "same"), too_late_or(exists));
  EXPECT_FALSE(two.value(4).has_value());
  two.commit();
  EXPECT_EQ(nobody().id_of_name("same"), 3);
  EXPECT_EQ(nobody().all().size(), 3U);
}

TEST_P(WriteConflictsTest, NameGivenUpUncommitted) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.rename(x(), "other"), done);
  EXPECT_EQ(two.insert(4, name_of_x(), 40), conflict);
  one.rollback();
  EXPECT_EQ(two.insert(4, name_of_x(), 40), exists);
  EXPECT_EQ(two.id_of_name(name_of_x()), x());
}

TEST_P(WriteConflictsTest, NameGivenUpSince) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.rename(x(), "other"), done);
  one.commit();
  EXPECT_EQ(two.id_of_name(name_of_x()).has_value(), has_snapshots());
  EXPECT_EQ(two.insert(4, name_of_x(), 40), too_late_or(done));
  has_snapshots() ? two.rollback() : two.commit();
  EXPECT_EQ(nobody().id_of_name(name_of_x()).has_value(), !has_snapshots());
}

TEST_P(WriteConflictsTest, NamesExchanged) {
  Actor old = begin();
  EXPECT_EQ(old.id_of_name("n1"), 1);
  Actor one = begin();
  ASSERT_EQ(one.rename(1, "spare"), done);
  ASSERT_EQ(one.rename(2, "n1"), done);
  ASSERT_EQ(one.rename(1, "n2"), done);
  EXPECT_EQ(one.id_of_name("n1"), 2);
  EXPECT_EQ(old.id_of_name("n1"), is(Isolation::none) ? 2 : 1);
  one.commit();
  EXPECT_EQ(old.id_of_name("n1"), has_snapshots() ? 1 : 2);
  EXPECT_EQ(old.id_of_name("n2"), has_snapshots() ? 2 : 1);
  EXPECT_EQ(old.all().size(), 2U);
  EXPECT_EQ(nobody().id_of_name("n1"), 2);
}

// Statements that fail

TEST_P(WriteConflictsTest, FailedUpdateLeavesNoTrace) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.insert(3, "n3", 30), done);
  const OutcomeKind renamed =
      one.update(x(), {{"value", 77}, {"note", "changed"}, {"name", x() == 1 ? "n2" : "n1"}});
  EXPECT_EQ(renamed, exists);
  EXPECT_EQ(one.value(x()), x_before());
  EXPECT_EQ(one.all().size(), 3U);
  EXPECT_EQ(two.value(x()), x_before());
  EXPECT_EQ(two.note(x()), "");
  EXPECT_EQ(two.id_of_name(name_of_x()), x());
  one.commit();
  EXPECT_EQ(two.put(x(), 11), done) << "no transaction has changed it";
  two.commit();
  EXPECT_EQ(nobody().value(x()), 11);
  EXPECT_EQ(nobody().value(3), 30);
}

TEST_P(WriteConflictsTest, FailedInsertLeavesNoTrace) {
  auto [one, two] = begin_two();
  EXPECT_EQ(one.insert(3, name_of_x(), 30), exists);
  EXPECT_FALSE(one.value(3).has_value());
  EXPECT_FALSE(two.value(3).has_value());
  EXPECT_EQ(one.all().size(), 2U);
  EXPECT_EQ(two.all().size(), 2U);
  one.commit();
  EXPECT_EQ(two.insert(3, "two", 31), done) << "no transaction has inserted it";
  two.commit();
  EXPECT_EQ(nobody().all().back(), (Item{3, "two", 31}));
}

TEST_P(WriteConflictsTest, FailedChangeOfAnOwnRowKeepsTheOneBefore) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.update(x(), {{"value", 11}, {"note", "first"}}), done);
  EXPECT_EQ(one.update(x(), {{"value", 12}, {"name", x() == 1 ? "n2" : "n1"}}), exists);
  EXPECT_EQ(one.value(x()), 11);
  EXPECT_EQ(one.note(x()), "first");
  EXPECT_EQ(two.value(x()), is(Isolation::none) ? 11 : x_before());
  EXPECT_EQ(two.put(x(), 13), conflict) << "the change before stands";
  one.commit();
  EXPECT_EQ(two.value(x()), has_snapshots() ? x_before() : 11);
  EXPECT_EQ(two.put(x(), 13), too_late_or(done));
}

}  // namespace
}  // namespace palimpsest::test
