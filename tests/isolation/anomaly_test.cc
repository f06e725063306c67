// The anomalies of the literature, step by step at every level: those that a level promises to
// prevent do not happen, and the rest do, as the tables in docs/guarantees.md say; for ordinary
// transactions, and for one of them and a bulk.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/isolation/schedule.h"

namespace palimpsest::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AnomalyTest : public Schedule {};
INSTANTIATE_TEST_SUITE_P(Levels, AnomalyTest, ::testing::ValuesIn(all_settings_and_bulks()),
                         [](const auto& each) { return name_of(each.param); });

// Uncommitted changes

TEST_P(AnomalyTest, DirtyWrite) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.put(x(), 11), done);
  const bool over_another = two.put(x(), 12) == done;
  EXPECT_EQ(one.put(y(), 21), done);
  EXPECT_NE(two.put(y(), 22), done);
  one.commit();
  two.rollback();
  EXPECT_EQ(nobody().value(x()), 11);
  EXPECT_EQ(nobody().value(y()), 21);
  documented(kDirtyWrite, over_another);
}

TEST_P(AnomalyTest, DirtyWriteRolledBack) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.put(x(), 11), done);
  const bool over_another = two.put(x(), 12) == done;
  one.rollback();
  EXPECT_EQ(two.put(x(), 12), done);
  two.commit();
  EXPECT_EQ(nobody().value(x()), 12);
  documented(kDirtyWrite, over_another);
}

TEST_P(AnomalyTest, AbortedRead) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.put(x(), 101), done);
  const bool happened = two.value(x()) == 101;
  one.rollback();
  EXPECT_EQ(two.value(x()), x_before());
  two.commit();
  documented(kAbortedRead, happened);
}

TEST_P(AnomalyTest, AbortedReadOfAnInsertAndOfAnErase) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.insert(3, "n3", 30), done);
  ASSERT_EQ(one.erase(x()), done);
  documented(kAbortedRead, two.value(3).has_value());
  documented(kAbortedRead, !two.value(x()).has_value());
  documented(kAbortedRead, two.id_of_name("n3").has_value());
  documented(kAbortedRead, two.all().size() == 2 && two.value(3).has_value());
  one.rollback();
  EXPECT_THAT(two.all(), ElementsAre(Item{1, "n1", 10}, Item{2, "n2", 20}));
  two.commit();
}

TEST_P(AnomalyTest, IntermediateRead) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.put(x(), 101), done);
  const bool happened = two.value(x()) == 101;
  ASSERT_EQ(one.put(x(), 11), done);
  one.commit();
  EXPECT_EQ(two.value(x()), has_snapshots() ? x_before() : 11);
  two.commit();
  documented(kIntermediateRead, happened);
}

TEST_P(AnomalyTest, CircularInformationFlow) {
  auto [one, two] = begin_two();
  ASSERT_EQ(one.put(x(), 11), done);
  ASSERT_EQ(two.put(y(), 22), is_any_bulk() ? conflict : done) << "a bulk has the whole table";
  const bool one_sees_two = one.value(y()) == 22;
  const bool two_sees_one = two.value(x()) == 11;
  one.commit();
  EXPECT_NE(two.commits(), is(Isolation::serializable));
  documented(kCircularFlow, one_sees_two && two_sees_one);
}

TEST_P(AnomalyTest, ObservedTransactionVanishes) {
  Actor one = begin();
  ASSERT_EQ(one.put(x(), 11), done);
  ASSERT_EQ(one.put(y(), 19), done);
  EXPECT_EQ(begin().put(x(), 12), conflict);
  one.commit();
  auto [two, reader] = begin_two();
  ASSERT_EQ(two.put(x(), 12), done);
  const bool sees_two = reader.value(x()) == 12;
  const bool sees_one_behind_two = reader.value(y()) == 19;
  ASSERT_EQ(two.put(y(), 18), done);
  two.commit();
  reader.commit();
  documented(kVanishingTransaction, sees_two && sees_one_behind_two);
}

TEST_P(AnomalyTest, HalfOfATransaction) {
  auto [one, reader] = begin_two();
  ASSERT_EQ(one.put(x(), 11), done);
  const Items between = reader.all();
  ASSERT_EQ(one.put(y(), 21), done);
  one.commit();
  const Items behind = reader.all();
  reader.commit();
  std::size_t changed = 0;
  for (const Item& item : between) {
    changed += item.value % 10 == 1 ? 1U : 0U;
  }
  documented(kTornRead, changed == 1);
  EXPECT_EQ(behind[0].value % 10, behind[1].value % 10);
}

// Commits of other transactions in between

TEST_P(AnomalyTest, NonRepeatableRead) {
  auto [writer, reader] = begin_two();
  EXPECT_EQ(reader.value(x()), x_before());
  ASSERT_EQ(writer.put(x(), 11), done);
  writer.commit();
  const bool happened = reader.value(x()) == 11;
  EXPECT_EQ(reader.id_of_name(x() == 1 ? "n1" : "n2"), x());
  reader.commit();
  documented(kFuzzyRead, happened);
}

TEST_P(AnomalyTest, PredicateManyPreceders) {
  auto [writer, reader] = begin_two();
  EXPECT_THAT(reader.ids_with_multiples_of(7), IsEmpty());
  ASSERT_EQ(writer.insert(3, "n3", 21), done);
  writer.commit();
  const bool happened = reader.ids_with_multiples_of(7) == std::vector<std::int64_t>{3};
  reader.commit();
  documented(kPredicateRead, happened);
}

TEST_P(AnomalyTest, PredicateManyPrecedersOfWrites) {
  auto [one, two] = begin_two();
  ASSERT_THAT(two.ids_with_multiples_of(y_before()), ::testing::Contains(y()));
  ASSERT_EQ(one.put(x(), 11), done);
  ASSERT_EQ(one.put(y(), 33), done);
  EXPECT_EQ(two.erase(y()), conflict) << "the transaction that changes it is still open";
  one.commit();
  const OutcomeKind erased = over_the_first([&] { return two.erase(y()); });
  EXPECT_EQ(erased, has_snapshots() ? conflict : done);
  erased == done ? two.commit() : two.rollback();
  documented(kPredicateWrite, !nobody().value(y()).has_value());
}

TEST_P(AnomalyTest, PhantomThatComes) {
  auto [writer, reader] = begin_two();
  EXPECT_EQ(reader.all().size(), 2U);
  ASSERT_EQ(writer.insert(3, "n15", 15), done);
  writer.commit();
  const std::size_t seen = reader.all().size();
  documented(kPhantom, seen == 3);
  documented(kPhantom, reader.id_of_name("n15").has_value());
  reader.commit();
}

TEST_P(AnomalyTest, PhantomThatGoes) {
  auto [writer, reader] = begin_two();
  EXPECT_EQ(reader.all().size(), 2U);
  ASSERT_EQ(writer.erase(x()), done);
  writer.commit();
  documented(kPhantom, reader.all().size() == 1);
  documented(kPhantom, !reader.id_of_name(x() == 1 ? "n1" : "n2").has_value());
  reader.commit();
  EXPECT_EQ(nobody().all().size(), 1U);
}

TEST_P(AnomalyTest, LostUpdate) {
  auto [one, two] = begin_two();
  const std::int64_t seen_by_one = one.value(x()).value_or(0);
  const std::int64_t seen_by_two = two.value(x()).value_or(0);
  ASSERT_EQ(one.put(x(), seen_by_one + 1), done);
  EXPECT_EQ(two.put(x(), seen_by_two + 2), conflict);
  one.commit();
  const OutcomeKind second = over_the_first([&] { return two.put(x(), seen_by_two + 2); });
  EXPECT_EQ(second, has_snapshots() ? conflict : done);
  second == done ? two.commit() : two.rollback();
  documented(kLostUpdate, nobody().value(x()) == x_before() + 2);
}

TEST_P(AnomalyTest, LostUpdateByAutocommit) {
  Actor one = begin_second();
  const std::int64_t seen = one.value(x()).value_or(0);
  ASSERT_EQ(nobody().put(x(), seen + 2), done);
  const OutcomeKind second = one.put(x(), seen + 1);
  second == done ? one.commit() : one.rollback();
  documented(kLostUpdate, nobody().value(x()) == x_before() + 1);
}

TEST_P(AnomalyTest, LostErase) {
  auto [one, two] = begin_two();
  EXPECT_EQ(two.value(x()), x_before());
  ASSERT_EQ(one.put(x(), 77), done);
  one.commit();
  const OutcomeKind erased = over_the_first([&] { return two.erase(x()); });
  erased == done ? two.commit() : two.rollback();
  documented(kLostUpdate, !nobody().value(x()).has_value());
}

// Reads that do not fit together

TEST_P(AnomalyTest, ReadSkew) {
  auto [writer, reader] = begin_two();
  EXPECT_EQ(reader.value(x()), x_before());
  ASSERT_EQ(writer.put(x(), 12), done);
  ASSERT_EQ(writer.put(y(), 18), done);
  writer.commit();
  const bool happened = reader.value(y()) == 18;
  reader.commit();
  documented(kReadSkew, happened);
}

TEST_P(AnomalyTest, ReadSkewOnPredicates) {
  auto [writer, reader] = begin_two();
  EXPECT_THAT(reader.ids_with_multiples_of(5), ElementsAre(1, 2));
  ASSERT_EQ(writer.put(x(), 12), done);
  writer.commit();
  const bool happened = reader.ids_with_multiples_of(3) == std::vector<std::int64_t>{x()};
  reader.commit();
  documented(kReadSkewPredicate, happened);
}

TEST_P(AnomalyTest, ReadSkewOnPredicatesOfWrites) {
  auto [writer, one] = begin_two();
  EXPECT_EQ(one.value(x()), x_before());
  ASSERT_EQ(writer.put(x(), 12), done);
  ASSERT_EQ(writer.put(y(), 18), done);
  writer.commit();
  // Erase all that divide by nine: the state at its beginning has none.
  const std::vector<std::int64_t> found = one.ids_with_multiples_of(9);
  bool happened = !found.empty();
  for (const std::int64_t id : found) {
    happened = over_the_first([&] { return one.erase(id); }) == done && happened;
  }
  if (has_snapshots()) {
    EXPECT_EQ(one.erase(y()), conflict);
  }
  one.rollback();
  documented(kReadSkewWrite, happened);
}

TEST_P(AnomalyTest, LongFork) {
  Actor first_reader = begin();
  auto [one, two] = begin_two();
  EXPECT_EQ(first_reader.value(x()), x_before());
  ASSERT_EQ(one.put(x(), 11), done);
  one.commit();
  Actor second_reader = begin();
  const bool one_before_two =
      second_reader.value(x()) == 11 && second_reader.value(y()) == y_before();
  const OutcomeKind second = two.put(y(), 22);
  EXPECT_EQ(second, is_too_late_for_bulk() ? conflict : done);
  second == done ? two.commit() : two.rollback();
  const bool two_before_one = first_reader.value(y()) == 22;
  EXPECT_TRUE(one_before_two);
  documented(kLongFork, one_before_two && two_before_one);
}

// What a snapshot alone does not prevent

TEST_P(AnomalyTest, WriteSkew) {
  auto [one, two] = begin_two();
  for (Actor* const actor : {&one, &two}) {
    EXPECT_EQ(actor->value(x()), x_before());
    EXPECT_EQ(actor->value(y()), y_before());
  }
  ASSERT_EQ(one.put(x(), 11), done);
  EXPECT_EQ(two.put(y(), 21), is_any_bulk() ? conflict : done);
  one.commit();
  bool both = two.put(y(), 21) == done;
  both ? void(both = two.commits()) : two.rollback();
  EXPECT_EQ(nobody().value(x()), 11);
  EXPECT_EQ(nobody().value(y()), both ? 21 : y_before());
  documented(kWriteSkew, both);
}

TEST_P(AnomalyTest, WriteSkewOnPredicates) {
  auto [one, two] = begin_two();
  EXPECT_THAT(one.ids_with_multiples_of(3), IsEmpty());
  EXPECT_THAT(two.ids_with_multiples_of(3), IsEmpty());
  ASSERT_EQ(one.insert(3, "n3", 30), done);
  const bool at_once = two.insert(4, "n4", 42) == done;
  EXPECT_NE(at_once, is_any_bulk());
  one.commit();
  bool both = at_once || two.insert(4, "n4", 42) == done;
  both ? void(both = two.commits()) : two.rollback();
  EXPECT_EQ(nobody().ids_with_multiples_of(3).size(), both ? 2U : 1U);
  documented(kWriteSkewPredicate, both);
}

// x and y are two accounts of one customer; a withdrawal that sees too little in both costs a fee.
TEST_P(AnomalyTest, ReadOnlyTransaction) {
  auto [deposit, withdrawal] = begin_two();
  const std::int64_t seen = withdrawal.value(x()).value_or(0) + withdrawal.value(y()).value_or(0);
  ASSERT_EQ(deposit.put(y(), y_before() + 50), done);
  deposit.commit();
  Actor report = begin();
  const bool report_sees_deposit = report.value(y()) == y_before() + 50;
  const bool report_sees_no_withdrawal = report.value(x()) == x_before();
  report.commit();
  bool with_fee = seen < 40 && withdrawal.put(x(), x_before() - 41) == done;
  with_fee ? void(with_fee = withdrawal.commits()) : withdrawal.rollback();
  documented(kReadOnly, report_sees_deposit && report_sees_no_withdrawal && with_fee);
}

}  // namespace
}  // namespace palimpsest::test
