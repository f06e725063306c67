// A workload small enough for tests of the driver: accounts, between which money moves. The total
// stays the same, which is its consistency condition.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/random.h"
#include "experiments/oltp/batch_inserter.h"
#include "experiments/oltp/table_reader.h"
#include "experiments/oltp/table_session.h"
#include "experiments/oltp/workload.h"
#include "experiments/tables/columns.h"
#include "experiments/tables/transaction_scope.h"
#include "tests/experiments/oltp/memory_store.h"

namespace palimpsest::experiments::oltp::test {

inline constexpr Number kAccountsOfBranch = 1'500;  ///< a batch of the load, and half of one
inline constexpr std::int64_t kFirstBalance = 100;

enum class BankTable : std::uint8_t { account = 1 };
inline std::string_view name_of(BankTable) noexcept {
  return "account";
}

struct AccountRow {
  std::int64_t balance = 0;
  static constexpr auto columns(auto& row) noexcept { return columns_of(row.balance); }
};

struct AccountKey {
  using Row = AccountRow;
  static constexpr BankTable kTable = BankTable::account;
  Number branch = 0;
  Number account = 0;
  static constexpr auto columns(auto& key) noexcept { return std::tie(key.branch, key.account); }
  auto operator<=>(const AccountKey&) const = default;
};

/// Types 0: moves money. 1: reads an account. 2: moves money, and rolls back.
class BankTerminal final : public Terminal {
 public:
  BankTerminal(std::unique_ptr<MemorySession> session, std::uint64_t seed, Number branches)
      : session_(std::move(session)), random_(seed), branches_(branches) {}

  std::size_t choose() override {
    type_ = random_.below(3);
    from_ = any();
    to_ = any();
    return type_;
  }

  Outcome run() override {
    TransactionScope scope(session_, type_ == 1 ? Intent::read_only : Intent::read_write);
    if (type_ == 1) {
      return scope.read(from_, [](const AccountRow&) {}) ? scope.commit() : Outcome::conflict;
    }
    const bool moved = scope.update(from_, [](AccountRow& row) { row.balance -= 1; }) &&
                       scope.update(to_, [](AccountRow& row) { row.balance += 1; });
    if (!moved) {
      return Outcome::conflict;
    }
    return type_ == 0 ? scope.commit() : Outcome::rolled_back;
  }

  [[nodiscard]] ConflictReason conflict_reason() const noexcept override {
    return session_.conflict_reason();
  }

 private:
  AccountKey any() {
    return {static_cast<Number>(random_.below(static_cast<std::uint64_t>(branches_))),
            static_cast<Number>(random_.below(kAccountsOfBranch))};
  }

  TableSession<MemorySession> session_;
  Random random_;
  Number branches_;
  std::size_t type_ = 0;
  AccountKey from_;
  AccountKey to_;
};

class BankLoader final : public Loader {
 public:
  explicit BankLoader(std::unique_ptr<MemorySession> session) : session_(std::move(session)) {}

  void load(std::uint32_t part, LoadProgress& progress) override {
    BatchInserter<MemorySession> inserter(*session_, progress);
    for (Number account = 0; account < kAccountsOfBranch; ++account) {
      inserter.add(AccountKey{static_cast<Number>(part), account},
                   AccountRow{.balance = kFirstBalance});
    }
    inserter.finish();
  }

 private:
  std::unique_ptr<MemorySession> session_;
};

class BankBench : public BenchOn<MemoryStore> {
 public:
  BankBench(std::unique_ptr<MemoryStore> store, const Options& options)
      : BenchOn(std::move(store)), branches_(static_cast<Number>(options.scale)) {}

  [[nodiscard]] std::unique_ptr<Loader> open_loader() override {
    return std::make_unique<BankLoader>(store().open_session(SessionUse::load));
  }
  [[nodiscard]] std::unique_ptr<Terminal> open_terminal(std::uint32_t /*number*/,
                                                        std::uint64_t seed) override {
    return std::make_unique<BankTerminal>(store().open_session(SessionUse::read_write), seed,
                                          branches_);
  }
  [[nodiscard]] CheckResult check() override {
    TableSession<MemorySession> session(store().open_session(SessionUse::read_write));
    TableReader reader(session);
    std::int64_t sum = 0;
    reader.scan(AccountKey{0, 0}, AccountKey{branches_, 0},
                [&](const AccountKey&, const AccountRow& row) { sum += row.balance; });
    const std::int64_t wanted = std::int64_t{branches_} * kAccountsOfBranch * kFirstBalance;
    return sum == wanted ? CheckResult{}
                         : CheckResult{.violations = 1, .first = {"money has come or gone"}};
  }

 private:
  Number branches_;
};

inline Workload bank_workload() {
  Workload workload;
  workload.traits = {.name = "bank", .label = "toy", .scale_flag = "branches", .scale_max = 100};
  workload.types = {"move", "look", "think_better"};
  workload.figure = Figure{.type = 0, .key = "mpm", .name = "moves a minute"};
  workload.tables = {"account"};
  workload.scale_of = [](std::uint64_t branches) {
    return Scale{.rows = branches * kAccountsOfBranch,
                 .data_bytes = branches * kAccountsOfBranch * 16,
                 .load_parts = static_cast<std::uint32_t>(branches)};
  };
  return workload;
}

inline EngineEntry bank_on(std::shared_ptr<MemoryDisk> disk) {
  const StoreEntry<MemoryStore> engine = memory_store(std::move(disk));
  return {.traits = engine.traits,
          .open = [open = engine.open](const Options& options,
                                       const StoreSettings& settings) -> std::unique_ptr<Bench> {
            return std::make_unique<BankBench>(open(settings), options);
          }};
}

}  // namespace palimpsest::experiments::oltp::test
