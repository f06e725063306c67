// What the threads of a process that is going to be killed do, and what they must leave behind.
//
// Everything is a function of seed, round, thread and transaction number: the process under test
// reports only the numbers of the transactions that it got acknowledged, and whoever knows how many
// counted knows all that must be there. Each thread has records of its own, mixed among those of
// the others on the same leaves, and a *marker* that every transaction of it sets to its number.
// Some records are shared: *accounts*, between which amounts are moved. An account's value has its
// balance and, per thread, the number of the last transaction that touched it: a transaction that
// is there by half, or one that is there without another it was built upon, shows.
// Thread-safety: an object belongs to one thread.
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

/// One thread's share of what must be there.
class KillThread {
 public:
  KillThread(std::uint64_t seed, std::uint32_t thread) : seed_(seed), thread_(thread) {}

  /// How many transactions count so far.
  [[nodiscard]] std::uint64_t counted() const noexcept { return counted_; }
  [[nodiscard]] const Records& records() const noexcept { return records_; }
  /// What it has added to accounts.
  [[nodiscard]] const std::array<Account, kKillAccounts>& accounts() const noexcept {
    return accounts_;
  }

  /// The next transaction in a round.
  [[nodiscard]] KillPlan plan(std::uint64_t round) const;
  /// It counts.
  void count(const KillPlan& plan);

  /// Does it, as often as it takes until it has committed; the first thing that is not as it must
  /// be, empty if all was.
  [[nodiscard]] std::string run(Engine& database, btree::BTree& tree, const KillPlan& plan) const;

  /// The number in the thread's marker; nothing if there is no marker or it is damaged.
  [[nodiscard]] std::optional<std::uint64_t> marked(const Records& found) const;

 private:
  [[nodiscard]] std::string marker_key() const;
  [[nodiscard]] KillPlan::Change draw(palimpsest::test::SimRandom& random,
                                      std::uint64_t number) const;
  /// Whether it is committed; false: in conflict with another thread's, and undone.
  [[nodiscard]] bool attempt(Engine& database, btree::BTree& tree, const KillPlan& plan,
                             std::string& wrong) const;

  std::uint64_t seed_;
  std::uint32_t thread_;
  std::uint64_t counted_ = 0;
  Records records_;
  std::array<Account, kKillAccounts> accounts_{};
};

/// All that must be there.
[[nodiscard]] Records expected_records(const std::vector<KillThread>& threads);
/// Where two contents differ, for people; empty if they do not.
[[nodiscard]] std::string difference(const Records& expected, const Records& found);

}  // namespace palimpsest::engine::test
