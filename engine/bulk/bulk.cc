#include "engine/bulk/bulk.h"

namespace palimpsest::engine {

// What the call's own transaction has changed stays if it is done, and is undone if not: either is
// the bulk's, for nobody else knows of these trees.
Outcome Bulk::write(const TableState& table, FunctionRef<Outcome(const TableWrites&)> write) {
  if (Outcome own = tables_.make_own(by_, table, fate_); !own) {
    return own;
  }
  return by_.hold([&] {
    const txn::TransactionPtr call =
        transactions_.begin(txn::Durability::asynchronous, txn::Isolation::none);
    call->work_for(by_);
    Outcome outcome = write(TableWrites(*call, table, by_));
    call->commit();
    return outcome;
  });
}

}  // namespace palimpsest::engine
