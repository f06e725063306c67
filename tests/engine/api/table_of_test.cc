// Tables whose rows are structs, from end to end: compared with the same tables read by name, with
// indexes, conflicts and exceptions.
#include "palimpsest/table_of.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/database.h"

#include "base/random.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::error_of;

enum class Kind : std::int8_t { current = 1, savings };

struct Account {
  std::int64_t id = 0;
  std::array<char, 2> country{' ', ' '};
  std::string owner{};
  Kind kind = Kind::current;
  std::int32_t visits = 0;
  Decimal balance{};
  std::optional<Date> closed{};

  friend bool operator==(const Account&, const Account&) = default;
};

TableSchema account_schema() {
  return {.name = "account",
          .columns = {{"owner", varchar(5000)},
                      {"country", character(2)},
                      {"id", int64()},
                      {"kind", int8()},
                      {"visits", int32()},
                      {"balance", decimal(12, 2)},
                      {"closed", nullable(date())}},
          .key = {"country", "id"}};
}

TableOf<Account> accounts_of(const Table& table) {
  return {table,
          {{"id", &Account::id},
           {"country", &Account::country},
           {"owner", &Account::owner},
           {"kind", &Account::kind},
           {"visits", &Account::visits},
           {"balance", &Account::balance},
           {"closed", &Account::closed}}};
}

Account ada() {
  return {.id = 7, .country = {'D', 'E'}, .owner = "Ada", .balance = Decimal::of(1250, 2)};
}

class TableOfTest : public ::testing::Test {
 protected:
  TableOfTest() {
    database_.create_index("account", {.name = "by_owner", .columns = {"owner"}});
    database_.create_index("account", {.name = "by_kind", .columns = {"kind", "closed"}});
  }

  [[nodiscard]] std::string owners_in_order() const {
    std::string owners;
    for (Cursor cursor = table_.index("by_owner").cursor(); cursor.valid(); cursor.next()) {
      owners += accounts_.of(cursor.row()).owner + ' ';
    }
    return owners;
  }

  const test::TemporaryDirectory directory_{test::memory_file_system()};
  Database database_ = Database::open(
      directory_.path(), {.memory_bytes = 16U << 20U, .durability = Durability::asynchronous});
  Table table_ = database_.create_table(account_schema());
  TableOf<Account> accounts_ = accounts_of(table_);
};

TEST_F(TableOfTest, WhatIsInsertedComesBack) {
  EXPECT_TRUE(accounts_.insert(ada()));
  EXPECT_EQ(accounts_.get({"DE", 7}), ada());
  EXPECT_EQ(accounts_.get({"DE", 8}), std::nullopt);
  EXPECT_EQ(table_.get({"DE", 7})->text(), "(\"Ada\", \"DE\", 7, 1, 0, 12.50, null)");
  const Outcome again = accounts_.insert(ada());
  EXPECT_EQ(again.kind(), OutcomeKind::exists);
  EXPECT_EQ(again.text(), "table \"account\": key (\"DE\", 7) exists");
  Account reused;
  table_.read({"DE", 7}, [&](const RowView& row) { accounts_.read(row, reused); });
  EXPECT_EQ(reused, ada());
}

TEST_F(TableOfTest, ManyAreInsertedOrNone) {
  std::vector<Account> many;
  for (std::int64_t id = 1; id <= 100; ++id) {
    many.push_back({.id = id, .country = {'D', 'E'}, .owner = "owner " + std::to_string(id)});
  }
  accounts_.insert_many(many).require();
  for (const Account& account : many) {
    EXPECT_EQ(accounts_.get({"DE", account.id}), account);
  }
  many.front().id = 1000;
  Transaction transaction = database_.begin();
  EXPECT_EQ(accounts_.insert_many(transaction, many).kind(), OutcomeKind::exists);
  EXPECT_EQ(accounts_.get(transaction, {"DE", 1000}), std::nullopt) << "undone";
  transaction.commit();
}

TEST_F(TableOfTest, UpdatesAreOfWholeRowsByTheirKeys) {
  Account changed = ada();
  EXPECT_EQ(accounts_.update(changed).kind(), OutcomeKind::absent);
  EXPECT_TRUE(accounts_.upsert(ada()));
  changed.owner = "Ada, who has another name";
  changed.closed = Date(3);
  EXPECT_TRUE(accounts_.update(changed));
  EXPECT_EQ(accounts_.get({"DE", 7}), changed);
  EXPECT_EQ(owners_in_order(), "Ada, who has another name ") << "indexes follow";
  EXPECT_TRUE(accounts_.upsert(ada()));
  EXPECT_EQ(accounts_.get({"DE", 7}), ada());
  EXPECT_TRUE(accounts_.erase({"DE", 7}));
  EXPECT_EQ(accounts_.erase({"DE", 7}).kind(), OutcomeKind::absent);
}

TEST_F(TableOfTest, ModifyReadsAndWritesInOneStep) {
  accounts_.insert(ada()).require();
  const auto pay_in = [](Account& account) {
    account.balance += Decimal::of(50, 2);
    account.kind = Kind::savings;
    account.owner += " Lovelace";
  };
  EXPECT_TRUE(accounts_.modify({"DE", 7}, pay_in));
  EXPECT_EQ(accounts_.modify({"DE", 8}, pay_in).kind(), OutcomeKind::absent);
  Account expected = ada();
  pay_in(expected);
  EXPECT_EQ(accounts_.get({"DE", 7}), expected);
  EXPECT_EQ(owners_in_order(), "Ada Lovelace ");
  EXPECT_EQ(table_.index("by_kind").cursor(Range::prefix({2})).row()["id"].as_integer(), 7);
  EXPECT_FALSE(table_.index("by_kind").cursor(Range::prefix({1})).valid());
}

TEST_F(TableOfTest, WhatModifyThrowsIsThrownOnAndTheRowStays) {
  accounts_.insert(ada()).require();
  Transaction transaction = database_.begin();
  EXPECT_THROW(static_cast<void>(accounts_.modify(transaction, {"DE", 7},
                                                  [](Account& account) {
                                                    account.visits = 9;
                                                    throw std::runtime_error("mine");
                                                  })),
               std::runtime_error);
  const auto refused = [&](auto edit, std::string_view reason) {
    EXPECT_EQ(error_of([&] { return accounts_.modify(transaction, {"DE", 7}, edit); }, reason),
              ErrorCode::invalid_argument);
  };
  refused([](Account& account) { account.id = 8; },
          "table \"account\", column \"id\": it is in the key");
  refused([](Account& account) { account.balance = Decimal::of(1, 3); }, "column \"balance\"");
  refused([](Account& account) { account.owner.assign(5001, 'x'); }, "column \"owner\"");
  EXPECT_EQ(accounts_.get(transaction, {"DE", 7}), ada());
  EXPECT_TRUE(accounts_.modify(transaction, {"DE", 7}, [](Account& a) { a.visits = 1; }))
      << "the transaction goes on";
  transaction.commit();
  EXPECT_EQ(accounts_.get({"DE", 7})->visits, 1);
}

TEST_F(TableOfTest, TransactionsUndoWhatStructsHaveWritten) {
  accounts_.insert(ada()).require();
  Account bob = ada();
  bob.id = 8;
  bob.owner = "Bob";
  Transaction transaction = database_.begin();
  accounts_.insert(transaction, bob).require();
  accounts_.update(transaction, {.id = 7, .country = {'D', 'E'}, .owner = "Eve"}).require();
  EXPECT_EQ(accounts_.get(transaction, {"DE", 7})->owner, "Eve");
  EXPECT_EQ(error_of([&] { return accounts_.upsert(bob); }), ErrorCode::invalid_argument)
      << "this thread's transaction has it, and cannot end meanwhile";
  accounts_.upsert(transaction, ada()).require();
  accounts_.erase(transaction, {"DE", 7}).require();
  transaction.rollback();
  EXPECT_EQ(accounts_.get({"DE", 7}), ada());
  EXPECT_EQ(accounts_.get({"DE", 8}), std::nullopt);
  EXPECT_EQ(owners_in_order(), "Ada ");
}

TEST_F(TableOfTest, LargeRowsAreModifiedToo) {
  Account large = ada();
  large.owner.assign(5000, 'x');
  accounts_.insert({.id = 1, .owner = "small"}).require();
  database_.drop_index("account", "by_owner");
  accounts_.insert(large).require();
  accounts_.modify({"DE", 7}, [](Account& account) { account.owner.back() = 'y'; }).require();
  large.owner.back() = 'y';
  EXPECT_EQ(accounts_.get({"DE", 7}), large);
  accounts_.modify({"", 1}, [](Account& account) { account.owner.assign(4000, 'z'); }).require();
  EXPECT_EQ(accounts_.get({"", 1})->owner, std::string(4000, 'z'));
}

TEST_F(TableOfTest, ATableMadeInTheSameTransactionHasStructs) {
  Transaction transaction = database_.begin();
  TableSchema schema = account_schema();
  schema.name = "other";
  transaction.create_table(schema).require();
  const TableOf<Account> others = accounts_of(transaction.table("other"));
  others.insert(transaction, ada()).require();
  EXPECT_EQ(others.get(transaction, {"DE", 7}), ada());
  transaction.commit();
  EXPECT_EQ(accounts_of(database_.table("other")).get({"DE", 7}), ada());
}

TEST_F(TableOfTest, ItGoesOnWhenIndexesComeAndTheTableDoesNot) {
  accounts_.insert(ada()).require();
  database_.create_index("account", {.name = "by_visits", .columns = {"visits"}});
  accounts_.modify({"DE", 7}, [](Account& account) { account.visits = 5; }).require();
  EXPECT_TRUE(table_.index("by_visits").cursor(Range::prefix({5})).valid());
  database_.drop_table("account");
  EXPECT_EQ(error_of([&] { return accounts_.get({"DE", 7}).has_value(); }), ErrorCode::not_found);
  EXPECT_EQ(error_of([&] { return accounts_.insert(ada()); }), ErrorCode::not_found);
}

TEST_F(TableOfTest, NoModificationIsLost) {
  accounts_.insert(ada()).require();
  constexpr int kThreads = 4;
  constexpr int kEach = 100;
  test::run_threads(kThreads, [&](std::size_t) {
    for (int round = 0; round < kEach; ++round) {
      database_.run(
          [&](Transaction& transaction) {
            const auto visit = [](Account& account) { ++account.visits; };
            accounts_.modify(transaction, {"DE", 7}, visit).require();
          },
          {.attempts_max = 100'000});
    }
  });
  EXPECT_EQ(accounts_.get({"DE", 7})->visits, kThreads * kEach);
}

Account random_account(Random& random) {
  Account account{.id = static_cast<std::int64_t>(random.below(20)) - 10,
                  .country = {'A', random.one_in(2) ? 'T' : 'U'},
                  .owner = std::string(random.below(random.one_in(20) ? 200 : 5), 'o'),
                  .kind = random.one_in(2) ? Kind::current : Kind::savings,
                  .visits = static_cast<std::int32_t>(random()),
                  .balance = Decimal::of(static_cast<std::int64_t>(random.below(1000)), 2)};
  if (random.one_in(2)) {
    account.closed = Date(static_cast<std::int32_t>(random.below(3)));
  }
  return account;
}

using Model = std::map<std::pair<std::string, std::int64_t>, Account>;

/// The same write to both, which must have the same outcome.
void write(Random& random, const TableOf<Account>& accounts, Transaction& in, Model& model) {
  const Account row = random_account(random);
  const auto at = model.find({std::string(row.country.data(), 2), row.id});
  const bool is_there = at != model.end();
  const std::array<Value, 2> key{std::string_view(row.country.data(), 2), row.id};
  Outcome outcome;
  switch (random.below(5)) {
    case 0: outcome = accounts.insert(in, row); break;
    case 1: outcome = accounts.upsert(in, row); break;
    case 2: outcome = accounts.update(in, row); break;
    case 3:
      outcome = accounts.modify(in, std::span<const Value>(key), [&](Account& now) {
        EXPECT_EQ(now, at->second);
        now = row;
      });
      break;
    default:
      outcome = accounts.erase(in, std::span<const Value>(key));
      EXPECT_EQ(outcome.is_done(), is_there);
      model.erase({std::string(row.country.data(), 2), row.id});
      return;
  }
  if (outcome.kind() == OutcomeKind::exists || outcome.kind() == OutcomeKind::absent) {
    EXPECT_EQ(outcome.kind() == OutcomeKind::exists, is_there);
  } else {
    model[{std::string(row.country.data(), 2), row.id}] = row;
  }
}

TEST_F(TableOfTest, DoesWhatAMapDoes) {
  Random random(test::seed());
  Model model;
  for (test::Rounds rounds(50, 0.5); rounds.next() && !::testing::Test::HasFailure();) {
    Model changed = model;
    Transaction transaction = database_.begin();
    for (std::uint64_t count = random.below(20); count > 0; --count) {
      write(random, accounts_, transaction, changed);
    }
    if (random.one_in(3)) {
      transaction.rollback();
    } else {
      transaction.commit();
      model = changed;
    }
    auto expected = model.begin();
    std::size_t rows = 0;
    for (Cursor cursor = table_.cursor(); cursor.valid(); cursor.next(), ++rows, ++expected) {
      ASSERT_NE(expected, model.end());
      ASSERT_EQ(accounts_.of(cursor.row()), expected->second);
    }
    ASSERT_EQ(rows, model.size());
  }
}

}  // namespace
}  // namespace palimpsest
