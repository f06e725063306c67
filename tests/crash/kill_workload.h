// The transactions of the threads of a process that is going to be killed, and their expected
// result.
//
// Everything is a function of seed, round, thread and transaction number: the process under test
// reports only the numbers of the acknowledged transactions, which determine the complete contents.
// Each thread has records of its own, on the same leaves as those of the other threads, and a
// *marker*, which each of its transactions sets to its number. Some records are shared: *accounts*,
// between which amounts are moved. An account's value has its balance and, per thread, the number
// of the last transaction that touched it: this reveals a transaction that is half there, or there
// without one on which it depends. Thread-safety: an object belongs to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "btree/btree.h"
#include "engine/engine.h"
#include "tests/support/sim_random.h"

namespace palimpsest::engine::test {

inline constexpr std::uint32_t kKillThreads = 4;
inline constexpr std::uint32_t kKillAccounts = 12;

/// The records of a database, or a part of them.
using Records = std::map<std::string, std::string>;

/// Value of an account's record.
struct Account {
  std::int64_t balance = 0;
  std::array<std::uint64_t, kKillThreads> last{};  ///< transaction per thread; 0: none
};

[[nodiscard]] std::string account_key(std::uint32_t account);
[[nodiscard]] std::string value_of(const Account& account);

/// One transaction, decided upon beforehand.
struct KillPlan {
  struct Change {
    std::string key;
    std::optional<std::string> value;  ///< nothing: removed
  };
  struct Transfer {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::int64_t amount = 0;
  };

  std::uint64_t number = 0;
  std::vector<Change> rolled_back;  ///< done and undone before, in a transaction of its own
  std::vector<Change> changes;
  std::optional<Transfer> transfer;
  bool synchronous = true;
};

/// One thread's share of the expected contents.
class KillThread {
 public:
  KillThread(std::uint64_t seed, std::uint32_t thread) : seed_(seed), thread_(thread) {}

  /// The number of transactions that have committed so far.
  [[nodiscard]] std::uint64_t counted() const noexcept { return counted_; }
  [[nodiscard]] const Records& records() const noexcept { return records_; }
  /// What it has added to accounts.
  [[nodiscard]] const std::array<Account, kKillAccounts>& accounts() const noexcept {
    return accounts_;
  }

  /// The next transaction in a round.
  [[nodiscard]] KillPlan plan(std::uint64_t round) const;
  /// The transaction of the plan has committed.
  void count(const KillPlan& plan);

  /// Runs the plan until it has committed; returns the first fault, empty if there was none.
  [[nodiscard]] std::string run(Engine& database, btree::BTree& tree, const KillPlan& plan) const;

  /// The number in the thread's marker; nothing if there is no marker or it is damaged.
  [[nodiscard]] std::optional<std::uint64_t> marked(const Records& found) const;

 private:
  [[nodiscard]] std::string marker_key() const;
  [[nodiscard]] KillPlan::Change draw(palimpsest::test::SimRandom& random,
                                      std::uint64_t number) const;
  /// Returns whether it is committed; false: in conflict with another thread's, and undone.
  [[nodiscard]] bool attempt(Engine& database, btree::BTree& tree, const KillPlan& plan,
                             std::string& wrong) const;

  std::uint64_t seed_;
  std::uint32_t thread_;
  std::uint64_t counted_ = 0;
  Records records_;
  std::array<Account, kKillAccounts> accounts_{};
};

/// All records that must be there.
[[nodiscard]] Records expected_records(const std::vector<KillThread>& threads);
/// A readable difference of two contents; empty if there is none.
[[nodiscard]] std::string difference(const Records& expected, const Records& found);

}  // namespace palimpsest::engine::test
