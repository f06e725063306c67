#include "tests/engine/api/killed_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <stdexcept>

#include "base/random.h"

namespace palimpsest::test {
namespace {

constexpr const char* kPassingTable = "passing";
constexpr std::array<const char*, 2> kIndexes{kByGroup, kByNumber};
constexpr std::int64_t kParts = 20;
constexpr std::int64_t kPartsFilled = 8;     ///< at a time, in order, behind all rows of a table
constexpr std::int64_t kPartsAppended = 36;  ///< so many that they get leaves of their own
constexpr std::int64_t kPartsMax = 30'000;
constexpr std::int64_t kNames = 16;
constexpr std::int64_t kGroups = 10;
constexpr std::int64_t kNumbersOfKey = 4;
constexpr std::int64_t kSmall = 500;        ///< bytes of most bodies
constexpr std::int64_t kModifiedMax = 700;  ///< bytes of a body: a larger one may leave its page
constexpr unsigned kAttemptsMax = 20;

std::uint64_t mixed(std::uint64_t seed, std::initializer_list<std::uint64_t> with) {
  for (const std::uint64_t value : with) {
    seed ^= value;
    seed = splitmix64(seed);
  }
  return seed;
}

std::string name_of_key(std::int64_t name) {
  return fmt::format("n{:02}", name);
}

/// Makes one plan.
class Planner {
 public:
  Planner(const KilledThread& thread, std::uint64_t seed, std::uint64_t number)
      : thread_(thread), random_(seed) {
    plan_.number = number;
    for (const auto& [name, rows] : thread.tables()) {
      names_.push_back(name);
    }
  }

  KilledPlan make() {
    plan_.is_synchronous = one_in(3);
    plan_.is_bulk = one_in(20);
    plan_.is_rolled_back = one_in(12);
    plan_.isolation = one_in(3) ? Isolation::read_committed : Isolation::snapshot;
    if (thread_.thread() == 0 && one_in(10)) {
      add_definition();
    }
    const bool fills = one_in(plan_.is_bulk ? 2 : 40);
    const bool fills_last = fills && one_in(2);  // so that it has rows that are not written yet
    if (fills && !fills_last) {
      fill_behind(own_table(thread_.thread()));
    }
    add_changes();
    if (fills_last) {
      fill_behind(own_table(thread_.thread()));
    }
    return std::move(plan_);
  }

 private:
  [[nodiscard]] std::int64_t any(std::int64_t below) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(below)));
  }
  [[nodiscard]] bool one_in(std::uint64_t n) { return random_.one_in(n); }
  [[nodiscard]] const std::string& any_table() {
    return names_[static_cast<std::size_t>(any(std::ssize(names_)))];
  }
  /// In the shared table, the parts of all threads interleave.
  [[nodiscard]] std::int64_t any_part(const std::string& table) {
    const std::int64_t part = any(kParts);
    return table == kSharedTable ? part * kKilledThreads + thread_.thread() : part;
  }
  [[nodiscard]] std::string any_body() {
    return body_of(one_in(30) ? any(60'000) : one_in(8) ? any(6'000) : any(kSmall));
  }
  [[nodiscard]] std::string body_of(std::int64_t length) {
    return std::string(static_cast<std::size_t>(length), static_cast<char>('a' + any(26)));
  }
  /// No two keys can have the same number, so no plan depends on which of them has it.
  [[nodiscard]] ModelRow any_row(std::int64_t part, std::int64_t name) {
    const std::int64_t number = (part * kNames + name) * kNumbersOfKey + any(kNumbersOfKey);
    return {.group = one_in(5) ? std::nullopt : std::optional(any(kGroups)),
            .number = one_in(3) ? std::nullopt : std::optional(number),
            .count = any(1000),
            .body = any_body()};
  }

  /// The thread's row as the transaction has left it so far.
  [[nodiscard]] const ModelRow* see(const std::string& table, const ModelKey& key) const {
    if (const auto changed = plan_.rows.find(table); changed != plan_.rows.end()) {
      if (const auto found = changed->second.find(key); found != changed->second.end()) {
        return found->second ? &*found->second : nullptr;
      }
    }
    const auto rows = thread_.tables().find(table);
    if (rows == thread_.tables().end()) {
      return nullptr;
    }
    const auto found = rows->second.find(key);
    return found == rows->second.end() ? nullptr : &found->second;
  }

  void add_change(const std::string& table, ChangeKind kind, const ModelKey& key,
                  const ModelRow& row) {
    const ModelRow* const seen = see(table, key);
    if (is_modification(kind) && seen != nullptr && std::ssize(seen->body) > kModifiedMax) {
      return;
    }
    OutcomeKind expected = OutcomeKind::done;
    if (is_insertion(kind) && seen != nullptr) {
      expected = OutcomeKind::exists;
    } else if (!is_insertion(kind) && kind != ChangeKind::upsert && seen == nullptr) {
      expected = OutcomeKind::absent;
    } else {
      plan_.rows[table][key] = changed_by(kind, seen, row);
    }
    plan_.steps.emplace_back(RowChange{table, kind, key, row, expected});
  }
  void add_marker() {
    ModelRow row{.body = any_body()};
    row.count = static_cast<std::int64_t>(plan_.number);
    add_change(own_table(thread_.thread()), ChangeKind::upsert, marker_key(), row);
  }
  void add_erasure(const std::string& table, std::int64_t lower, std::int64_t upper) {
    std::set<ModelKey> keys;
    const auto collect = [&](const auto& rows) {
      const auto end = rows.lower_bound({upper + 1, ""});
      for (auto row = rows.lower_bound({lower, ""}); row != end; ++row) {
        keys.insert(row->first);
      }
    };
    collect(plan_.rows[table]);
    if (const auto rows = thread_.tables().find(table); rows != thread_.tables().end()) {
      collect(rows->second);
    }
    std::erase_if(keys, [&](const ModelKey& key) { return see(table, key) == nullptr; });
    for (const ModelKey& key : keys) {
      plan_.rows[table][key] = std::nullopt;
    }
    plan_.steps.emplace_back(RangeErasure{table, lower, upper, keys.size()});
  }
  /// Behind all rows that the table has now or had recently: erased ones may still be there.
  [[nodiscard]] std::int64_t first_part_behind(const std::string& table) const {
    const auto rows = thread_.tables().find(table);
    const std::int64_t last = rows == thread_.tables().end() || rows->second.empty()
                                  ? 0
                                  : rows->second.rbegin()->first.part;
    return last >= kPartsMax ? kParts : std::max(kParts, last + 1);
  }
  /// Inserts rows in key order, behind all existing ones; erases those that it inserted so before.
  void fill_behind(const std::string& table) {
    const std::int64_t first = first_part_behind(table);
    add_erasure(table, kParts, first == kParts ? kPartsMax + kPartsAppended : first - 1);
    const bool is_appended = plan_.is_bulk && one_in(3);
    const std::int64_t last = first + (is_appended ? kPartsAppended : any(kPartsFilled));
    for (std::int64_t part = first; part <= last; ++part) {
      for (std::int64_t name = 0; name < kNames; ++name) {
        ModelRow row = any_row(part, name);
        if (is_appended) {  // a row outside its leaf ends the append
          row.body = body_of(kSmall + any(kModifiedMax - kSmall));
        }
        add_change(table, ChangeKind::insert, {part, name_of_key(name)}, row);
      }
    }
  }
  void add_any_erasure(const std::string& table) {
    const std::int64_t lower = any_part(table);
    const bool is_shared = table == kSharedTable;
    add_erasure(table, lower, is_shared ? lower : lower + any(one_in(8) ? kParts : 3));
  }
  void add_any_change() {
    const std::string& table = any_table();
    if (one_in(25)) {
      return add_any_erasure(table);
    }
    const std::int64_t part = any_part(table);
    const std::int64_t name = any(kNames);
    const auto kind = static_cast<ChangeKind>(any(kChangeKinds));
    add_change(table, kind, {part, name_of_key(name)}, any_row(part, name));
  }
  void add_transfer() {
    const std::int64_t from = any(kKilledAccounts);
    const std::int64_t to = (from + 1 + any(kKilledAccounts - 1)) % kKilledAccounts;
    plan_.steps.emplace_back(Transfer{from, to, 1 + any(50)});
  }
  /// Any changes, with the marker before or behind them.
  void add_changes() {
    const bool is_marked_first = one_in(2);
    if (is_marked_first) {
      add_marker();
    }
    const std::int64_t count = plan_.is_bulk ? 10 + any(150) : one_in(25) ? any(60) : any(8);
    for (std::int64_t i = 0; i < count; ++i) {
      add_any_change();
    }
    if (one_in(plan_.is_bulk ? 8 : 2)) {
      add_transfer();
    }
    if (!is_marked_first) {
      add_marker();
    }
  }

  void add_definition() {
    if (one_in(3)) {
      return change_passing_table();
    }
    const std::string others = own_table(static_cast<std::uint32_t>(any(kKilledThreads)));
    const std::string& table = one_in(3) ? others : any_table();
    const char* const index = kIndexes[static_cast<std::size_t>(any(std::ssize(kIndexes)))];
    const bool is_made = !thread_.indexes().contains({table, index});
    plan_.is_bulk = plan_.is_bulk && is_made;  // a bulk drops nothing
    plan_.steps.emplace_back(IndexChange{table, index, is_made});
  }
  void change_passing_table() {
    const bool is_made = !thread_.tables().contains(kPassingTable);
    plan_.is_bulk = is_made && one_in(2);
    plan_.steps.emplace_back(TableChange{kPassingTable, is_made});
    if (!is_made) {
      std::erase(names_, kPassingTable);
      return;
    }
    names_.emplace_back(kPassingTable);
    fill_behind(kPassingTable);
  }

  const KilledThread& thread_;
  Random random_;
  std::vector<std::string> names_;  ///< of existing tables
  KilledPlan plan_;
};

// Running

void expect(const Outcome& outcome, OutcomeKind expected, const std::string& what) {
  if (outcome.is_conflict()) {
    outcome.require();
  }
  if (outcome.kind() != expected) {
    throw std::runtime_error(fmt::format("{}: {}", what, outcome.text()));
  }
}

void run(Transaction& in, const RowChange& step) {
  expect(change(in.table(step.table), &in, step.kind, step.key, step.row), step.expected,
         fmt::format("kind {} of ({}, {}) in \"{}\"", static_cast<int>(step.kind), step.key.part,
                     step.key.name, step.table));
}

void run(Transaction& in, const RangeErasure& step) {
  const Range range = Range::between({step.lower}, {step.upper});
  const std::uint64_t rows = in.table(step.table).erase_range(in, range).require();
  if (rows != step.expected) {
    throw std::runtime_error(fmt::format("range {} to {} of \"{}\": {} rows are erased, not {}",
                                         step.lower, step.upper, step.table, rows, step.expected));
  }
}

void run(Transaction& in, const Transfer& step) {
  const Table accounts = in.table(kAccountTable);
  const auto count = accounts.column<std::int64_t>("count");
  for (const auto& [account, amount] :
       {std::pair(step.from, -step.amount), std::pair(step.to, step.amount)}) {
    const ModelKey key = account_key(account);
    const auto edit = [&](RowEditor& row) { row.set(count, row.get(count) + amount); };
    expect(accounts.modify(in, {key.part, key.name}, edit), OutcomeKind::done, "a transfer");
  }
}

void run(Transaction& in, const TableChange& step) {
  expect(step.is_made ? in.create_table(model_schema(step.table)) : in.drop_table(step.table),
         OutcomeKind::done, fmt::format("table \"{}\" comes or goes", step.table));
}

void run(Transaction& in, const IndexChange& step) {
  expect(step.is_made ? in.create_index(step.table, index_schema(step.index))
                      : in.drop_index(step.table, step.index),
         OutcomeKind::done, fmt::format("index of \"{}\" comes or goes", step.table));
}

/// The error of a conflict, or of a transaction that was cancelled for blocking others.
bool may_be_given_up(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::conflict:
    case ErrorCode::gate_timeout:
    case ErrorCode::snapshot_too_old:
    case ErrorCode::transaction_too_old:
    case ErrorCode::version_budget_exceeded: return true;
    default: return false;
  }
}

}  // namespace

std::string own_table(std::uint32_t thread) {
  return fmt::format("own_{}", thread);
}

ModelKey account_key(std::int64_t account) {
  return {account, "account"};
}

ModelKey marker_key() {
  return {-1, "marker"};
}

IndexSchema index_schema(const std::string& index) {
  return index == kByNumber ? IndexSchema{.name = index, .columns = {"number"}, .unique = true}
                            : IndexSchema{.name = index, .columns = {"grp"}};
}

bool KilledPlan::has_definition() const {
  return std::ranges::any_of(steps, [](const KilledStep& step) {
    return std::holds_alternative<TableChange>(step) || std::holds_alternative<IndexChange>(step);
  });
}

KilledThread::KilledThread(std::uint64_t seed, std::uint32_t thread)
    : seed_(seed), thread_(thread), tables_{{own_table(thread), {}}, {kSharedTable, {}}} {
  if (thread != 0) {
    return;
  }
  for (const char* const index : kIndexes) {
    indexes_.emplace(kSharedTable, index);
    for (std::uint32_t i = 0; i < kKilledThreads; ++i) {
      indexes_.emplace(own_table(i), index);
    }
  }
}

KilledPlan KilledThread::plan(std::uint64_t life, std::uint64_t number) const {
  return Planner(*this, mixed(seed_, {life, thread_, number}), number).make();
}

void KilledThread::commit(const KilledPlan& plan) {
  number_ = plan.number;
  for (const KilledStep& step : plan.steps) {
    if (const auto* const table = std::get_if<TableChange>(&step)) {
      change_table(*table);
    } else if (const auto* const index = std::get_if<IndexChange>(&step)) {
      change_index(*index);
    } else if (const auto* const transfer = std::get_if<Transfer>(&step)) {
      paid_in_[static_cast<std::size_t>(transfer->from)] -= transfer->amount;
      paid_in_[static_cast<std::size_t>(transfer->to)] += transfer->amount;
    }
  }
  for (const auto& [table, changed] : plan.rows) {
    ModelRows& rows = tables_.at(table);
    for (const auto& [key, row] : changed) {
      if (row) {
        rows.insert_or_assign(key, *row);
      } else {
        rows.erase(key);
      }
    }
  }
}

void KilledThread::change_table(const TableChange& change) {
  if (change.is_made) {
    tables_[change.table];
    return;
  }
  tables_.erase(change.table);
  std::erase_if(indexes_, [&](const auto& index) { return index.first == change.table; });
}

void KilledThread::change_index(const IndexChange& change) {
  if (change.is_made) {
    indexes_.emplace(change.table, change.index);
  } else {
    indexes_.erase({change.table, change.index});
  }
}

void make_killed_tables(Database& database) {
  const Table accounts = database.create_table(model_schema(kAccountTable));
  for (std::int64_t i = 0; i < kKilledAccounts; ++i) {
    change(accounts, nullptr, ChangeKind::insert, account_key(i), {.count = kKilledBalance})
        .require();
  }
  database.create_table(model_schema(kSharedTable));
  for (std::uint32_t i = 0; i < kKilledThreads; ++i) {
    database.create_table(model_schema(own_table(i)));
  }
  const KilledThread first(0, 0);
  for (const auto& [table, index] : first.indexes()) {
    database.create_index(table, index_schema(index));
  }
}

KilledOutcome run_killed(Database& database, const KilledPlan& plan) {
  const RunOptions options{
      .transaction = {.durability =
                          plan.is_synchronous ? Durability::synchronous : Durability::asynchronous,
                      .isolation = plan.isolation,
                      .bulk = plan.is_bulk},
      .attempts_max = kAttemptsMax,
      .restart_as_bulk = !plan.has_definition()};  // a bulk drops nothing
  try {
    database.run(
        [&](Transaction& transaction) {
          for (const KilledStep& step : plan.steps) {
            std::visit([&](const auto& one) { run(transaction, one); }, step);
          }
          if (plan.is_rolled_back) {
            transaction.rollback();
          }
        },
        options);
  } catch (const Error& error) {
    if (!may_be_given_up(error.code())) {
      throw;
    }
    return KilledOutcome::given_up;
  }
  return plan.is_rolled_back ? KilledOutcome::given_up : KilledOutcome::committed;
}

}  // namespace palimpsest::test
