// The whole public API at random beside a model: tables and indexes that come and go, several
// transactions of all kinds at a time, bulks, ranges, values of any size, cursors in all
// directions, a small memory, openings and backups. Every result equals the model's, or is a
// conflict that the model allows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/database.h"

#include "base/random.h"
#include "tests/engine/api/model_calls.h"
#include "tests/engine/api/model_database.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using namespace palimpsest::test;

constexpr std::int64_t kParts = 40;
constexpr std::int64_t kNames = 40;
constexpr std::int64_t kGroups = 12;
constexpr std::int64_t kNumbers = 3000;
constexpr std::size_t kOpenMax = 5;
constexpr int kStepsInRound = 1500;
const std::array<std::string, 3> kTableNames{"first", "second", "third"};

Options small() {
  Options options;
  options.memory_bytes = std::uint64_t{8} << 20U;
  options.log_bytes_max = std::uint64_t{64} << 20U;
  options.durability = Durability::asynchronous;
  options.autocommit_patience = std::chrono::milliseconds(1);
  options.definition_patience = std::chrono::milliseconds(5);
  return options;
}

/// A transaction of the engine and of the model. Null: the call makes its own.
struct Open {
  std::optional<Transaction> real{};
  ModelTransaction model{};
};

/// An open cursor, and the rows that it must show.
struct Held {
  Cursor cursor;
  ModelRows rows;
  std::ptrdiff_t passed = 0;
};

class ApiModel : public ::testing::Test {
 protected:
  ApiModel() : random_(seed()) { open(); }

  void open() { database_.emplace(Database::open(directory_.path("db"), small())); }

  [[nodiscard]] std::int64_t any(std::int64_t below) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(below)));
  }
  [[nodiscard]] bool one_in(std::uint64_t n) { return random_.one_in(n); }
  [[nodiscard]] Direction any_direction() {
    return one_in(2) ? Direction::forward : Direction::backward;
  }
  [[nodiscard]] ModelKey any_key() { return {any(kParts), fmt::format("n{}", any(kNames))}; }
  [[nodiscard]] std::string any_body() {
    const std::int64_t length = one_in(60) ? any(150'000) : one_in(10) ? any(5'000) : any(600);
    return std::string(static_cast<std::size_t>(length), static_cast<char>('a' + any(26)));
  }
  [[nodiscard]] ModelRow any_row() {
    return {.group = one_in(5) ? std::nullopt : std::optional(any(kGroups)),
            .number = one_in(3) ? std::nullopt : std::optional(any(kNumbers)),
            .count = any(1000),
            .body = any_body()};
  }
  /// An existing table, if there is any.
  [[nodiscard]] const std::string* any_table() {
    std::vector<const std::string*> there;
    there.reserve(tables_.size());
    for (const auto& [name, table] : tables_) {
      there.push_back(&name);
    }
    return there.empty() ? nullptr : there[static_cast<std::size_t>(any(std::ssize(there)))];
  }

  // Transactions

  void begin() {
    auto made = std::make_unique<Open>();
    made->model.is_bulk = one_in(8);
    made->model.keeps_snapshot = !made->model.is_bulk && !one_in(3);
    made->model.snapshot = now_;
    made->real.emplace(database_->begin(
        {.isolation = made->model.keeps_snapshot ? Isolation::snapshot : Isolation::read_committed,
         .bulk = made->model.is_bulk}));
    open_.push_back(std::move(made));
  }
  void end(std::size_t number) {
    Open& open = *open_[number];
    if (one_in(4)) {
      open.real->rollback();
      forget(number);
      return;
    }
    open.real->commit();
    commit(open.model);
    forget(number);
  }
  void commit(ModelTransaction& model) {
    ++now_;
    for (const auto& [table, changes] : model.changes) {
      for (const auto& [key, row] : changes.rows) {
        table->commit(key, row, now_);
      }
      table->commit_touched(changes, now_);
      if (table->bulk == &model) {
        table->bulk_committed = now_;
        table->changed_in_bulk.insert(changes.touched.begin(), changes.touched.end());
      }
    }
  }
  void forget(std::size_t number) {
    for (auto& [name, table] : tables_) {
      if (table->bulk == &open_[number]->model) {
        table->bulk = nullptr;
      }
    }
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(number));
  }
  void end_all() {
    held_.clear();
    while (!open_.empty()) {
      end(open_.size() - 1);
    }
  }
  [[nodiscard]] std::vector<ModelTransaction*> transactions_beside(const ModelTransaction& by) {
    std::vector<ModelTransaction*> others;
    for (const auto& open : open_) {
      if (&open->model != &by) {
        others.push_back(&open->model);
      }
    }
    return others;
  }

  // Writing

  /// Whether the first write of a bulk to the table may conflict.
  [[nodiscard]] bool may_be_kept_out(ModelTable& table, const ModelTransaction& by) {
    return by.is_bulk && table.bulk != &by && open_.size() + held_.size() > 1;
  }
  /// Notes that the transaction has tried to write to the table.
  void note_writer(ModelTable& table, ModelTransaction& by) {
    by.has_written = true;
    if (by.is_bulk && table.bulk == nullptr) {
      table.bulk = &by;
    }
  }

  void write_one(const std::string& name, Transaction* in, ModelTransaction& by) {
    ModelTable& table = *tables_.at(name);
    const auto kind = static_cast<ChangeKind>(any(kChangeKinds));
    const ModelKey key = any_key();
    const ModelRow row = any_row();
    const ModelRow* const seen = by.see(table, key, now_);
    if (is_modification(kind) && seen != nullptr && seen->body.size() > kModifiedMax) {
      return;  // refused if it does not lie in its page
    }
    const auto others = transactions_beside(by);
    ModelAnswer answer = ask_row(table, by, others, key);
    OutcomeKind expected = OutcomeKind::done;
    if (is_insertion(kind) && seen != nullptr) {
      expected = OutcomeKind::exists;
    } else if (!is_insertion(kind) && kind != ChangeKind::upsert && seen == nullptr) {
      expected = OutcomeKind::absent;
    }
    std::optional<ModelRow> made;
    if (expected == OutcomeKind::done) {
      made = changed_by(kind, seen, row);
      const bool is_new_number =
          made && made->number && (seen == nullptr || seen->number != made->number);
      if (table.number_index && is_new_number) {
        const ModelAnswer number = ask_number(table, by, others, key, *made->number, now_);
        expected = number.is_taken ? OutcomeKind::exists : expected;
        answer |= number;
      }
      answer.may_conflict |= seen != nullptr && may_be_claimed(table, by, others, key, *seen);
    }
    answer.may_conflict |= may_be_kept_out(table, by);
    const std::string what = fmt::format("step {}: kind {} of ({}, {}) in \"{}\"", step_,
                                         static_cast<int>(kind), key.part, key.name, name);
    note_attempt(table, by, key, seen, made);
    const Outcome outcome = change(database_->table(name), in, kind, key, row);
    if (outcome.is_conflict()) {
      EXPECT_TRUE(answer.may_conflict) << what << ": " << outcome.text();
      return;
    }
    note_writer(table, by);
    if (outcome.is_done()) {
      EXPECT_FALSE(answer.must_fail) << what;
    }
    EXPECT_EQ(outcome.kind(), expected) << what << ": " << outcome.text();
    if (outcome.is_done()) {
      apply(table, by, key, seen, made);
    }
  }
  /// Whether other transactions may have changed the entry of the row's old or new number.
  [[nodiscard]] bool may_be_claimed(ModelTable& table, const ModelTransaction& by,
                                    const std::vector<ModelTransaction*>& others,
                                    const ModelKey& key, const ModelRow& row) const {
    return table.number_index && row.number &&
           ask_number(table, by, others, key, *row.number, now_).may_conflict;
  }
  static void note_attempt(ModelTable& table, ModelTransaction& by, const ModelKey& key,
                           const ModelRow* seen, const std::optional<ModelRow>& made) {
    ModelChanges& changes = by.changes[&table];
    changes.touched.insert(key);
    for (const ModelRow* const one : {seen, made ? &*made : nullptr}) {
      if (one != nullptr && one->number) {
        changes.touched_numbers.insert(*one->number);
      }
    }
  }
  static void apply(ModelTable& table, ModelTransaction& by, const ModelKey& key,
                    const ModelRow* seen, const std::optional<ModelRow>& made) {
    ModelChanges& changes = by.changes[&table];
    for (const ModelRow* const one : {seen, made ? &*made : nullptr}) {
      if (one != nullptr && one->number) {
        changes.numbers.insert(*one->number);
        table.note_number(*one->number, key);
      }
    }
    changes.rows[key] = made;
  }

  void erase_range(const std::string& name, Transaction* in, ModelTransaction& by) {
    ModelTable& table = *tables_.at(name);
    const std::int64_t lower = any(kParts);
    const std::int64_t upper = lower + any(one_in(10) ? kParts : 3);
    const auto others = transactions_beside(by);
    ModelAnswer answer;
    answer.may_conflict = may_be_kept_out(table, by) || !others.empty() ||
                          (by.keeps_snapshot && table.bulk_committed > by.snapshot);
    std::vector<std::pair<ModelKey, ModelRow>> gone;
    for (const auto& [key, row] : by.see_all(table, now_)) {
      if (key.part >= lower && key.part <= upper) {
        answer |= ask_row(table, by, others, key);
        answer.may_conflict |= may_be_claimed(table, by, others, key, row);
        gone.emplace_back(key, row);
      }
    }
    by.changes[&table];  // it has tried, whatever there was
    for (const auto& [key, row] : gone) {
      note_attempt(table, by, key, &row, std::nullopt);
    }
    const Table real = database_->table(name);
    const Range range = Range::between({lower}, {upper});
    const ErasedRange erased =
        in != nullptr ? real.erase_range(*in, range) : real.erase_range(range);
    const std::string what =
        fmt::format("step {}: range {} to {} of \"{}\"", step_, lower, upper, name);
    if (!erased.outcome) {
      EXPECT_TRUE(erased.outcome.is_conflict() && answer.may_conflict) << what;
      EXPECT_EQ(erased.rows, 0U) << what;
      return;
    }
    note_writer(table, by);
    EXPECT_FALSE(answer.must_fail) << what;
    EXPECT_EQ(erased.rows, gone.size()) << what;
    for (const auto& [key, row] : gone) {
      apply(table, by, key, &row, std::nullopt);
    }
  }

  // Reading

  /// Whether the row is in the index: older snapshots find rows in it that have no entry.
  [[nodiscard]] bool shows(const std::optional<Time>& index, const ModelTransaction& by) const {
    return index && *index <= by.sees_up_to(now_);
  }
  /// Keeps a cursor open: it shows what had been committed when it was opened.
  void hold(const Table& real, ModelTable& table) {
    held_.push_back({real.cursor(Range::all(), 1), table.rows(now_), 0});
  }
  void follow() {
    const auto at = held_.begin() + any(std::ssize(held_));
    for (std::int64_t left = any(200); left > 0 && at->cursor.valid(); --left) {
      const auto expected = std::next(at->rows.begin(), at->passed++);
      ASSERT_EQ(key_of(at->cursor.row()), expected->first) << "step " << step_;
      ASSERT_EQ(row_of(at->cursor.row()), expected->second) << "step " << step_;
      at->cursor.next();
    }
    if (!at->cursor.valid()) {
      EXPECT_EQ(at->passed, std::ssize(at->rows)) << "step " << step_;
      held_.erase(at);
    }
  }
  void read(const std::string& name, Transaction* in, const ModelTransaction& by) {
    const Table real = database_->table(name);
    ModelTable& table = *tables_.at(name);
    switch (any(7)) {
      case 0: return expect_range(real, table, in, by);
      case 1: return shows(table.group_index, by) ? expect_group(real, table, in, by) : void();
      case 2: return shows(table.number_index, by) ? expect_number(real, table, in, by) : void();
      case 3: return one_in(20) ? expect_all(real, table, in, by) : void();
      case 4: return expect_many(real, table, in, by);
      case 5: return held_.size() < kHeldMax ? hold(real, table) : follow();
      default: return expect_one(real, table, in, by);
    }
  }
  void expect_one(const Table& real, ModelTable& table, Transaction* in,
                  const ModelTransaction& by) {
    const ModelKey key = any_key();
    const Key named{key.part, key.name};
    const auto row = in != nullptr ? real.get(*in, named) : real.get(named);
    const ModelRow* const expected = by.see(table, key, now_);
    ASSERT_EQ(row.has_value(), expected != nullptr) << "step " << step_;
    if (row) {
      EXPECT_EQ(row_of(*row), *expected) << "step " << step_;
    }
  }
  void expect_many(const Table& real, ModelTable& table, Transaction* in,
                   const ModelTransaction& by) {
    std::vector<ModelKey> keys;
    std::vector<Key> named;
    keys.reserve(kManyKeys);
    named.reserve(kManyKeys);
    for (std::size_t i = 0; i < kManyKeys; ++i) {
      keys.push_back(any_key());
    }
    ModelRows expected;
    for (const ModelKey& key : keys) {
      named.push_back(Key{key.part, key.name});
      if (const ModelRow* const row = by.see(table, key, now_)) {
        expected.emplace(key, *row);
      }
    }
    ModelRows shown;
    const auto show = [&](std::size_t number, const RowView& row) {
      EXPECT_EQ(key_of(row), keys[number]);
      shown.emplace(key_of(row), row_of(row));
    };
    in != nullptr ? real.read_many(*in, named, show) : real.read_many(named, show);
    EXPECT_EQ(shown, expected) << "step " << step_;
  }
  void expect_range(const Table& real, ModelTable& table, Transaction* in,
                    const ModelTransaction& by) {
    const std::int64_t part = any(kParts);
    ModelRows expected = by.see_all(table, now_);
    std::erase_if(expected, [&](const auto& row) { return row.first.part != part; });
    const Range range = Range::prefix({part});
    EXPECT_EQ(
        rows_of(in != nullptr ? real.cursor(*in, range) : real.cursor(range), any_direction()),
        expected)
        << "step " << step_;
  }
  void expect_all(const Table& real, ModelTable& table, Transaction* in,
                  const ModelTransaction& by) {
    ModelRows shown;
    const auto show = [&](const RowView& row) {
      shown.emplace(key_of(row), row_of(row));
      return true;
    };
    const Direction direction = any_direction();
    in != nullptr ? real.visit(*in, Range::all(), show, direction)
                  : real.visit(Range::all(), show, direction);
    EXPECT_EQ(shown, by.see_all(table, now_)) << "step " << step_;
  }
  void expect_group(const Table& real, ModelTable& table, Transaction* in,
                    const ModelTransaction& by) {
    const std::int64_t group = any(kGroups);
    ModelRows expected = by.see_all(table, now_);
    std::erase_if(expected, [&](const auto& row) { return row.second.group != group; });
    const Index index = real.index(kByGroup);
    const Range range = Range::prefix({group});
    EXPECT_EQ(
        rows_of(in != nullptr ? index.cursor(*in, range) : index.cursor(range), any_direction()),
        expected)
        << "step " << step_;
  }
  void expect_number(const Table& real, ModelTable& table, Transaction* in,
                     const ModelTransaction& by) {
    const std::int64_t number = any(kNumbers);
    const Index index = real.index(kByNumber);
    const auto row = in != nullptr ? index.get(*in, {number}) : index.get({number});
    const ModelRow* expected = nullptr;
    for (const ModelKey& key : table.keys_with(number)) {
      const ModelRow* const seen = by.see(table, key, now_);
      expected = seen != nullptr && seen->number == number ? seen : expected;
    }
    ASSERT_EQ(row.has_value(), expected != nullptr) << "step " << step_;
    if (row) {
      EXPECT_EQ(row_of(*row), *expected) << "step " << step_;
    }
  }

  // Steps

  void act_on(const std::string& name, Transaction* in, ModelTransaction& by) {
    if (one_in(2)) {
      read(name, in, by);
    } else if (one_in(25)) {
      erase_range(name, in, by);
    } else {
      write_one(name, in, by);
    }
  }
  /// The engine may cancel a transaction that blocks others or runs out of space: then rolls it
  /// back.
  void act_in_transaction(const std::string& name) {
    const auto number = static_cast<std::size_t>(any(std::ssize(open_)));
    Open& open = *open_[number];
    try {
      act_on(name, &*open.real, open.model);
    } catch (const Error& error) {
      const bool may_wait = may_be_kept_out(*tables_.at(name), open.model);
      EXPECT_TRUE(error.code() == ErrorCode::transaction_too_old ||
                  error.code() == ErrorCode::snapshot_too_old ||
                  error.code() == ErrorCode::version_budget_exceeded ||
                  (error.code() == ErrorCode::gate_timeout && may_wait))
          << "step " << step_ << ": " << error.what();
      ++given_up_;
      open.real->rollback();
      forget(number);
    }
  }
  void act_alone(const std::string& name) {
    ModelTransaction own;
    own.snapshot = now_;
    act_on(name, nullptr, own);
    if (own.has_written) {
      commit(own);
    }
  }
  [[nodiscard]] bool has_writers() const {
    return std::ranges::any_of(open_,
                               [](const auto& open) { return !open->model.changes.empty(); });
  }
  /// Runs only while no open transaction has written, or tried to.
  void define() {
    const std::string& name = kTableNames[static_cast<std::size_t>(any(std::ssize(kTableNames)))];
    const auto found = tables_.find(name);
    if (found == tables_.end()) {
      database_->create_table(model_schema(name));
      tables_.emplace(name, std::make_unique<ModelTable>());
    } else if (one_in(12)) {
      end_all();
      database_->drop_table(name);
      tables_.erase(found);
    } else if (one_in(2)) {
      change_index(name, kByGroup, {.name = kByGroup, .columns = {"grp"}},
                   found->second->group_index, false);
    } else {
      change_index(name, kByNumber, {.name = kByNumber, .columns = {"number"}, .unique = true},
                   found->second->number_index, has_equal_numbers(*found->second));
    }
  }
  [[nodiscard]] bool has_equal_numbers(ModelTable& table) const {
    std::set<std::int64_t> numbers;
    const ModelRows rows = table.rows(now_);
    return std::ranges::any_of(rows, [&](const auto& row) {
      return row.second.number && !numbers.insert(*row.second.number).second;
    });
  }
  void change_index(const std::string& name, const char* index, const IndexSchema& schema,
                    std::optional<Time>& since, bool is_refused) {
    ++now_;
    if (since) {
      database_->drop_index(name, index);
      since.reset();
      return;
    }
    try {
      database_->create_index(name, schema);
      EXPECT_FALSE(is_refused) << "step " << step_;
      since = now_;
    } catch (const Error& error) {
      EXPECT_TRUE(is_refused && error.code() == ErrorCode::already_exists)
          << "step " << step_ << ": " << error.what();
    }
  }
  void step() {
    ++step_;
    const std::string* const name = any_table();
    if (one_in(500)) {
      end_all();
      reopen();
    } else if (one_in(400)) {
      back_up();
    } else if (one_in(100) && !has_writers()) {
      define();
    } else if (name == nullptr) {
      end_all();
      define();
    } else if (one_in(15) && open_.size() < kOpenMax) {
      begin();
    } else if (one_in(25) && !open_.empty()) {
      end(static_cast<std::size_t>(any(std::ssize(open_))));
    } else if (one_in(4) || open_.empty()) {
      act_alone(*name);
    } else {
      act_in_transaction(*name);
    }
  }
  /// With any transactions open: the copy has the committed state.
  void back_up() {
    const std::string path = directory_.path("copy");
    database_->backup(path);
    std::optional<Database> copy(Database::open(path, small()));
    copy.swap(database_);
    expect_everything();
    copy.swap(database_);
    copy.reset();
    std::filesystem::remove_all(path);
  }
  void reopen() {
    database_->close();
    open();
    expect_everything();
  }
  void expect_everything() {
    ModelTransaction reader;
    reader.snapshot = now_;
    for (const auto& [name, table] : tables_) {
      const Table real = database_->table(name);
      expect_all(real, *table, nullptr, reader);
      for (int i = 0; i < 10 && table->group_index; ++i) {
        expect_group(real, *table, nullptr, reader);
      }
      for (int i = 0; i < 50 && table->number_index; ++i) {
        expect_number(real, *table, nullptr, reader);
      }
    }
  }

  static constexpr std::size_t kModifiedMax = 700;
  static constexpr std::size_t kHeldMax = 2;
  static constexpr std::size_t kManyKeys = 20;

  TemporaryDirectory directory_{memory_file_system()};
  Random random_;
  std::optional<Database> database_;
  std::map<std::string, std::unique_ptr<ModelTable>> tables_;
  std::vector<std::unique_ptr<Open>> open_;
  std::vector<Held> held_;  ///< at most kHeldMax
  Time now_ = 1;
  std::uint64_t step_ = 0;
  int given_up_ = 0;
};

TEST_F(ApiModel, SaysAndShowsWhatTheModelDoes) {
  for (Rounds rounds(2, 4.0); rounds.next() && !HasFailure();) {
    for (int i = 0; i < kStepsInRound && !HasFailure(); ++i) {
      step();
    }
  }
  end_all();
  reopen();
  RecordProperty("given_up", given_up_);
}

}  // namespace
}  // namespace palimpsest
