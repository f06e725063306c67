// Inserts the rows of a load, many in a transaction.
//
// A batch is collected before its transaction begins: an engine that lacks space for it at the
// moment may return conflict, and the batch is inserted again.
// Thread-safety: belongs to one thread. Failure: an existing row throws DamagedRecord.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "experiments/engines/store_session.h"
#include "experiments/tables/transaction_scope.h"

namespace palimpsest::experiments {

template <StoreSession S>
class LoadBatch {
 public:
  /// Of so many rows. `session` is one for a load, and outlives the batch.
  LoadBatch(S& session, std::size_t rows_max) : session_(session), rows_max_(rows_max) {}

  /// Commits the batch if it is full. Returns how many rows were committed.
  std::size_t add(TableId table, ByteView key, ByteView value) {
    const std::size_t at = bytes_.size();
    bytes_.append(key).append(value);
    rows_.push_back(
        {.table = table, .key_at = at, .value_at = at + key.size(), .end = bytes_.size()});
    return rows_.size() == rows_max_ ? finish() : 0;
  }

  /// Commits what is left. Returns how many rows that were.
  std::size_t finish() {
    const std::size_t rows = rows_.size();
    while (!rows_.empty() && !insert()) {
      std::this_thread::sleep_for(kWait);
    }
    rows_.clear();
    bytes_.clear();
    return rows;
  }

 private:
  static constexpr std::chrono::milliseconds kWait{1};

  /// A row with its bytes one after the other.
  struct Place {
    TableId table;
    std::size_t key_at;
    std::size_t value_at;
    std::size_t end;
  };

  /// False: a conflict, and nothing is inserted.
  [[nodiscard]] bool insert() {
    TransactionScope scope(session_, Intent::read_write);
    const ByteView bytes = bytes_;
    for (const Place& row : rows_) {
      const Access access =
          session_.insert(row.table, bytes.substr(row.key_at, row.value_at - row.key_at),
                          bytes.substr(row.value_at, row.end - row.value_at));
      if (access == Access::conflict) {
        return false;
      }
      if (access != Access::done) {
        report_damage(access, "a row of the load");
      }
    }
    return scope.commit() == Outcome::committed;
  }

  S& session_;
  const std::size_t rows_max_;
  std::string bytes_;
  std::vector<Place> rows_;
};

}  // namespace palimpsest::experiments
