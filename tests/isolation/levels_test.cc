// The statements of docs/guarantees.md about levels besides the anomalies: the table itself, mixed
// levels, calls without a transaction, reading and changing in one step, cursors that take a
// transaction.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "tests/isolation/schedule.h"
#include "tests/support/error_of.h"

namespace palimpsest::test {
namespace {

using ::testing::ElementsAre;

// The document

/// The lines of the table that begins with this one.
std::vector<std::string> table_of_document(const std::string& first) {
  std::vector<std::string> lines;
  std::ifstream document(PALIMPSEST_SOURCE_DIR "/docs/guarantees.md");
  bool is_inside = false;
  for (std::string line; std::getline(document, line);) {
    is_inside = is_inside ? line.starts_with("|") : line == first;
    if (is_inside) {
      lines.push_back(line);
    }
  }
  EXPECT_GE(lines.size(), 2U) << first;
  lines.erase(lines.begin(), lines.begin() + std::min<std::ptrdiff_t>(2, std::ssize(lines)));
  return lines;
}

TEST(IsolationTable, IsWhatTheSchedulesAssert) {
  std::vector<std::string> expected;
  for (const Anomaly* anomaly : kAnomalies) {
    std::string line = "| " + std::string(anomaly->name) + " |";
    for (std::size_t level = 0; level < kLevels.size(); ++level) {
      line += level < anomaly->possible_levels.front() ? " possible |" : " prevented |";
    }
    expected.push_back(line);
  }
  EXPECT_EQ(
      table_of_document("| anomaly | `none` | `read_committed` | `snapshot` | `serializable` |"),
      expected);
}

TEST(IsolationTable, IsWhatTheSchedulesAssertOfBulks) {
  constexpr std::array kPossible{"prevented", "possible at `none`", "prevented at `snapshot`",
                                 "possible"};
  std::vector<std::string> expected;
  for (const Anomaly* anomaly : kAnomalies) {
    std::string line = "| " + std::string(anomaly->name) + " |";
    for (const Bulk bulk : {Bulk::first, Bulk::second}) {
      line += std::string(" ") +
              kPossible.at(anomaly->possible_levels.at(static_cast<std::size_t>(bulk))) + " |";
    }
    expected.push_back(line);
  }
  EXPECT_EQ(
      table_of_document("| anomaly | the bulk writes first | the bulk writes later, or reads |"),
      expected);
}

class LevelsTest : public Schedule {
 protected:
  [[nodiscard]] OutcomeKind add(Actor& actor, std::int64_t amount) {
    const Column<std::int64_t> touched = items_.table().column<std::int64_t>("touched");
    return items_.step([&] {
      return items_.table()
          .modify(actor.transaction(), {x()},
                  [&](RowEditor& row) { row.set(touched, row.get(touched) + amount); })
          .kind();
    });
  }
  [[nodiscard]] std::int64_t touched() {
    return items_.table().get({x()}).value()["touched"].as_integer();
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, LevelsTest, ::testing::ValuesIn(all_settings()),
                         [](const auto& each) { return name_of(each.param); });

// Mixed levels

TEST_P(LevelsTest, ChangesAtNoneAreVisibleAtOnce) {
  auto [reader, conflicting_writer] = begin_two();
  EXPECT_EQ(reader.value(x()), x_before());
  Actor writer = begin(Isolation::none);
  ASSERT_EQ(writer.put(x(), 11), done);
  EXPECT_EQ(reader.value(x()), 11);
  EXPECT_EQ(conflicting_writer.put(x(), 12), conflict) << "it is still open";
  writer.rollback();
  EXPECT_EQ(reader.value(x()), x_before());
  Actor second = begin(Isolation::none);
  ASSERT_EQ(second.put(x(), 13), done);
  second.commit();
  EXPECT_EQ(reader.value(x()), 13);
  EXPECT_EQ(conflicting_writer.put(x(), 14), done) << "it has left no version that says when";
  conflicting_writer.commit();
  EXPECT_EQ(reader.value(x()), has_snapshots() ? 13 : 14);
}

TEST_P(LevelsTest, EachGetsWhatItsOwnLevelPromises) {
  Actor newest = begin(Isolation::none);
  Actor committed = begin(Isolation::read_committed);
  Actor old = begin(Isolation::snapshot);
  const bool is_versioned = !is(Isolation::none);
  Actor writer = begin();
  ASSERT_EQ(writer.put(x(), 11), done);
  EXPECT_EQ(newest.value(x()), 11);
  EXPECT_EQ(committed.value(x()), is_versioned ? x_before() : 11);
  EXPECT_EQ(old.value(x()), is_versioned ? x_before() : 11);
  writer.commit();
  EXPECT_EQ(newest.value(x()), 11);
  EXPECT_EQ(committed.value(x()), 11);
  EXPECT_EQ(old.value(x()), is_versioned ? x_before() : 11);
  EXPECT_EQ(old.put(x(), 12), is_versioned ? conflict : done);
  old.rollback();
  EXPECT_EQ(committed.put(x(), 13), done);
  EXPECT_EQ(newest.put(x(), 14), conflict);
  committed.commit();
  EXPECT_EQ(newest.put(x(), 14), done);
}

TEST_P(LevelsTest, ChangesOfNoneOverVersionsAreSeenAtOnceToo) {
  Actor old = begin();
  ASSERT_EQ(nobody().put(x(), 11), done);
  EXPECT_EQ(old.value(x()), has_snapshots() ? x_before() : 11);
  Actor writer = begin(Isolation::none);
  ASSERT_EQ(writer.put(y(), 22), done);
  writer.commit();
  EXPECT_EQ(old.value(y()), 22);
  EXPECT_EQ(old.value(x()), has_snapshots() ? x_before() : 11);
}

// Calls without a transaction

TEST_P(LevelsTest, CallsWithoutATransactionSeeCommittedRows) {
  Actor writer = begin();
  ASSERT_EQ(writer.put(x(), 11), done);
  ASSERT_EQ(writer.insert(3, "n3", 30), done);
  const bool sees_it = is(Isolation::none);
  EXPECT_EQ(nobody().value(x()), sees_it ? 11 : x_before());
  EXPECT_EQ(nobody().all().size(), sees_it ? 3U : 2U);
  EXPECT_EQ(nobody().id_of_name("n3").has_value(), sees_it);
  EXPECT_EQ(nobody().put(x(), 12), conflict);
  EXPECT_EQ(nobody().insert(3, "n4", 40), conflict);
  writer.commit();
  EXPECT_EQ(nobody().value(x()), 11);
  EXPECT_EQ(nobody().put(x(), 12), done);
  EXPECT_EQ(nobody().insert(3, "n4", 40), exists);
}

// Reading and changing in one step

TEST_P(LevelsTest, ModifyLosesNothing) {
  auto [one, two] = begin_two();
  EXPECT_EQ(two.value(x()), x_before());
  ASSERT_EQ(add(one, 1), done);
  EXPECT_EQ(add(two, 2), conflict);
  one.commit();
  const OutcomeKind second = add(two, 2);
  EXPECT_EQ(second, has_snapshots() ? conflict : done);
  second == done ? two.commit() : two.rollback();
  EXPECT_EQ(touched(), has_snapshots() ? 1 : 3);
}

TEST_P(LevelsTest, RunTriesAgainUntilNothingIsLost) {
  int attempts = 0;
  items_.database().run(
      [&](Transaction& transaction) {
        const Table& table = items_.table();
        const std::int64_t seen = table.get(transaction, {x()}).value()["value"].as_integer();
        if (++attempts == 1) {
          ASSERT_EQ(nobody().put(x(), seen + 1), done);
        }
        table.update(transaction, {x()}, {{"value", seen + 2}}).require();
      },
      {.transaction = {.isolation = level()}});
  EXPECT_EQ(attempts, has_snapshots() ? 2 : 1);
  EXPECT_EQ(nobody().value(x()), x_before() + (has_snapshots() ? 3 : 2));
}

TEST_P(LevelsTest, CursorsOfReadCommittedTakeATransactionEach) {
  Actor reader = begin();
  std::vector<Cursor> cursors;
  const auto open = [&] {
    for (int i = 0; i < 40; ++i) {
      cursors.push_back(items_.table().cursor(reader.transaction(), Range::up_to({99})));
    }
    return true;
  };
  EXPECT_EQ(error_of(open) == ErrorCode::too_many_transactions, is(Isolation::read_committed));
  for (Cursor& cursor : cursors) {
    EXPECT_THAT(rest_of(cursor), ElementsAre(Item{1, "n1", 10}, Item{2, "n2", 20}));
  }
  cursors.clear();
  EXPECT_EQ(reader.value(x()), x_before());
  EXPECT_EQ(begin().put(x(), 11), done);
}

}  // namespace
}  // namespace palimpsest::test
