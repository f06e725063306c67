#include "txn/conflicting_writer.h"

#include <fmt/format.h>

#include "palimpsest/error.h"

#include "txn/transaction.h"

namespace palimpsest::txn {

bool ConflictingWriter::is_active() const noexcept {
  return transaction != nullptr && transaction->life() == life && transaction->is_active();
}

bool OwnWait::is_in_vain(const Transaction& other) const noexcept {
  const TransactionThread& thread = other.thread();
  return other.is_active() &&
         (thread.is_bound_to_this() ||
          (thread.is_this() && std::chrono::steady_clock::now() - began_ >= kGrace));
}

void OwnWait::refuse(std::string_view what) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} waits for a transaction that the same thread has open, and would "
                          "wait forever: pass that transaction to the call, or end it first",
                          what));
}

}  // namespace palimpsest::txn
