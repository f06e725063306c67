#include "palimpsest/transaction.h"

#include <fmt/format.h>

#include <utility>

#include "palimpsest/error.h"
#include "palimpsest/table.h"

#include "engine/api/table_handle.h"
#include "engine/api/transaction_state.h"

namespace palimpsest {
namespace detail {

txn::Transaction& reading(const TransactionState& state, const DatabaseState& database) {
  if (state.database != &database) {
    throw Error(ErrorCode::invalid_argument, "the transaction is one of another database");
  }
  return *state.transaction;
}

txn::Transaction& writing(TransactionState& state, const DatabaseState& database) {
  if (state.read_only) {
    throw Error(ErrorCode::invalid_argument, "a transaction that was begun to read does not write");
  }
  return reading(state, database);
}

}  // namespace detail

Transaction::Transaction(std::unique_ptr<detail::TransactionState> state) noexcept
    : state_(std::move(state)) {}
Transaction::Transaction(Transaction&&) noexcept = default;
Transaction& Transaction::operator=(Transaction&&) noexcept = default;
Transaction::~Transaction() = default;

detail::TransactionState& Transaction::state() const {
  if (state_ == nullptr) {
    throw Error(ErrorCode::invalid_argument, "the transaction was moved away");
  }
  return *state_;
}

void Transaction::commit() {
  state().transaction->commit();
}

void Transaction::rollback() {
  state().transaction->rollback();
}

bool Transaction::is_active() const noexcept {
  return state_ != nullptr && state_->transaction->is_active();
}

Outcome Transaction::create_table(const TableSchema& schema) {
  detail::TransactionState& in = state();
  return in.database->engine->tables().create_table(writing(in, *in.database), schema);
}

Outcome Transaction::drop_table(std::string_view table) {
  detail::TransactionState& in = state();
  return in.database->engine->tables().drop_table(writing(in, *in.database), table);
}

Outcome Transaction::create_index(std::string_view table, const IndexSchema& schema) {
  detail::TransactionState& in = state();
  return in.database->engine->tables().create_index(writing(in, *in.database), table, schema);
}

Outcome Transaction::drop_index(std::string_view table, std::string_view index) {
  detail::TransactionState& in = state();
  return in.database->engine->tables().drop_index(writing(in, *in.database), table, index);
}

Table Transaction::table(std::string_view name) {
  const detail::TransactionState& in = state();
  return detail::require_table(*in.database, name, in.transaction.get());
}

}  // namespace palimpsest
