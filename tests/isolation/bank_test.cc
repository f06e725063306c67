// A bank in a database much larger than its memory: more threads than processors move money, close
// accounts and open new ones, while readers sum all balances, in every possible order. In any
// order, within one snapshot the sum is what it was at the beginning. The database is closed and
// opened in between.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>

#include "palimpsest/database.h"

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest::test {
namespace {

using namespace palimpsest::types;

constexpr std::int64_t kAccounts = 600;
constexpr std::int64_t kFirstBalance = 1000;
constexpr std::int64_t kTotal = kAccounts * kFirstBalance;
constexpr int kTransfersMin = 100;  // of each thread, in each life of the database
constexpr std::size_t kWriters = 5;
constexpr std::size_t kReaders = 3;

Options tiny() {
  Options options;
  options.memory_bytes = std::uint64_t{16} << 18U;  // some dozen pages
  options.version_bytes_max = std::uint64_t{1} << 20U;
  options.log_bytes_max = std::uint64_t{16} << 20U;
  options.durability = Durability::asynchronous;
  options.max_transactions = 64;
  return options;
}

class BankTest : public ::testing::TestWithParam<Isolation> {
 protected:
  BankTest() {
    database_.create_table({.name = "account",
                            .columns = {{"id", int64()},
                                        {"branch", int64()},
                                        {"balance", int64()},
                                        {"note", varchar(1000)}},
                            .key = {"id"}});
    database_.create_index("account", {.name = "by_branch", .columns = {"branch"}});
    database_.create_index("account", {.name = "by_balance", .columns = {"balance"}});
    Transaction transaction = database_.begin();
    for (std::int64_t id = 0; id < kAccounts; ++id) {
      open_account(transaction, id, kFirstBalance).require();
    }
    transaction.commit();
  }

  [[nodiscard]] Table accounts() { return database_.table("account"); }

  [[nodiscard]] Outcome open_account(Transaction& transaction, std::int64_t id,
                                     std::int64_t balance) {
    const std::string note(400, 'n');
    return accounts().insert(transaction, {id, id % 7, balance, note});
  }

  // Moving money

  /// Adds an amount, maybe negative, to an account; returns its former balance, nothing if there is
  /// none.
  [[nodiscard]] std::optional<std::int64_t> add(Transaction& transaction, std::int64_t id,
                                                std::int64_t amount) {
    return GetParam() == Isolation::snapshot ? add_to_what_was_read(transaction, id, amount)
                                             : add_in_one_step(transaction, id, amount);
  }
  [[nodiscard]] std::optional<std::int64_t> add_to_what_was_read(Transaction& transaction,
                                                                 std::int64_t id,
                                                                 std::int64_t amount) {
    const auto row = accounts().get(transaction, {id});
    if (!row) {
      return std::nullopt;
    }
    const std::int64_t balance = (*row)["balance"].as_integer();
    accounts().update(transaction, {id}, {{"balance", balance + amount}}).require();
    return balance;
  }
  /// An earlier read may be out of date: the call that claims the row also reads it.
  [[nodiscard]] std::optional<std::int64_t> add_in_one_step(Transaction& transaction,
                                                            std::int64_t id, std::int64_t amount) {
    const Column<std::int64_t> column = accounts().column<std::int64_t>("balance");
    std::int64_t balance = 0;
    std::string bytes;
    const Outcome outcome =
        accounts().rewrite(transaction, {id}, [&](const RowView& row) -> std::string_view {
          balance = row.get(column);
          const std::int64_t sum = balance + amount;
          bytes = row.bytes();
          std::memcpy(bytes.data() + column.place().offset, &sum, sizeof sum);
          return bytes;
        });
    if (outcome.kind() == OutcomeKind::absent) {
      return std::nullopt;
    }
    outcome.require();
    return balance;
  }

  /// Whatever it does, the sum of all balances stays constant.
  void transfer(Transaction& transaction, Random& random) {
    const auto source = static_cast<std::int64_t>(random.below(kAccounts));
    const auto target = static_cast<std::int64_t>(random.below(kAccounts));
    const auto amount = static_cast<std::int64_t>(random.below(100));
    const auto before = source == target ? std::nullopt : add(transaction, source, -amount);
    if (!before) {
      return transaction.rollback();
    }
    if (!add(transaction, target, amount)) {
      const Outcome opened = open_account(transaction, target, amount);
      if (opened.kind() == OutcomeKind::exists && GetParam() == Isolation::read_committed) {
        return transaction.rollback();  // another has opened it, and committed, in between
      }
      opened.require();
    } else if (random.one_in(4)) {
      accounts().erase(transaction, {source}).require();
      EXPECT_TRUE(add(transaction, target, *before - amount));
    }
    if (random.one_in(5)) {
      transaction.rollback();
    }
  }

  void write(Random& random) {
    const RunOptions options{.transaction = {.isolation = GetParam()}, .attempts_max = 10'000};
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(test_seconds(0.5));
    for (int i = 0; i < kTransfersMin || std::chrono::steady_clock::now() < end; ++i) {
      database_.run([&](Transaction& transaction) { transfer(transaction, random); }, options);
    }
  }

  // Summing

  [[nodiscard]] static std::int64_t sum_of(Cursor cursor) {
    std::int64_t sum = 0;
    for (; cursor.valid(); cursor.next()) {
      sum += cursor.row()["balance"].as_integer();
    }
    return sum;
  }
  /// In one call.
  [[nodiscard]] std::int64_t visited_sum(const Transaction* in, Direction direction) {
    std::int64_t sum = 0;
    const auto add = [&](const RowView& row) {
      sum += row["balance"].as_integer();
      return true;
    };
    in != nullptr ? accounts().visit(*in, Range::all(), add, direction)
                  : accounts().visit(Range::all(), add, direction);
    return sum;
  }
  [[nodiscard]] std::int64_t looked_up_sum(const Transaction& in) {
    std::int64_t sum = 0;
    for (std::int64_t id = 0; id < kAccounts; ++id) {
      const auto row = accounts().get(in, {id});
      sum += row ? (*row)["balance"].as_integer() : 0;
    }
    return sum;
  }

  void expect_total(const Transaction& in) {
    EXPECT_EQ(visited_sum(&in, Direction::forward), kTotal);
    EXPECT_EQ(sum_of(accounts().index("by_balance").cursor(in)), kTotal);
    EXPECT_EQ(sum_of(accounts().cursor(in)), kTotal);
    EXPECT_EQ(sum_of(accounts().index("by_branch").cursor(in)), kTotal);
    EXPECT_EQ(visited_sum(&in, Direction::backward), kTotal);
  }
  void read_once() {
    database_.run([&](Transaction& transaction) {
      expect_total(transaction);
      EXPECT_EQ(looked_up_sum(transaction), kTotal);
    });
    // Each call, and each cursor, sees one state.
    database_.run([&](Transaction& transaction) { expect_total(transaction); },
                  {.transaction = {.isolation = Isolation::read_committed}});
    EXPECT_EQ(visited_sum(nullptr, Direction::forward), kTotal);
    EXPECT_EQ(sum_of(accounts().cursor()), kTotal);
  }

  void live() {
    const std::uint64_t seed = test::seed();
    std::atomic<std::size_t> writing{kWriters};
    run_threads(kWriters + kReaders, [&](std::size_t thread) {
      Random random(seed + thread);
      if (thread < kWriters) {
        write(random);
        --writing;
        return;
      }
      do {
        read_once();
      } while (writing.load() != 0 && !HasFailure());
    });
  }

  TemporaryDirectory directory_{memory_file_system()};
  Database database_ = Database::open(directory_.path(), tiny());
};

TEST_P(BankTest, NoMoneyComesOrGoes) {
  for (int life = 0; life < 2; ++life) {
    live();
    read_once();
    EXPECT_GT(database_.statistics().page_reads, 100U) << "the memory was meant to be too small";
    database_.close();
    database_ = Database::open(directory_.path(), tiny());
    read_once();
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, BankTest,
                         ::testing::Values(Isolation::read_committed, Isolation::snapshot),
                         [](const auto& each) {
                           return each.param == Isolation::snapshot ? "snapshot" : "read_committed";
                         });

}  // namespace
}  // namespace palimpsest::test
