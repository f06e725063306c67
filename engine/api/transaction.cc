#include "palimpsest/transaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/error.h"
#include "palimpsest/table.h"

#include "engine/api/table_handle.h"
#include "engine/api/transaction_state.h"
#include "engine/api/visiting.h"
#include "engine/catalog/refused_commit.h"

namespace palimpsest {
namespace detail {

InTransaction::InTransaction(TransactionState& state)
    : turn_(state.turn),
      state_(&state),
      transaction_(state.transaction.get()),
      bulk_(state.bulk.get()) {
  Visiting::refuse_within(*state.database);
  state.database->reserve_blocks();
  if (transaction_ == nullptr) {
    throw Error(ErrorCode::invalid_argument, "the transaction has ended");
  }
  transaction_->thread().used();
  if (state.is_converting) [[unlikely]] {
    throw Error(ErrorCode::invalid_argument,
                "a function that converts rows of an altered table must not use the transaction "
                "that alters it");
  }
}

InTransaction reading(TransactionState& state) {
  InTransaction by(state);
  if (by.bulk() != nullptr) {
    by.bulk()->append_kept();
  }
  return by;
}

InTransaction writing(TransactionState& state) {
  require_writable(*state.database);
  if (state.read_only) {
    throw Error(ErrorCode::invalid_argument, "a read-only transaction cannot write");
  }
  return InTransaction(state);
}

InTransaction dropping(TransactionState& state) {
  if (state.bulk != nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "a bulk transaction cannot drop tables or indexes (run() restarts a transaction as "
                "a bulk when its versions take too much memory, unless restart_as_bulk is false)");
  }
  return writing(state);
}

InTransaction TableHandle::reader(const Transaction* in) const {
  return in == nullptr ? in_none() : reading(own(*in));
}

InTransaction TableHandle::writer(const Transaction* in) const {
  return in == nullptr ? in_none() : writing(own(*in));
}

// Without a transaction, the check is needed: only an active transaction keeps its database open.
InTransaction TableHandle::in_none() const {
  require_open();
  Visiting::refuse_within(database_);
  database_.reserve_blocks();
  return {};
}

TransactionState& TableHandle::own(const Transaction& in) const {
  TransactionState& state = in.state();
  if (state.database != &database_) {
    throw Error(ErrorCode::invalid_argument, "the transaction belongs to another database");
  }
  return state;
}

}  // namespace detail

Transaction::Transaction(std::unique_ptr<detail::TransactionState> state) noexcept
    : state_(std::move(state)) {}
// The handle may move to another thread.
Transaction::Transaction(Transaction&& other) noexcept : state_(std::move(other.state_)) {
  unbind();
}

Transaction& Transaction::operator=(Transaction&& other) noexcept {
  detail::take_over(state_, other.state_);
  unbind();
  return *this;
}

void Transaction::unbind() noexcept {
  if (state_ != nullptr && state_->owner.is_of_this_process() && state_->transaction != nullptr) {
    state_->transaction->thread().unbind();
  }
}

Transaction::~Transaction() {
  detail::end_of(state_);
}

detail::TransactionState& Transaction::state() const {
  if (state_ == nullptr) {
    throw Error(ErrorCode::invalid_argument, "the transaction was moved from");
  }
  if (!state_->owner.is_of_this_process()) [[unlikely]] {
    detail::refuse_other_process(state_->database->path, state_->database->process);
  }
  return *state_;
}

namespace {

ColumnDefinition& require_column(std::string_view table, std::vector<ColumnDefinition>& columns,
                                 std::string_view name) {
  const auto found = std::ranges::find(columns, name, &ColumnDefinition::name);
  if (found == columns.end()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\", column \"{}\": there is no such column", table, name));
  }
  return *found;
}

/// A transaction that has ended releases everything of its database; so does its bulk, which may
/// have pages that are being written.
void let_go(detail::TransactionState& state) noexcept {
  if (state.bulk != nullptr) {
    state.bulk->let_go();
  }
  state.transaction.reset();
}

}  // namespace

// A transaction that could not commit, and may be tried again, still holds its database.
void Transaction::commit() {
  detail::TransactionState& state = this->state();
  const detail::InTransaction in(state);
  try {
    if (in.bulk() != nullptr) {
      in.bulk()->publish();
    }
    (*in).commit();
  } catch (const txn::NotSerializable& error) {
    const Error named = engine::named(error, state.database->engine->tables());
    let_go(state);
    throw named;
  } catch (...) {
    if (!(*in).is_active()) {
      let_go(state);
    }
    throw;
  }
  let_go(state);
}

void Transaction::rollback() {
  detail::TransactionState& state = this->state();
  const detail::InTransaction in(state);
  const txn::TransactionPtr ending = std::move(state.transaction);
  let_go(state);
  (*in).rollback();
}

bool Transaction::is_active() const noexcept {
  if (state_ == nullptr || !state_->owner.is_of_this_process()) {
    return false;
  }
  const std::lock_guard turn(state_->turn);
  return state_->transaction != nullptr && state_->transaction->is_active();
}

Outcome Transaction::create_table(const TableSchema& schema) {
  detail::TransactionState& state = this->state();
  const detail::InTransaction in = writing(state);
  return in.bulk() != nullptr ? in.bulk()->create_table(schema)
                              : state.database->engine->tables().create_table(*in, schema);
}

Outcome Transaction::drop_table(std::string_view table) {
  detail::TransactionState& state = this->state();
  return state.database->engine->tables().drop_table(*dropping(state), table);
}

Outcome Transaction::create_index(std::string_view table, const IndexSchema& schema) {
  detail::TransactionState& state = this->state();
  const detail::InTransaction in = writing(state);
  return in.bulk() != nullptr ? in.bulk()->create_index(table, schema)
                              : state.database->engine->tables().create_index(*in, table, schema);
}

Outcome Transaction::drop_index(std::string_view table, std::string_view index) {
  detail::TransactionState& state = this->state();
  return state.database->engine->tables().drop_index(*dropping(state), table, index);
}

namespace {

/// While this exists, calls of the transaction are refused: they would wait for the conversion.
class Converting {
 public:
  explicit Converting(detail::TransactionState& state) noexcept : state_(state) {
    state_.is_converting = true;
  }
  Converting(const Converting&) = delete;
  Converting& operator=(const Converting&) = delete;
  ~Converting() { state_.is_converting = false; }

 private:
  detail::TransactionState& state_;
};

Outcome alter(detail::TransactionState& state, std::string_view table, engine::AlterSchema to,
              const ConvertRow* convert) {
  const detail::InTransaction in = writing(state);
  if (in.bulk() == nullptr) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "table \"{}\": altering a table needs a bulk transaction (TransactionOptions::bulk)",
            table));
  }
  const Converting converting(state);
  return in.bulk()->alter_table(table, to, convert);
}

}  // namespace

Outcome Transaction::alter_table(std::string_view table, const TableAlteration& alteration) {
  return alter(state(), table, [&](const TableSchema&) { return alteration; }, nullptr);
}

Outcome Transaction::alter_table(std::string_view table, const TableAlteration& alteration,
                                 ConvertRow convert) {
  return alter(state(), table, [&](const TableSchema&) { return alteration; }, &convert);
}

Outcome Transaction::add_column(std::string_view table, const ColumnDefinition& column,
                                const Value& value) {
  const auto added = [&](const TableSchema& before) {
    TableAlteration alteration{.columns = before.columns, .renamed = {}};
    alteration.columns.push_back(column);
    return alteration;
  };
  const auto fill = [&](const RowView&, std::span<Value> row) { row.back() = value; };
  const ConvertRow convert = fill;
  return alter(state(), table, added, &convert);
}

Outcome Transaction::drop_column(std::string_view table, std::string_view column) {
  const auto dropped = [&](const TableSchema& before) {
    TableAlteration alteration{.columns = before.columns, .renamed = {}};
    require_column(table, alteration.columns, column);
    std::erase_if(alteration.columns,
                  [&](const ColumnDefinition& each) { return each.name == column; });
    return alteration;
  };
  return alter(state(), table, dropped, nullptr);
}

Outcome Transaction::rename_column(std::string_view table, std::string_view from,
                                   std::string_view to) {
  const auto renamed = [&](const TableSchema& before) {
    TableAlteration alteration{.columns = before.columns,
                               .renamed = {{.from = std::string(from), .to = std::string(to)}}};
    require_column(table, alteration.columns, from).name = to;
    return alteration;
  };
  return alter(state(), table, renamed, nullptr);
}

Table Transaction::table(std::string_view name) {
  detail::TransactionState& state = this->state();
  return detail::require_table(*state.database, name, detail::InTransaction(state).get());
}

}  // namespace palimpsest
