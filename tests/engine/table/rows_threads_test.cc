// Threads that move rows in indexes at the same time, with conflicts, refusals and rollbacks,
// beside readers: afterwards the indexes agree with the rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "base/random.h"
#include "tests/engine/table/table_fixture.h"
#include "tests/support/seed.h"
#include "tests/support/thread_group.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::run_threads;

constexpr int kRows = 60;
constexpr int kNames = 120;
constexpr int kTransactions = 1000;
constexpr std::size_t kWriters = 4;

/// One statement on any row; returns whether its transaction may go on.
bool change_any(const RowStatements& writes, Random& random) {
  const auto id = static_cast<int>(random.below(kRows));
  const std::string name = fmt::format("n{}", random.below(kNames));
  const std::string city = fmt::format("c{}", random.below(5));
  const std::string note(random.one_in(20) ? 3000 : random.below(100), 'n');
  switch (random.below(5)) {
    case 0: return !writes.insert({id, name, city, id, note}).is_conflict();
    case 1: return !writes.erase({id}).is_conflict();
    case 2: return !writes.upsert({id, name, city, id, note}).is_conflict();
    case 3: return !writes.update({id}, {{"name", name}, {"note", note}}).is_conflict();
    default: return !writes.update({id}, {{"city", city}}).is_conflict();
  }
}

/// A transaction of some statements; returns whether it has committed. If it holds back the small
/// log, or needs versions that do, the engine rolls it back or refuses to continue it.
bool transact(OneTable& table, Random& random) {
  const auto transaction = table.database().begin(txn::Durability::asynchronous);
  try {
    bool goes_on = true;
    for (std::uint64_t left = random.between(1, 6); goes_on && left != 0; --left) {
      goes_on = change_any(table.in(transaction), random);
    }
    if (goes_on && !random.one_in(3)) {
      transaction->commit();
      return true;
    }
  } catch (const Error& error) {
    const bool holds_back = error.code() == ErrorCode::transaction_too_old ||
                            error.code() == ErrorCode::snapshot_too_old;
    EXPECT_TRUE(holds_back) << error.what();
  }
  transaction->rollback();
  return false;
}

TEST(RowsThreads, IndexesAreWhatTheRowsSay) {
  const std::uint64_t seed = palimpsest::test::seed();
  EngineOptions options = small_options();
  options.background_threads = true;  // checkpoints, which writers wait for
  OneTable table(people(), indexes_of_people(), options);
  std::atomic<std::size_t> writing{kWriters};
  std::atomic<int> committed{0};
  run_threads(kWriters + 1, [&](std::size_t thread) {
    Random random(seed + thread);
    if (thread == kWriters) {  // whatever a reader finds by an entry is a row
      while (writing.load() != 0) {
        for (RowCursor names({nullptr, table.state()}, "by_name", Range::all()); names.valid();
             names.next()) {
          ASSERT_EQ(names.row()["id"], names.row()["age"]);
        }
        table.reads().visit(
            Range::all(), [](const RowView& row) { return !row["name"].is_null(); },
            Direction::backward);
      }
      return;
    }
    for (int number = 0; number < kTransactions; ++number) {
      committed += transact(table, random) ? 1 : 0;
    }
    --writing;
  });
  EXPECT_GT(committed.load(), kTransactions / 10);
  // Pages freed by asynchronous commits can be reused once these are durable.
  table.committed([](auto writes) { return writes.upsert({0, "last", "Rome", 0, ""}); });
  table.database().transactions().free_due();
  const Content rows = table.rows();
  EXPECT_FALSE(rows.empty());
  EXPECT_TRUE(table.indexes_are_of(rows));
  EXPECT_TRUE(sound(table.database()));
}

}  // namespace
}  // namespace palimpsest::engine::test
