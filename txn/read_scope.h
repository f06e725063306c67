// The scope of a call that reads trees by its transaction's read view.
//
// It holds the transaction's owner latch and, under read_committed, a snapshot of its own. Another
// thread may cancel the snapshot at any time, and free what it retained: then records are missing
// or look damaged. So neither what was read nor an Error that was thrown meanwhile counts before
// confirm() has returned.
// Latching: waits for the transaction's other calls, as Transaction::write().
// Failure: the constructor throws as other calls if the transaction has ended; confirm() throws
// snapshot_too_old.
// Thread-safety: belongs to one thread.
#pragma once

#include <mutex>
#include <string>
#include <type_traits>

#include "palimpsest/error.h"

#include "base/bytes.h"
#include "base/turn_latch.h"
#include "btree/btree.h"
#include "txn/transaction.h"
#include "txn/transaction_snapshot.h"

namespace palimpsest::txn {

class ReadScope {
 public:
  explicit ReadScope(Transaction& of)
      : transaction_(of), turn_(of.take_turn()), snapshot_(of.begin_read()) {}
  ReadScope(const ReadScope&) = delete;
  ReadScope& operator=(const ReadScope&) = delete;
  ~ReadScope() = default;

  void confirm() const { transaction_.require_view(); }
  /// Calls read(), and confirms its result, or its Error.
  template <class Read, class Result = std::invoke_result_t<Read&>>
  Result confirmed(Read&& read) const {
    try {
      if constexpr (std::is_void_v<Result>) {
        read();
        confirm();
      } else {
        Result result = read();
        confirm();
        return result;
      }
    } catch (const Error&) {
      confirm();
      throw;
    }
  }

 private:
  Transaction& transaction_;
  std::unique_lock<TurnLatch> turn_;
  TransactionSnapshot::Call snapshot_;
};

/// One record as `by` sees it, added to its read set. False if the key is absent.
[[nodiscard]] inline bool lookup(Transaction& by, const btree::BTree& tree, ByteView key,
                                 std::string& value) {
  const ReadScope scope(by);
  return scope.confirmed([&] {
    if (versioning::ReadSet* const reads = by.reads()) {
      reads->add_key(tree.id(), key);
    }
    return tree.lookup(key, value, nullptr, by.read_view());
  });
}

}  // namespace palimpsest::txn
