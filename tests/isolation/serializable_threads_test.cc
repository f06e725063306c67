// Invariants of several rows together, in a database much larger than its memory, maintained by
// more threads than processors, each of which reads before it writes: at `snapshot` they would be
// violated within moments.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <string>

#include "palimpsest/error.h"

#include "base/random.h"
#include "tests/isolation/items.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest::test {
namespace {

constexpr std::int64_t kPairs = 40;
constexpr std::int64_t kGroups = 20;
constexpr std::int64_t kGroupMost = 3;
constexpr std::int64_t kGroupIds = 1000;  ///< ids of a group
constexpr std::size_t kThreads = 8;

/// Items 2n and 2n + 1 are a pair, whose sum is not below 0. Groups have their ids from kGroupIds
/// on, and a maximum number of rows.
class Rules : public ::testing::Test {
 protected:
  Rules() {
    Transaction in = items_.begin();
    const std::string note(700, 'n');
    for (std::int64_t id = 0; id < 2 * kPairs; ++id) {
      items_.table->insert(in, {id, {}, 10, note}).require();
    }
    in.commit();
  }
  static std::int64_t value_of(const Row& row) { return row["value"].as_integer(); }
  [[nodiscard]] std::int64_t value(const Transaction& in, std::int64_t id) const {
    return value_of(*items_.table->get(in, {id}));
  }
  [[nodiscard]] static Range of_group(std::int64_t group) {
    return Range::between({kGroupIds * (group + 1)}, {kGroupIds * (group + 2)},
                          Range::Bound::inclusive, Range::Bound::exclusive);
  }
  [[nodiscard]] std::int64_t rows_in(const Transaction& in, std::int64_t group) const {
    std::int64_t rows = 0;
    if (group % 2 == 0) {
      for (Cursor cursor = items_.table->cursor(in, of_group(group)); cursor.valid();
           cursor.next()) {
        ++rows;
      }
    } else {
      items_.table->visit(in, of_group(group), [&](const RowView&) { return ++rows > 0; });
    }
    return rows;
  }

  /// Takes from one item of a pair, or adds to it.
  void withdraw(Transaction& in, Random& random) {
    const auto id = static_cast<std::int64_t>(random.below(2 * kPairs));
    const std::int64_t own = value(in, id);
    const auto wanted = static_cast<std::int64_t>(random.below(12));
    const std::int64_t change = own + value(in, id ^ 1) >= wanted ? -wanted : 15;
    items_.table->update(in, {id}, {{"value", own + change}}).require();
  }
  /// Inserts a row into a group that is not full, or erases one.
  void join_or_leave(Transaction& in, Random& random) {
    const auto group = static_cast<std::int64_t>(random.below(kGroups));
    const std::int64_t id =
        kGroupIds * (group + 1) + static_cast<std::int64_t>(random.below(kGroupIds));
    if (rows_in(in, group) < kGroupMost) {
      const std::string note(400, 'g');
      static_cast<void>(items_.table->insert(in, {id, {}, 0, note}));
      return;
    }
    Cursor cursor = items_.table->cursor(in, of_group(group));
    const std::int64_t first = cursor.row()["id"].as_integer();
    items_.table->erase(in, {first}).require();
  }
  void expect_kept(const Transaction& in) {
    for (std::int64_t pair = 0; pair < kPairs; ++pair) {
      EXPECT_GE(value(in, 2 * pair) + value(in, 2 * pair + 1), 0) << pair;
    }
    for (std::int64_t group = 0; group < kGroups; ++group) {
      EXPECT_LE(rows_in(in, group), kGroupMost) << group;
    }
  }
  /// One transaction; returns whether it has committed.
  [[nodiscard]] bool attempt(Random& random) {
    try {
      Transaction in = items_.begin();
      random.one_in(2) ? withdraw(in, random) : join_or_leave(in, random);
      if (random.one_in(4)) {
        withdraw(in, random);
      }
      in.commit();
      return true;
    } catch (const Error& error) {
      refused_ += error.code() == ErrorCode::not_serializable ? 1U : 0U;
      EXPECT_TRUE(error.code() == ErrorCode::not_serializable ||
                  error.code() == ErrorCode::conflict ||
                  error.code() == ErrorCode::snapshot_too_old ||
                  error.code() == ErrorCode::transaction_too_old)
          << error.what();
      return false;
    }
  }

  SerializableItems items_;
  std::atomic<std::uint64_t> committed_{0};
  std::atomic<std::uint64_t> refused_{0};
};

TEST_F(Rules, AreKept) {
  const std::uint64_t first = seed();
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(test_seconds(6));
  run_threads(kThreads, [&](std::size_t thread) {
    Random random(first + thread);
    while (std::chrono::steady_clock::now() < end && !HasFailure()) {
      if (thread == 0 && random.one_in(20)) {
        const Transaction reader = items_.begin();
        expect_kept(reader);
      } else {
        committed_ += attempt(random) ? 1U : 0U;
      }
    }
  });
  const Transaction last = items_.begin();
  expect_kept(last);
  std::cout << committed_ << " committed, " << refused_ << " refused\n";
  EXPECT_GT(committed_.load(), 100U);
}

}  // namespace
}  // namespace palimpsest::test
