// A bank: threads move money between accounts, and none is made or lost.
//
//   example_bank DIRECTORY [TRANSFERS]
//
// Each transfer is one transaction: two balances and an entry in the ledger, all or nothing. Two
// transfers that change the same account at once conflict; run() retries one of them. At the end
// the sum of the balances must be the initial one, and each balance must follow from the ledger.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/table_of.h"

namespace {

using namespace palimpsest;

constexpr std::int64_t kAccounts = 1000;
constexpr std::int64_t kThreads = 8;
constexpr Decimal kOpeningBalance = Decimal::of(100'00, 2);

struct Account {
  std::int64_t id = 0;
  std::string owner{};
  Decimal balance{};
};

struct Transfer {
  std::int64_t number = 0;
  std::int64_t source = 0;
  std::int64_t target = 0;
  Decimal amount{};
};

TableSchema account_schema() {
  return {.name = "account",
          .columns = {{"id", types::int64()},
                      {"owner", types::varchar(40)},
                      {"balance", types::decimal(12, 2)}},
          .key = {"id"}};
}

TableSchema transfer_schema() {
  return {.name = "transfer",
          .columns = {{"number", types::int64()},
                      {"source", types::int64()},
                      {"target", types::int64()},
                      {"amount", types::decimal(12, 2)}},
          .key = {"number"}};
}

Table find_or_create(Database& database, const TableSchema& schema) {
  const auto found = database.find_table(schema.name);
  return found ? *found : database.create_table(schema);
}

class Bank {
 public:
  explicit Bank(const char* directory)
      : database_(Database::open(directory)),
        accounts_(
            find_or_create(database_, account_schema()),
            {{"id", &Account::id}, {"owner", &Account::owner}, {"balance", &Account::balance}}),
        transfers_(find_or_create(database_, transfer_schema()), {{"number", &Transfer::number},
                                                                  {"source", &Transfer::source},
                                                                  {"target", &Transfer::target},
                                                                  {"amount", &Transfer::amount}}) {
    if (!accounts_.get({0})) {
      open_accounts();
    }
    auto cursor = transfers_.table().cursor();
    cursor.seek_last();
    next_number_ = cursor.valid() ? transfers_.of(cursor.row()).number + 1 : 0;
  }

  /// False if the source has less money.
  bool transfer(std::int64_t source, std::int64_t target, const Decimal& amount) {
    const std::int64_t number = next_number_++;
    return database_.run([&](Transaction& transaction) {
      bool covered = false;
      const auto take = [&](Account& account) {
        covered = account.balance >= amount;
        account.balance -= covered ? amount : Decimal();
      };
      const auto give = [&](Account& account) { account.balance += amount; };
      accounts_.modify(transaction, {source}, take).require();
      if (!covered) {
        transaction.rollback();
        return false;
      }
      accounts_.modify(transaction, {target}, give).require();
      transfers_
          .insert(transaction,
                  {.number = number, .source = source, .target = target, .amount = amount})
          .require();
      return true;
    });
  }

  /// Whether the balances follow from the ledger, and have the initial sum. No transfer is running.
  [[nodiscard]] bool is_sound() const {
    std::vector<Decimal> expected(kAccounts, kOpeningBalance);
    transfers_.table().visit(Range::all(), [&](const RowView& row) {
      const Transfer transfer = transfers_.of(row);
      expected[static_cast<std::size_t>(transfer.source)] -= transfer.amount;
      expected[static_cast<std::size_t>(transfer.target)] += transfer.amount;
      return true;
    });
    Decimal sum;
    bool as_in_ledger = true;
    accounts_.table().visit(Range::all(), [&](const RowView& row) {
      const Account account = accounts_.of(row);
      sum += account.balance;
      as_in_ledger &= account.balance == expected[static_cast<std::size_t>(account.id)];
      return true;
    });
    std::printf("the balances have a sum of %s\n", sum.text().c_str());
    return as_in_ledger && sum == Decimal::of(kOpeningBalance.unscaled() * kAccounts, 2);
  }

  void close() { database_.close(); }

 private:
  void open_accounts() {
    database_.run([&](Transaction& transaction) {
      for (std::int64_t id = 0; id < kAccounts; ++id) {
        accounts_
            .insert(
                transaction,
                {.id = id, .owner = "customer " + std::to_string(id), .balance = kOpeningBalance})
            .require();
      }
    });
  }

  Database database_;
  TableOf<Account> accounts_;
  TableOf<Transfer> transfers_;
  std::atomic<std::int64_t> next_number_{0};
};

/// Makes transfers between accounts chosen at random; returns how many were covered.
std::int64_t trade(Bank& bank, std::int64_t transfers, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::int64_t> account(0, kAccounts - 1);
  std::uniform_int_distribution<std::int64_t> cents(1, 50'00);
  std::int64_t covered = 0;
  for (std::int64_t made = 0; made < transfers; ++made) {
    const std::int64_t source = account(random);
    const std::int64_t target = (source + 1 + account(random) % (kAccounts - 1)) % kAccounts;
    covered += bank.transfer(source, target, Decimal::of(cents(random), 2)) ? 1 : 0;
  }
  return covered;
}

int run(const char* directory, std::int64_t transfers) {
  Bank bank(directory);
  std::atomic<std::int64_t> covered{0};
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (std::int64_t number = 0; number < kThreads; ++number) {
      threads.emplace_back([&, number] {
        covered += trade(bank, transfers / kThreads, static_cast<unsigned>(number));
      });
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%lld transfers by %lld threads in %.1f s\n", static_cast<long long>(covered.load()),
              static_cast<long long>(kThreads), seconds.count());
  const bool sound = bank.is_sound();
  bank.close();
  return sound ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: example_bank DIRECTORY [TRANSFERS]\n");
    return 2;
  }
  try {
    return run(argv[1], argc == 3 ? std::stoll(argv[2]) : 4000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "example_bank: %s\n", error.what());
    return 1;
  }
}
