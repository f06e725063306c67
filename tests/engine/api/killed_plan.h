// What each thread of a process that is going to be killed does, and what its rows are afterwards.
//
// A thread has rows of its own, in a table of its own and in one that all share, so that nobody
// else decides what is in them; and it moves money between accounts, which all share, by amounts
// that do not depend on what is there. So each of its transactions follows from the seed, from its
// number and from those that were committed before: who has not seen them run knows what they did.
// Every transaction writes its number to a row, the marker, which says how far its thread has come:
// exactly what was done up to there is to be found, in all tables.
// The first thread makes and drops a table, and the indexes of all tables, too.
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
inline constexpr std::int64_t kKilledBalance = 1000;  ///< of each account at first
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
/// Of the rows of these parts.
struct RangeErasure {
  std::string table;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::uint64_t expected = 0;  ///< rows that there are
};
struct Transfer {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t amount = 0;
};
struct TableChange {
  std::string table;
  bool is_made = false;  ///< else dropped
};
struct IndexChange {
  std::string table;
  std::string index;
  bool is_made = false;  ///< else dropped
};
using KilledStep = std::variant<RowChange, RangeErasure, Transfer, TableChange, IndexChange>;

/// A transaction.
struct KilledPlan {
  std::uint64_t number = 0;
  bool is_synchronous = false;
  bool is_bulk = false;
  bool is_rolled_back = false;  ///< by its owner, when all is done
  Isolation isolation{};
  std::vector<KilledStep> steps{};
  /// Rows as they are then, by table; nothing: none.
  std::map<std::string, std::map<ModelKey, std::optional<ModelRow>>> rows{};

  [[nodiscard]] bool has_definition() const;
};

/// A thread over all lives of its process, and what it has committed.
class KilledThread {
 public:
  KilledThread(std::uint64_t seed, std::uint32_t thread);

  [[nodiscard]] std::uint32_t thread() const noexcept { return thread_; }
  /// Of the last transaction that was committed; 0: none was.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// Its transaction of this number in this life of the process, if it comes after what was
  /// committed.
  [[nodiscard]] KilledPlan plan(std::uint64_t life, std::uint64_t number) const;
  void commit(const KilledPlan& plan);

  /// Its own rows, by table.
  [[nodiscard]] const std::map<std::string, ModelRows>& tables() const noexcept { return tables_; }
  /// Of all tables, if it is the first thread, which changes them: table and name.
  [[nodiscard]] const std::set<std::pair<std::string, std::string>>& indexes() const noexcept {
    return indexes_;
  }
  /// What it has put into an account, more than it has taken.
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

/// All that is there before the first of them.
void make_killed_tables(Database& database);

enum class KilledFate : std::uint32_t {
  given_up = 1,  ///< or rolled back, for certain
  committed
};

/// Runs it, again after conflicts. Throws if a call says what it must not.
[[nodiscard]] KilledFate run_killed(Database& database, const KilledPlan& plan);

}  // namespace palimpsest::test
