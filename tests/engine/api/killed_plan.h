// The transactions of each thread of a process that is going to be killed, and the expected rows.
//
// A thread owns its rows, in a table of its own and in one that all threads share, so no other
// thread changes them; and it moves money between shared accounts, by amounts that do not depend on
// their balances. So each transaction follows from the seed, its number and the thread's committed
// transactions: another process can compute what they did without having seen them run. Every
// transaction writes its number to a row, the marker, which tells how far its thread has come: all
// tables contain exactly the transactions up to that number. The first thread also makes and drops
// a table, and the indexes of all tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "palimpsest/database.h"

#include "tests/engine/api/model_calls.h"
#include "tests/engine/api/model_database.h"

namespace palimpsest::test {

inline constexpr std::uint32_t kKilledThreads = 3;
inline constexpr std::int64_t kKilledAccounts = 24;
inline constexpr std::int64_t kKilledBalance = 1000;  ///< initial balance of each account
inline constexpr const char* kAccountTable = "account";
inline constexpr const char* kSharedTable = "shared";

[[nodiscard]] std::string own_table(std::uint32_t thread);
[[nodiscard]] ModelKey account_key(std::int64_t account);
[[nodiscard]] ModelKey marker_key();
[[nodiscard]] IndexSchema index_schema(const std::string& index);

struct RowChange {
  std::string table;
  ChangeKind kind{};
  ModelKey key{};
  ModelRow row{};
  OutcomeKind expected = OutcomeKind::done;
};
/// Erases the rows of these parts.
struct RangeErasure {
  std::string table;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::uint64_t expected = 0;  ///< existing rows
};
struct Transfer {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t amount = 0;
};
struct TableChange {
  std::string table;
  bool is_made = false;  ///< otherwise dropped
};
struct IndexChange {
  std::string table;
  std::string index;
  bool is_made = false;  ///< otherwise dropped
};
using KilledStep = std::variant<RowChange, RangeErasure, Transfer, TableChange, IndexChange>;

/// A transaction.
struct KilledPlan {
  std::uint64_t number = 0;
  bool is_synchronous = false;
  bool is_bulk = false;
  bool is_rolled_back = false;  ///< by its owner, at the end
  Isolation isolation{};
  std::vector<KilledStep> steps{};
  /// The expected rows after it, by table; nullopt: the row does not exist.
  std::map<std::string, std::map<ModelKey, std::optional<ModelRow>>> rows{};

  [[nodiscard]] bool has_definition() const;
};

/// A thread over all lives of its process, and what it has committed.
class KilledThread {
 public:
  KilledThread(std::uint64_t seed, std::uint32_t thread);

  [[nodiscard]] std::uint32_t thread() const noexcept { return thread_; }
  /// The number of the last committed transaction; 0: none.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// Its transaction of this number in this life of the process; the number must be above that of
  /// the last committed one.
  [[nodiscard]] KilledPlan plan(std::uint64_t life, std::uint64_t number) const;
  void commit(const KilledPlan& plan);

  /// Its own rows, by table.
  [[nodiscard]] const std::map<std::string, ModelRows>& tables() const noexcept { return tables_; }
  /// The indexes of all tables, as table and name, if this is the first thread, which changes them.
  [[nodiscard]] const std::set<std::pair<std::string, std::string>>& indexes() const noexcept {
    return indexes_;
  }
  /// The sum of what it has paid into an account, less what it has taken.
  [[nodiscard]] std::int64_t paid_in(std::int64_t account) const {
    return paid_in_[static_cast<std::size_t>(account)];
  }

 private:
  void change_table(const TableChange& change);
  void change_index(const IndexChange& change);

  std::uint64_t seed_;
  std::uint32_t thread_;
  std::uint64_t number_ = 0;
  std::map<std::string, ModelRows> tables_;
  std::set<std::pair<std::string, std::string>> indexes_;
  std::array<std::int64_t, kKilledAccounts> paid_in_{};
};

/// Makes everything that must exist before the first transaction.
void make_killed_tables(Database& database);

enum class KilledOutcome : std::uint32_t {
  given_up = 1,  ///< or rolled back, for certain
  committed
};

/// Runs the plan, again after conflicts. Throws if a call gives a wrong result.
[[nodiscard]] KilledOutcome run_killed(Database& database, const KilledPlan& plan);

}  // namespace palimpsest::test
