// A queue consumed at one end, by every call that finds a first or a last row: the number of leaves
// that a pop passes does not depend on the number of pops before it.
//
// Counts leaves rather than time, and so needs sync points.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/database.h"

#include "base/sync_point.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"

#ifdef PALIMPSEST_SYNC_POINTS

namespace palimpsest::test {
namespace {

/// Counts the leaves that walks of this thread have passed.
class PassedLeaves {
 public:
  [[nodiscard]] std::uint64_t since(std::uint64_t before) const noexcept { return count_ - before; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  const std::thread::id mine_ = std::this_thread::get_id();
  std::uint64_t count_ = 0;
  SyncHook hook_{"btree.walk.leaf", [this] {
                   if (std::this_thread::get_id() == mine_) {
                     ++count_;
                   }
                 }};
};

enum class End : std::uint8_t { first = 1, last };

/// Finds the row at the queue's end; nothing if it is empty.
using Find = std::optional<std::int64_t> (*)(const Table& table, const Transaction* in, int lane,
                                             End end);

struct Way {
  std::string name;
  Find find;
};

std::optional<std::int64_t> by_visit(const Table& table, const Transaction* in, int lane, End end) {
  std::optional<std::int64_t> found;
  const auto take = [&](const RowView& row) {
    found = row["id"].as_integer();
    return false;
  };
  const Direction way = end == End::first ? Direction::forward : Direction::backward;
  in != nullptr ? table.visit(*in, Range::prefix({lane}), take, way)
                : table.visit(Range::prefix({lane}), take, way);
  return found;
}

std::optional<std::int64_t> at_end(Cursor cursor, End end) {
  if (end == End::last) {
    cursor.seek_last();
  }
  return cursor.valid() ? std::optional(cursor.row()["id"].as_integer()) : std::nullopt;
}

std::optional<std::int64_t> by_cursor(const Table& table, const Transaction* in, int lane,
                                      End end) {
  const Range range = Range::prefix({lane});
  return at_end(in != nullptr ? table.cursor(*in, range, 1) : table.cursor(range, 1), end);
}

std::optional<std::int64_t> by_index(const Table& table, const Transaction* in, int lane, End end) {
  const Index index = table.index("by_due");
  const Range range = Range::prefix({lane});
  return at_end(in != nullptr ? index.cursor(*in, range) : index.cursor(range), end);
}

/// Reads the whole table, which ends where the queue does, or beyond it.
std::optional<std::int64_t> by_whole_cursor(const Table& table, const Transaction* in, int lane,
                                            End end) {
  Cursor cursor = in != nullptr ? table.cursor(*in) : table.cursor();
  end == End::first ? cursor.seek({lane}) : cursor.seek_last();
  return cursor.valid() ? std::optional(cursor.row()["id"].as_integer()) : std::nullopt;
}

constexpr int kLane = 2;

struct Case {
  Way way;
  End end;
  Isolation isolation;
  bool in_transaction;
};

std::string name_of(const Case& one) {
  const std::string level = one.isolation == Isolation::none             ? "none"
                            : one.isolation == Isolation::read_committed ? "read_committed"
                            : one.isolation == Isolation::snapshot       ? "snapshot"
                                                                         : "serializable";
  return one.way.name + (one.end == End::first ? "_first_" : "_last_") + level +
         (one.in_transaction ? "_transaction" : "_autocommit");
}

class Queue {
 public:
  Queue(const Case& one, bool is_indexed) : case_(one) {
    open();
    TableSchema schema{.name = "job",
                       .columns = {{"lane", types::int32()},
                                   {"id", types::int64()},
                                   {"due", types::int64()},
                                   {"note", types::varchar(200)}},
                       .key = {"lane", "id"}};
    database_->create_table(schema);
    if (is_indexed) {
      database_->run([](Transaction& by) {
        by.create_index("job", {.name = "by_due", .columns = {"lane", "due"}}).require();
      });
    }
    table_.emplace(database_->table("job"));
  }
  void reopen() {
    table_.reset();
    database_->close();
    open();
    table_.emplace(database_->table("job"));
  }
  [[nodiscard]] Database& database() { return *database_; }
  [[nodiscard]] Table& table() { return *table_; }

  void put(int count = 1) {
    for (int i = 0; i < count; ++i) {
      const std::int64_t id = id_of(next_++);
      table_->insert({kLane, id, id, note_}).require();
    }
  }
  void take(int count = 1) {
    for (int i = 0; i < count; ++i) {
      const std::int64_t id = id_of(front_++);
      if (!case_.in_transaction) {
        ASSERT_EQ(found(nullptr), id);
        table_->erase({kLane, id}).require();
        continue;
      }
      Transaction by = database_->begin({.isolation = case_.isolation});
      ASSERT_EQ(found(&by), id);
      table_->erase(by, {kLane, id}).require();
      by.commit();
    }
  }
  /// Erases the first row of a queue by a range that begins before it.
  [[nodiscard]] std::uint64_t erase_front() {
    const ErasedRange erased = table_->erase_range(Range::up_to({kLane, front_++}));
    erased.outcome.require();
    return erased.rows;
  }
  void erase_front_in_bulk(std::int64_t count) {
    Transaction bulk = database_->begin({.bulk = true});
    front_ += count;
    table_->erase_range(bulk, Range::up_to({kLane, front_ - 1})).outcome.require();
    bulk.commit();
  }
  /// The average number of leaves that a pop passes, over so many pops.
  [[nodiscard]] double leaves_a_pop(int pops) {
    const std::uint64_t before = passed_.count();
    for (int i = 0; i < pops && !::testing::Test::HasFatalFailure(); ++i) {
      put();
      take();
    }
    return static_cast<double>(passed_.since(before)) / pops;
  }

 private:
  void open() {
    Options options;
    options.memory_bytes = std::uint64_t{16} << 20U;
    options.max_transactions = 64;
    options.durability = Durability::asynchronous;
    options.isolation = case_.isolation;
    database_.emplace(Database::open(directory_.path(), options));
  }
  /// The further from the consumed end, the later they come.
  [[nodiscard]] std::int64_t id_of(std::int64_t number) const noexcept {
    return case_.end == End::first ? number : -number;
  }
  [[nodiscard]] std::optional<std::int64_t> found(const Transaction* in) const {
    return case_.way.find(*table_, in, kLane, case_.end);
  }

  const Case case_;
  const std::string note_ = std::string(200, 'n');
  TemporaryDirectory directory_;
  std::optional<Database> database_;
  std::optional<Table> table_;
  std::int64_t next_ = 1;
  std::int64_t front_ = 1;
  PassedLeaves passed_;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Way& way : {Way{"visit", by_visit}, Way{"cursor", by_cursor},
                         Way{"whole_cursor", by_whole_cursor}, Way{"index", by_index}}) {
    for (const End end : {End::first, End::last}) {
      for (const Isolation level : {Isolation::none, Isolation::read_committed, Isolation::snapshot,
                                    Isolation::serializable}) {
        for (const bool in_transaction : {false, true}) {
          all.push_back({way, end, level, in_transaction});
        }
      }
    }
  }
  return all;
}

/// In each fifth of a test; more of them with PALIMPSEST_TEST_SECONDS.
int pops() {
  return static_cast<int>(repeats(600) * std::max(0.25, test_seconds(1)));
}

/// The random variation in leaves: some dead ones are there at any time.
constexpr double kOfChance = 1.5;
/// So many writes clear a run of dead leaves, each removing an eighth of the rest.
constexpr int kWritesToClear = 30;

class QueueWalksTest : public ::testing::TestWithParam<Case> {};

TEST_P(QueueWalksTest, APopPassesAsManyLeavesAsTheFirst) {
  const Case& one = GetParam();
  Queue queue(one, one.way.find == by_index);
  queue.put(100);
  static_cast<void>(queue.leaves_a_pop(pops()));
  const double first = queue.leaves_a_pop(pops());
  static_cast<void>(queue.leaves_a_pop(2 * pops()));
  const double last = queue.leaves_a_pop(pops());
  EXPECT_LE(last, 1.2 * first + kOfChance)
      << first << " leaves a pop at first, " << last << " at last";
  EXPECT_LE(last, 6) << first << " leaves a pop at first";
}

// After reopening, the ghosts of an old reader are on the pages, but no cache in memory lists them.
TEST_P(QueueWalksTest, GhostsFromBeforeTheOpeningGo) {
  const Case& one = GetParam();
  if (one.in_transaction != (one.isolation == Isolation::snapshot)) {
    return;  // one direction suffices: the pages are the same
  }
  Queue queue(one, one.way.find == by_index);
  const int before = std::max(1000, 2 * pops());
  queue.put(before + 100);
  {
    Transaction reader =
        queue.database().begin({.isolation = Isolation::snapshot, .read_only = true});
    ASSERT_TRUE(queue.table().get(reader, {kLane, one.end == End::first ? 1 : -1}));
    queue.take(before);
  }
  queue.reopen();
  static_cast<void>(queue.leaves_a_pop(kWritesToClear));
  EXPECT_LE(queue.leaves_a_pop(50), 6);
}

INSTANTIATE_TEST_SUITE_P(Every, QueueWalksTest, ::testing::ValuesIn(cases()),
                         [](const auto& one) { return name_of(one.param); });

Case snapshot_case(Find find, End end = End::first) {
  return {{"", find}, end, Isolation::snapshot, false};
}

// Erases the rows at the front by a range that begins where the table does.
TEST(QueueWalks, ARangeThatIsErasedAtTheFrontPassesAsManyLeavesAsTheFirst) {
  Queue queue(snapshot_case(by_cursor), false);
  queue.put(100);
  PassedLeaves passed;
  const auto leaves_a_pop = [&](int count) {
    const std::uint64_t before = passed.count();
    for (int i = 0; i < count; ++i) {
      queue.put();
      EXPECT_EQ(queue.erase_front(), 1U);
    }
    return static_cast<double>(passed.since(before)) / count;
  };
  static_cast<void>(leaves_a_pop(pops()));
  const double first = leaves_a_pop(pops());
  static_cast<void>(leaves_a_pop(2 * pops()));
  EXPECT_LE(leaves_a_pop(pops()), 1.2 * first + kOfChance);
}

// A range does not pass leaves beyond its end: an empty queue lies beside one whose front an old
// reader retains.
TEST(QueueWalks, AnEmptyRangePassesNothingBeyondIt) {
  for (const Find find : {by_visit, by_cursor}) {
    for (const End end : {End::first, End::last}) {
      Queue queue(snapshot_case(find, end), false);
      queue.put(1000);
      const Transaction reader = queue.database().begin({.read_only = true});
      ASSERT_TRUE(queue.table().get(reader, {kLane, end == End::first ? 1 : -1}));
      queue.take(900);
      const int beside = end == End::first ? kLane - 1 : kLane + 1;
      const PassedLeaves passed;
      EXPECT_EQ(find(queue.table(), nullptr, beside, end), std::nullopt);
      EXPECT_LE(passed.count(), 4U);
    }
  }
}

// A bulk leaves them as they are, and no later write goes there.
TEST(QueueWalks, LeavesThatABulkHasEmptiedGo) {
  for (const Find find : {by_visit, by_cursor}) {
    Queue queue(snapshot_case(find), false);
    queue.put(2000);
    queue.erase_front_in_bulk(1800);
    static_cast<void>(queue.leaves_a_pop(2 * kWritesToClear));
    EXPECT_LE(queue.leaves_a_pop(50), 6);
  }
}

// A reader that has read both ends retains their rows; walks skip them once they have met them
// often.
TEST(QueueWalks, WhatAnOldReaderKeepsIsPassedOverFromEitherEnd) {
  for (const Find find : {by_visit, by_cursor}) {
    for (const End end : {End::first, End::last}) {
      Queue queue(snapshot_case(find, end), false);
      queue.put(400);
      const Transaction reader = queue.database().begin({.read_only = true});
      ASSERT_TRUE(queue.table().get(reader, {kLane, end == End::first ? 1 : -1}));
      queue.take(300);
      static_cast<void>(queue.leaves_a_pop(repeats(8000)));
      EXPECT_LE(queue.leaves_a_pop(100), 12) << "of some 25 that are held back";
    }
  }
}

}  // namespace
}  // namespace palimpsest::test

#endif  // PALIMPSEST_SYNC_POINTS
