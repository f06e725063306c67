// Bulks, ordinary writers and readers of one table at the same time, with the engine's own threads
// and more threads than processors: money is moved between accounts, and its sum never changes.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>

#include "palimpsest/error.h"

#include "base/random.h"
#include "engine/api/bulk_rows.h"
#include "engine/table/table_reader.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/table/row_statements.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::run_threads;
using palimpsest::test::seed;
using txn::Durability;
using txn::Isolation;

constexpr int kAccounts = 200;
constexpr std::int64_t kEach = 1000;

EngineOptions options() {
  EngineOptions options = small_options();
  options.memory_bytes = std::uint64_t{16} << 20U;
  options.background_threads = true;
  options.definition_patience = std::chrono::milliseconds(50);
  return options;
}

class BulkStress : public ::testing::Test {
 protected:
  BulkStress() : device_(disk_.device()), database_(Engine::open(*device_, *device_, options())) {
    using namespace palimpsest::types;
    const auto by = database_->begin(Durability::synchronous, Isolation::read_committed);
    EXPECT_TRUE(database_->tables().create_table(
        *by,
        {.name = "account", .columns = {{"id", int32()}, {"amount", int64()}}, .key = {"id"}}));
    EXPECT_TRUE(database_->tables().create_index(
        *by, "account", {.name = "by_amount", .columns = {"amount"}, .unique = false}));
    const TablePtr made = database_->tables().find("account", by.get());
    for (int id = 0; id < kAccounts; ++id) {
      EXPECT_TRUE(RowStatements(*by, *made).insert({id, kEach}));
    }
    by->commit();
    table_ = database_->tables().find("account", nullptr);
  }

  [[nodiscard]] std::optional<std::int64_t> amount_of(txn::Transaction& by, int id) {
    std::optional<std::int64_t> amount;
    static_cast<void>(TableReader(&by, *table_).read({id}, [&](const RowView& row) {
      amount = row["amount"].as_integer();
    }));
    return amount;
  }
  struct Sums {
    std::int64_t forward = 0;
    std::int64_t backward = 0;
    std::int64_t points = 0;
  };
  [[nodiscard]] Sums sums_of(txn::Transaction& by) {
    Sums sums;
    const auto add_to = [](std::int64_t& sum) {
      return [&sum](const RowView& row) {
        sum += row["amount"].as_integer();
        return true;
      };
    };
    TableReader reads(&by, *table_);
    auto forward = add_to(sums.forward);
    reads.visit(Range::all(), forward, Direction::forward);
    auto backward = add_to(sums.backward);
    reads.visit(Range::all(), backward, Direction::backward);
    for (int id = 0; id < kAccounts; ++id) {
      sums.points += amount_of(by, id).value_or(0);
    }
    return sums;
  }

  /// Moves money from one account to another; an account with nothing left is erased, and inserted
  /// again when it receives money. Returns whether that was done.
  [[nodiscard]] bool move(txn::Transaction& view, Random& random,
                          FunctionRef<Outcome(FunctionRef<Outcome(const TableWriter&)>)> write) {
    const auto from = static_cast<int>(random.below(kAccounts));
    const auto to = static_cast<int>(random.below(kAccounts));
    const std::int64_t has = amount_of(view, from).value_or(0);
    if (from == to || has == 0) {
      return true;
    }
    const std::int64_t moved =
        random.below(4) == 0
            ? has
            : 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(has)));
    const std::int64_t left = has - moved;
    const std::int64_t then = amount_of(view, to).value_or(0) + moved;
    return write([&](const TableWriter& writes) {
             return left == 0 ? writes.erase({from}) : writes.upsert({from, left});
           }).is_done() &&
           write([&](const TableWriter& writes) { return writes.upsert({to, then}); }).is_done();
  }

  void read(Random& random) {
    const auto reader = database_->begin(Durability::asynchronous, Isolation::snapshot);
    for (std::uint64_t looks = 1 + random.below(3); looks > 0; --looks) {
      const Sums sums = sums_of(*reader);
      EXPECT_EQ(sums.forward, kAccounts * kEach);
      EXPECT_EQ(sums.backward, kAccounts * kEach);
      EXPECT_EQ(sums.points, kAccounts * kEach);
    }
    ++looks_;
  }
  void write(Random& random) {
    const auto by = database_->begin(Durability::asynchronous, Isolation::snapshot);
    bool is_done = true;
    for (std::uint64_t moves = 1 + random.below(3); is_done && moves > 0; --moves) {
      is_done = move(*by, random, [&](FunctionRef<Outcome(const TableWriter&)> call) {
        return TableWriter::statement(*by, *table_, call);
      });
    }
    if (is_done && random.below(8) != 0) {
      by->commit();
      ++writes_;
    } else {
      by->rollback();
    }
  }
  void change_in_bulk(Random& random) {
    const auto by =
        database_->begin(Durability::synchronous,
                         random.below(4) == 0 ? Isolation::snapshot : Isolation::read_committed);
    Bulk bulk(database_->transactions(), database_->tables(), *by);
    // There is no such row; but from now on no other transaction writes to the table.
    bool is_done =
        !bulk.write(*table_, [](const TableWriter& writes) { return writes.erase({-1}); })
             .is_conflict();
    for (std::uint64_t moves = 1 + random.below(kAccounts); is_done && moves > 0; --moves) {
      is_done = move(*by, random, [&](FunctionRef<Outcome(const TableWriter&)> call) {
        return bulk.write(*table_, call);
      });
    }
    if (is_done && random.below(4) != 0) {
      bulk.publish();
      by->commit();
      ++bulks_;
    } else {
      by->rollback();
    }
  }

  /// Calls work() until the time is over; ignores errors that ask for another attempt.
  template <class Work>
  void repeat(const Work& work) {
    while (!ends_.load(std::memory_order_relaxed) && !HasFailure()) {
      try {
        work();
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::gate_timeout ||
                    error.code() == ErrorCode::conflict ||
                    error.code() == ErrorCode::snapshot_too_old ||
                    error.code() == ErrorCode::transaction_too_old)
            << error.what();
      }
    }
  }

  palimpsest::test::SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
  TablePtr table_;
  std::atomic<bool> ends_{false};
  std::atomic<std::uint64_t> looks_{0};
  std::atomic<std::uint64_t> writes_{0};
  std::atomic<std::uint64_t> bulks_{0};
};

TEST_F(BulkStress, TheSumStaysTheSame) {
  run_threads(7, [&](std::size_t number) {
    Random random(seed() + number);
    if (number == 0) {
      palimpsest::test::Rounds rounds(20, 3);
      repeat([&] {
        ends_ = !rounds.next();
        read(random);
      });
    } else if (number <= 2) {
      repeat([&] { read(random); });
    } else if (number <= 4) {
      repeat([&] { write(random); });
    } else {
      repeat([&] { change_in_bulk(random); });
    }
  });
  EXPECT_GT(looks_.load(), 0U);
  EXPECT_GT(writes_.load(), 0U);
  EXPECT_GT(bulks_.load(), 0U);
  RecordProperty("bulks", static_cast<int>(bulks_.load()));
  const auto last = database_->begin(Durability::asynchronous, Isolation::snapshot);
  EXPECT_EQ(sums_of(*last).points, kAccounts * kEach);
}

}  // namespace
}  // namespace palimpsest::engine::test
