// Database::run(): its attempts and their outcomes.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/database.h"

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using palimpsest::test::error_of;

class RunTest : public ::testing::Test {
 protected:
  [[nodiscard]] Table accounts() {
    return database_.create_table(
        {.name = "account",
         .columns = {{"id", int64()}, {"owner", varchar(40)}, {"balance", int64()}},
         .key = {"id"}});
  }
  /// The balance of the first account.
  [[nodiscard]] std::int64_t balance() {
    const auto row = database_.table("account").get({1});
    return row ? (*row)["balance"].as_integer() : -1;
  }

  test::TemporaryDirectory directory_;
  Database database_ =
      Database::open(directory_.path(), {.memory_bytes = std::uint64_t{16} << 20U,
                                         .durability = Durability::asynchronous,
                                         .log_bytes_max = std::uint64_t{16} << 20U,
                                         .autocommit_patience = std::chrono::milliseconds(20)});
};

TEST_F(RunTest, WhatAnAttemptHasChangedIsUndoneBeforeTheNext) {
  const Table table = accounts();
  table.insert({1, "Ada", 10}).require();
  int attempts = 0;
  database_.run([&](Transaction& in) {
    const auto now = (*table.get(in, {1}))["balance"].as_integer();
    table.update(in, {1}, {{"balance", now + 1}}).require();
    if (++attempts < 3) {
      throw Error(ErrorCode::conflict, "once more");
    }
  });
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(balance(), 11);
  EXPECT_EQ(error_of([&] {
              return database_.run([&](Transaction& in) {
                table.erase(in, {1}).require();
                throw Error(ErrorCode::not_found, "given up");
                return 0;
              });
            }),
            ErrorCode::not_found);
  EXPECT_EQ(balance(), 11);
}

TEST_F(RunTest, AnErasedRangeThatIsInConflictIsTriedAgain) {
  const Table table = accounts();
  table.insert({1, "Ada", 10}).require();
  std::optional<Transaction> other = database_.begin();
  table.update(*other, {1}, {{"balance", 11}}).require();
  int attempts = 0;
  const ErasedRange erased = database_.run([&](Transaction& in) {
    if (++attempts == 2) {
      other->commit();
    }
    table.insert(in, {attempts + 1, "Bob", 0}).require();
    return table.erase_range(in, Range::between({1}, {1}));
  });
  EXPECT_EQ(erased.require(), 1U);
  EXPECT_GE(attempts, 2);
  EXPECT_FALSE(table.get({2})) << "of an attempt that was rolled back";
  EXPECT_TRUE(table.get({attempts + 1}));
}

TEST_F(RunTest, RunTriesAgainAfterConflictsAndReturnsWhatItsBodyDoes) {
  const Table table = accounts();
  table.insert({1, "Ada", 0}).require();
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kEach; ++n) {
        const auto before = database_.run(
            [&](Transaction& in) {
              std::int64_t seen = 0;
              const auto column = table.column<std::int64_t>("balance");
              table
                  .modify(in, {1},
                          [&](RowEditor& row) {
                            seen = row.get(column);
                            row.set(column, seen + 1);
                          })
                  .require();
              return seen;
            },
            {.attempts_max = 100'000});
        EXPECT_LT(before, kThreads * kEach);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(balance(), kThreads * kEach);
}

TEST_F(RunTest, RunTriesAgainAfterAConflictThatItsBodyReturns) {
  const Table table = accounts();
  table.insert({1, "Ada", 0}).require();
  int attempts = 0;
  std::optional<Transaction> conflicting_writer = database_.begin();
  table.update(*conflicting_writer, {1}, {{"balance", 7}}).require();
  const Outcome outcome = database_.run([&](Transaction& in) {
    if (++attempts == 2) {
      conflicting_writer->commit();
    }
    return table.update(in, {1}, {{"balance", 8}});
  });
  EXPECT_TRUE(outcome.is_done());
  EXPECT_GE(attempts, 2);
  EXPECT_EQ(balance(), 8);
  EXPECT_EQ(database_.run([&](Transaction& in) { return table.erase(in, {2}); }).kind(),
            OutcomeKind::absent)
      << "what is no conflict is the caller's to judge";
}

// A full disk is as full for the next attempt.
TEST_F(RunTest, RunDoesNotTryAgainWithoutSpace) {
  int attempts = 0;
  EXPECT_EQ(error_of([&] {
              database_.run([&](Transaction&) {
                ++attempts;
                throw Error(ErrorCode::no_space, "the log cannot grow");
              });
            }),
            ErrorCode::no_space);
  EXPECT_EQ(attempts, 1);
}

TEST_F(RunTest, RunGivesUpAndABodyMayRollBack) {
  const Table table = accounts();
  table.insert({1, "Ada", 5}).require();
  int calls = 0;
  EXPECT_EQ(error_of([&] {
              database_.run(
                  [&](Transaction&) {
                    ++calls;
                    throw Error(ErrorCode::conflict, "always");
                  },
                  {.attempts_max = 3});
              return 0;
            }),
            ErrorCode::conflict);
  EXPECT_EQ(calls, 3);
  database_.run([&](Transaction& in) {
    table.erase(in, {1}).require();
    in.rollback();
  });
  EXPECT_EQ(balance(), 5) << "a body may roll back";
}

// It held back the log while it was idle; its changes are not lost silently.
TEST_F(RunTest, WhatTheEngineHasEndedIsRunAgain) {
  const Table table = accounts();
  table.insert({1, "Ada", 5}).require();
  const std::string owner(40, 'o');
  int calls = 0;
  database_.run([&](Transaction& in) {
    table.update(in, {1}, {{"balance", 6}}).require();
    if (++calls == 1) {
      for (std::int64_t id = 2; in.is_active(); ++id) {
        ASSERT_LT(id, 2'000'000);
        table.upsert({id % 1000 + 2, owner, id}).require();
      }
    }
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(balance(), 6);
}

}  // namespace
}  // namespace palimpsest
