// Transactions that change more than the memory for versions holds: when they become bulks.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/database.h"

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using palimpsest::test::error_of;

constexpr std::int64_t kRows = 20'000;
constexpr std::uint64_t kVersionBytes = std::uint64_t{1} << 20U;
/// The versions of so many rows fit into half of the memory.
constexpr std::int64_t kFew = 100;

class LargeTransactions : public ::testing::Test {
 protected:
  LargeTransactions() {
    counters_ = database_.create_table(
        {.name = "counter", .columns = {{"id", int64()}, {"count", int64()}}, .key = {"id"}});
    Transaction load = database_.begin({.bulk = true});
    for (std::int64_t id = 0; id < kRows; ++id) {
      counters_->insert(load, {id, 0}).require();
    }
    load.commit();
  }

  [[nodiscard]] static Options options() {
    Options options;
    options.memory_bytes = std::uint64_t{16} << 20U;
    options.version_bytes_max = kVersionBytes;
    options.durability = Durability::asynchronous;
    return options;
  }
  void count(Transaction& by, std::int64_t rows) const {
    for (std::int64_t id = 0; id < rows; ++id) {
      counters_
          ->update(by, {id}, {{"count", (*counters_->get(by, {id}))["count"].as_integer() + 1}})
          .require();
    }
  }
  [[nodiscard]] std::int64_t sum() const {
    std::int64_t sum = 0;
    counters_->visit(Range::all(), [&](const RowView& row) {
      sum += row["count"].as_integer();
      return true;
    });
    return sum;
  }
  /// Whether writes of other transactions to the table conflict while `by` has changed another row.
  [[nodiscard]] bool blocks_other_writers(const TransactionOptions& options) {
    Transaction by = database_.begin(options);
    count(by, 1);
    Transaction other = database_.begin({.isolation = Isolation::read_committed});
    return counters_->update(other, {kRows - 1}, {{"count", 0}}).is_conflict();
  }

  test::TemporaryDirectory directory_;
  Database database_ = Database::open(directory_.path(), options());
  std::optional<Table> counters_;
};

TEST_F(LargeTransactions, ARunGoesOnAsABulk) {
  int attempts = 0;
  database_.run([&](Transaction& by) {
    ++attempts;
    count(by, kRows);
  });
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(sum(), kRows);
}

// It may write what it has read, or gets a conflict, as before.
TEST_F(LargeTransactions, ARunStaysAsIsolatedAsItWas) {
  int attempts = 0;
  database_.run([&](Transaction& by) {
    ++attempts;
    EXPECT_EQ((*counters_->get(by, {0}))["count"].as_integer(), attempts == 3 ? 1 : 0);
    if (attempts == 2) {
      database_.run([&](Transaction& other) { count(other, 1); });
    }
    count(by, kRows);
  });
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(sum(), kRows + 1);
}

TEST_F(LargeTransactions, ARunThatMustNotBeABulkIsToldOfTheBudget) {
  int attempts = 0;
  const auto run = [&] {
    database_.run(
        [&](Transaction& by) {
          ++attempts;
          count(by, kRows);
        },
        {.restart_as_bulk = false});
  };
  EXPECT_EQ(error_of(run, "a bulk transaction, which keeps no versions"),
            ErrorCode::version_budget_exceeded);
  EXPECT_EQ(attempts, 1);
  EXPECT_EQ(sum(), 0);
}

TEST_F(LargeTransactions, TheOneThatExpectsManyChangesBeginsAsABulk) {
  EXPECT_TRUE(blocks_other_writers({.expected_changes = kRows}));
  EXPECT_FALSE(blocks_other_writers({.expected_changes = kFew}));
  EXPECT_FALSE(blocks_other_writers({}));
  Transaction by = database_.begin({.expected_changes = kRows});
  count(by, kRows);
  by.commit();
  EXPECT_EQ(sum(), kRows);
}

TEST_F(LargeTransactions, OneThatReadsExpectsNoChanges) {
  EXPECT_EQ(error_of([&] {
              return database_.begin({.read_only = true, .expected_changes = 1}).is_active();
            }),
            ErrorCode::invalid_argument);
}

// Bulks change rows out of place, and read their own changes.
TEST_F(LargeTransactions, BulksReadAndChangeManyRowsByOneCall) {
  const Column<std::int64_t> count = counters_->column<std::int64_t>("count");
  const std::vector<Value> ids{7, 8, 5000, 7, kRows};
  std::vector<Key> keys;
  keys.reserve(ids.size());
  for (const Value& id : ids) {
    keys.emplace_back(std::span(&id, 1));
  }
  const auto there = std::span(keys).first(4);
  const auto add = [&](std::size_t number, RowEditor& row) {
    row.set(count, row.get(count) + 1 + static_cast<std::int64_t>(number));
  };
  Transaction bulk = database_.begin({.bulk = true});
  counters_->modify_many(bulk, there, add).require();
  EXPECT_EQ(sum(), 0);
  std::vector<std::int64_t> seen;
  counters_->read_many(bulk, keys, [&](std::size_t number, const RowView& row) {
    EXPECT_EQ(number, seen.size());
    seen.push_back(row.get(count));
  });
  EXPECT_EQ(seen, (std::vector<std::int64_t>{5, 2, 3, 5}));
  EXPECT_EQ(counters_->modify_many(bulk, std::span(keys).last(1), add).kind(), OutcomeKind::absent);
  bulk.commit();
  EXPECT_EQ(sum(), 10);
  counters_->modify_many(there, add).require();
  EXPECT_EQ(sum(), 20);
}

}  // namespace
}  // namespace palimpsest
