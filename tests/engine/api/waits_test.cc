// Waiting: a thread that would wait for its own transaction gets an error, so do two definitions
// that would wait for each other, and a transaction that conflicts with a bulk waits for the bulk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "palimpsest/database.h"

#include "base/sync_point.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::error_of;
using test::eventually;

constexpr auto kRefused = ErrorCode::invalid_argument;
constexpr std::string_view kInVain = "would wait forever";

class WaitsTest : public ::testing::Test {
 protected:
  Table make(const std::string& name) {
    Table table = database_.create_table(
        {.name = name, .columns = {{"id", int64()}, {"value", int64()}}, .key = {"id"}});
    table.insert({1, 10}).require();
    table.insert({2, 20}).require();
    return table;
  }
  [[nodiscard]] static IndexSchema by_value() { return {.name = "by_value", .columns = {"value"}}; }
  static Options options() {
    return {.memory_bytes = std::uint64_t{16} << 20U,
            .durability = Durability::asynchronous,
            .log_bytes_max = std::uint64_t{16} << 20U,
            .autocommit_patience = std::chrono::seconds(20),
            .definition_patience = std::chrono::seconds(20)};
  }

  test::TemporaryDirectory directory_;
  Database database_ = Database::open(directory_.path("database"), options());
};

// Its own transaction

TEST_F(WaitsTest, ACallWithoutATransactionWithinTheBodyOfRun) {
  const Table table = make("t");
  int attempts = 0;
  const auto slip = [&] {
    return database_.run([&](Transaction& in) {
      ++attempts;
      table.update(in, {1}, {{"value", 11}}).require();
      table.update({1}, {{"value", 12}}).require();
      return 0;
    });
  };
  EXPECT_EQ(error_of(slip, kInVain), kRefused);
  EXPECT_EQ(attempts, 1);
  EXPECT_EQ((*table.get({1}))["value"].as_integer(), 10);
  database_.run([&](Transaction& in) {
    table.update(in, {1}, {{"value", 11}}).require();
    table.update({2}, {{"value", 12}}).require();  // a row that it does not have
  });
  EXPECT_EQ((*table.get({1}))["value"].as_integer(), 11);
}

TEST_F(WaitsTest, ADefinitionWithinTheBodyOfRun) {
  const Table table = make("t");
  for (const bool of_another : {false, true}) {
    int attempts = 0;
    const auto slip = [&] {
      return database_.run([&](Transaction& in) {
        ++attempts;
        table.update(in, {1}, {{"value", 11}}).require();
        of_another ? database_.drop_table("other") : database_.create_index("t", by_value());
        return 0;
      });
    };
    const Table other = make("other");
    EXPECT_EQ(error_of(slip, kInVain), kRefused);
    EXPECT_EQ(attempts, 1);
    database_.drop_table("other");
  }
  database_.create_index("t", by_value());
}

TEST_F(WaitsTest, ADefinitionOfWhatItsOwnTransactionDefines) {
  const Table table = make("t");
  const auto slip = [&] {
    return database_.run([&](Transaction& in) {
      in.create_index("t", by_value()).require();
      database_.create_index("t", {.name = "second", .columns = {"value"}});
      return 0;
    });
  };
  EXPECT_EQ(error_of(slip, kInVain), kRefused);
  const auto write = [&] {
    return database_.run([&](Transaction& in) {
      in.create_index("t", by_value()).require();
      table.insert({3, 30}).require();
      return 0;
    });
  };
  EXPECT_EQ(error_of(write, kInVain), kRefused);
}

TEST_F(WaitsTest, ARunWithinTheBodyOfAnother) {
  const Table table = make("t");
  int attempts = 0;
  const auto slip = [&] {
    return database_.run([&](Transaction& in) {
      table.update(in, {1}, {{"value", 11}}).require();
      database_.run([&](Transaction& inner) {
        ++attempts;
        table.update(inner, {1}, {{"value", 12}}).require();
      });
      return 0;
    });
  };
  EXPECT_EQ(error_of(slip, kInVain), kRefused);
  EXPECT_EQ(attempts, 1);
}

TEST_F(WaitsTest, ATransactionThatThisThreadHasBegun) {
  const Table table = make("t");
  std::optional<Transaction> own = database_.begin();
  table.update(*own, {1}, {{"value", 11}}).require();
  EXPECT_EQ(error_of([&] { return table.erase({1}); }, kInVain), kRefused);
  EXPECT_EQ(error_of([&] { return database_.create_index("t", by_value()), 0; }, kInVain),
            kRefused);
  own->commit();
  EXPECT_TRUE(table.erase({1}));
}

TEST_F(WaitsTest, ABulkWhoseTableItsOwnTransactionReads) {
  const Table table = make("t");
  const auto change = [&](Transaction& in) { table.update(in, {1}, {{"value", 11}}).require(); };
  const RunOptions bulk{.transaction = {.bulk = true}};
  const auto slip = [&] {
    return database_.run([&](Transaction& in) {
      static_cast<void>(table.get(in, {1}));
      database_.run(change, bulk);
      database_.run(change, bulk);  // the snapshot of `in` does not see the first
      return 0;
    });
  };
  EXPECT_EQ(error_of(slip, kInVain), kRefused);
}

// Another thread has taken the transaction over, and will end it.
TEST_F(WaitsTest, ATransactionThatAnotherThreadGoesOnWithIsWaitedFor) {
  const Table table = make("t");
  std::optional<Transaction> handed_over = database_.begin();
  table.update(*handed_over, {1}, {{"value", 11}}).require();
  std::atomic<bool> has_taken_over{false};
  std::thread other([&] {
    static_cast<void>(table.get(*handed_over, {1}));
    has_taken_over = true;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() >= until; }));
    handed_over->commit();
  });
  ASSERT_TRUE(eventually([&] { return has_taken_over.load(); }));
  EXPECT_TRUE(table.update({1}, {{"value", 12}}));
  other.join();
  EXPECT_EQ((*table.get({1}))["value"].as_integer(), 12);
}

// Within a function that reads rows in their pages

TEST_F(WaitsTest, TheEngineWithinAFunctionThatHoldsAPage) {
  const Table table = make("t");
  const Table second = make("second");
  const Key key{1};
  Transaction in = database_.begin();
  Cursor cursor = second.cursor();
  const std::vector<std::function<void()>> calls{
      [&] { static_cast<void>(second.get({1})); },
      [&] { static_cast<void>(second.get(in, {1})); },
      [&] { second.insert({9, 9}).require(); },
      [&] { cursor.next(); },
      [&] { static_cast<void>(database_.begin()); },
      [&] { database_.drop_table("second"); },
      [&] { in.commit(); },
  };
  for (const std::function<void()>& call : calls) {
    ASSERT_FALSE(HasFailure()) << "the next one might wait for ever";
    const auto refused = [&](const auto& visit) {
      EXPECT_EQ(error_of(visit, "their page is latched"), kRefused);
    };
    refused([&] {
      table.visit(Range::all(), [&](const RowView&) { return call(), true; });
      return 0;
    });
    refused([&] {
      table.visit_many({&key, 1}, [&](std::size_t, const RowView&) { call(); });
      return 0;
    });
    refused([&] { return table.modify({1}, [&](RowEditor&) { call(); }); });
    refused([&] { return table.modify(in, {1}, [&](RowEditor&) { call(); }); });
    refused([&] { return table.modify_many({&key, 1}, [&](std::size_t, RowEditor&) { call(); }); });
    refused([&] {
      return table.rewrite({1}, [&](const RowView& row) { return call(), row.bytes(); });
    });
  }
  in.commit();
  EXPECT_TRUE(table.update({1}, {{"value", 12}})) << "nothing is left of what was refused";
  EXPECT_TRUE(second.get({1}));

  Database other = Database::open(directory_.path("other"), options());
  const Table others = other.create_table(
      {.name = "t", .columns = {{"id", int64()}, {"value", int64()}}, .key = {"id"}});
  table.visit(Range::all(), [&](const RowView&) { return others.insert({5, 5}).is_done(); });
  EXPECT_TRUE(others.get({5})) << "another database";
  table.read({1}, [&](const RowView&) { EXPECT_TRUE(second.get({1})) << "of a copy"; });
}

// Two definitions

#ifdef PALIMPSEST_SYNC_POINTS

TEST_F(WaitsTest, TwoTransactionsThatDefineAreToldAtOnce) {
  const Table one = make("one");
  const Table two = make("two");
  make("third");
  make("fourth");
  std::optional<Transaction> first = database_.begin();
  std::optional<Transaction> second = database_.begin();
  one.update(*first, {1}, {{"value", 11}}).require();
  two.update(*second, {1}, {{"value", 11}}).require();
  const SyncHook waits("txn.definer.waits", [] {});
  std::optional<Outcome> of_first;
  std::thread definer([&] { of_first = first->create_index("third", by_value()); });
  ASSERT_TRUE(eventually([&] { return waits.hits() == 1; }));
  const Outcome refused = second->create_index("fourth", by_value());
  EXPECT_TRUE(refused.is_conflict());
  EXPECT_EQ(refused.place().table, "third") << "which the other one waits for";
  EXPECT_EQ(waits.hits(), 1U) << "it has not waited";
  second->rollback();
  definer.join();
  EXPECT_TRUE(of_first->is_done());
  first->commit();
}

TEST_F(WaitsTest, ACircleOfThreeIsFound) {
  std::vector<Table> tables;
  std::vector<std::optional<Transaction>> all(3);
  for (int number = 0; number < 3; ++number) {
    tables.push_back(make("t" + std::to_string(number)));
    make("d" + std::to_string(number));
  }
  const SyncHook waits("txn.definer.waits", [] {});
  for (std::size_t number = 0; number < 3; ++number) {
    all[number] = database_.begin();
    tables[number].update(*all[number], {1}, {{"value", 11}}).require();
  }
  std::vector<std::optional<Outcome>> outcomes(2);
  std::vector<std::thread> definers;
  definers.emplace_back([&] { outcomes[0] = all[0]->create_index("d0", by_value()); });
  ASSERT_TRUE(eventually([&] { return waits.hits() == 1; }));
  EXPECT_TRUE(all[1]->create_index("d1", by_value()).is_conflict());
  all[1]->rollback();
  EXPECT_TRUE(all[2]->create_index("d2", by_value()).is_conflict());
  all[2]->rollback();
  definers.front().join();
  EXPECT_TRUE(outcomes[0]->is_done());
  all[0]->commit();
}

// A definer that waits for a transaction of this thread is not waited for in turn.
TEST_F(WaitsTest, AWriteBesideADefinerThatWaitsForThisThread) {
  const Table table = make("t");
  const Table other = make("other");
  const SyncHook waits("txn.definer.waits", [] {});
  std::thread definer;
  database_.run([&](Transaction& in) {
    other.update(in, {1}, {{"value", 11}}).require();
    definer = std::thread([&] { database_.create_index("t", by_value()); });
    ASSERT_TRUE(eventually([&] { return waits.hits() >= 1; }));
    EXPECT_TRUE(table.insert({3, 30}).is_conflict());
  });
  definer.join();
  EXPECT_EQ(table.indexes().size(), 1U);
}

// In conflict with a bulk

TEST_F(WaitsTest, RunWaitsForABulkAndSpendsNoAttempts) {
  const Table table = make("t");
  std::optional<Transaction> bulk = database_.begin({.bulk = true});
  table.update(*bulk, {1}, {{"value", 11}}).require();
  const SyncHook awaited("engine.definer.awaited", [] {});
  std::atomic<bool> has_ended{false};
  int attempts = 0;
  std::optional<ErrorCode> code;
  std::thread appender([&] {
    code = error_of([&] {
      return database_.run(
          [&](Transaction& in) {
            ++attempts;
            return table.insert(in, {3, 30});
          },
          {.attempts_max = 2});
    });
    has_ended = true;
  });
  EXPECT_TRUE(eventually([&] { return awaited.hits() > 3 || has_ended; }));
  bulk->commit();
  appender.join();
  EXPECT_EQ(code, std::nullopt);
  EXPECT_EQ(attempts, 2);
  EXPECT_TRUE(table.get({3}));
}

TEST_F(WaitsTest, ACallWithoutATransactionWaitsForABulkForAsLongAsADefinition) {
  Options impatient = options();
  impatient.autocommit_patience = std::chrono::milliseconds(1);
  Database database = Database::open(directory_.path("impatient"), impatient);
  const Table table = database.create_table(
      {.name = "t", .columns = {{"id", int64()}, {"value", int64()}}, .key = {"id"}});
  table.insert({1, 10}).require();
  std::optional<Transaction> bulk = database.begin({.bulk = true});
  table.update(*bulk, {1}, {{"value", 11}}).require();
  const SyncHook awaited("engine.definer.awaited", [] {});
  std::atomic<bool> has_ended{false};
  bool is_done = false;
  std::thread appender([&] {
    is_done = table.insert({3, 30}).is_done();
    has_ended = true;
  });
  EXPECT_TRUE(eventually([&] { return awaited.hits() > 3 || has_ended; }));
  bulk->commit();
  appender.join();
  EXPECT_TRUE(is_done);
}

#endif

TEST_F(WaitsTest, ARangeOfAnySizeIsErasedWithoutATransaction) {
  constexpr std::int64_t kRows = 20'000;
  for (const Isolation isolation :
       {Isolation::snapshot, Isolation::read_committed, Isolation::serializable, Isolation::none}) {
    Options small = options();
    small.version_bytes_max = std::uint64_t{1} << 20U;
    small.isolation = isolation;
    Database database = Database::open(
        directory_.path("small" + std::to_string(static_cast<int>(isolation))), small);
    const Table table = database.create_table(
        {.name = "t", .columns = {{"id", int64()}, {"value", int64()}}, .key = {"id"}});
    database.run(
        [&](Transaction& in) {
          for (std::int64_t id = 0; id < kRows; ++id) {
            table.insert(in, {id, id}).require();
          }
        },
        {.transaction = {.bulk = true}});
    EXPECT_EQ(table.erase_range(Range::from({10})).require(),
              static_cast<std::uint64_t>(kRows - 10));
    std::size_t rows = 0;
    table.visit(Range::all(), [&](const RowView&) {
      ++rows;
      return true;
    });
    EXPECT_EQ(rows, 10U);
  }
}

}  // namespace
}  // namespace palimpsest
