#include "palimpsest/transaction.h"

#include <fmt/format.h>

#include <utility>

#include "palimpsest/error.h"
#include "palimpsest/table.h"

#include "engine/api/table_handle.h"
#include "engine/api/transaction_state.h"

namespace palimpsest {
namespace detail {

txn::Transaction& TransactionState::active() const {
  if (transaction == nullptr) {
    throw Error(ErrorCode::invalid_argument, "the transaction has ended");
  }
  return *transaction;
}

txn::Transaction& TransactionState::writing() const {
  if (read_only) {
    throw Error(ErrorCode::invalid_argument, "a transaction that was begun to read does not write");
  }
  return active();
}

txn::Transaction* TableHandle::reader(const Transaction* in) const {
  if (in == nullptr) {
    return nullptr;
  }
  const TransactionState& state = in->state();
  if (state.database != &database_) {
    throw Error(ErrorCode::invalid_argument, "the transaction is one of another database");
  }
  return &state.active();
}

txn::Transaction* TableHandle::writer(const Transaction* in) const {
  return reader(in) == nullptr ? nullptr : &in->state().writing();
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

// A transaction that has ended holds nothing of its database any more; one that could not commit,
// and may be tried again, still does.
void Transaction::commit() {
  detail::TransactionState& state = this->state();
  try {
    state.active().commit();
  } catch (...) {
    if (state.transaction != nullptr && !state.transaction->is_active()) {
      state.transaction.reset();
    }
    throw;
  }
  state.transaction.reset();
}

void Transaction::rollback() {
  const txn::TransactionPtr ending = std::move(state().transaction);
  if (ending == nullptr) {
    throw Error(ErrorCode::invalid_argument, "the transaction has ended");
  }
  ending->rollback();
}

bool Transaction::is_active() const noexcept {
  return state_ != nullptr && state_->transaction != nullptr && state_->transaction->is_active();
}

Outcome Transaction::create_table(const TableSchema& schema) {
  const detail::TransactionState& in = state();
  return in.database->engine->tables().create_table(in.writing(), schema);
}

Outcome Transaction::drop_table(std::string_view table) {
  const detail::TransactionState& in = state();
  return in.database->engine->tables().drop_table(in.writing(), table);
}

Outcome Transaction::create_index(std::string_view table, const IndexSchema& schema) {
  const detail::TransactionState& in = state();
  return in.database->engine->tables().create_index(in.writing(), table, schema);
}

Outcome Transaction::drop_index(std::string_view table, std::string_view index) {
  const detail::TransactionState& in = state();
  return in.database->engine->tables().drop_index(in.writing(), table, index);
}

Table Transaction::table(std::string_view name) {
  const detail::TransactionState& in = state();
  return detail::require_table(*in.database, name, &in.active());
}

}  // namespace palimpsest
