// Inserts the rows of a load, about a thousand in a transaction.
//
// A batch is collected before its transaction begins: an engine that lacks space for it at the
// moment may return conflict, and the batch is inserted again.
// Thread-safety: belongs to one thread. Failure: an existing row throws DamagedRecord.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "experiments/oltp/table_session.h"
#include "experiments/oltp/workload.h"
#include "experiments/tables/session.h"
#include "experiments/tables/transaction_scope.h"

namespace palimpsest::experiments::oltp {

template <StoreSession S>
class BatchInserter {
 public:
  static constexpr std::size_t kRowsOfBatch = 1000;

  BatchInserter(S& session, LoadProgress& progress) : session_(session), progress_(progress) {}

  /// For populations: a row of a table, or an entry of an index.
  template <class Key>
  void add(const Key& key, const RowOf<Key>& row) {
    add(kTableOf<Key>, EncodedKey(key).view(), EncodedRow(row).view());
  }
  template <class IndexKey>
  void add(const IndexKey& key) {
    add(kTableOf<IndexKey>, EncodedKey(key).view(), {});
  }

  /// Commits the last batch.
  void finish() {
    if (rows_.empty()) {
      return;
    }
    while (!insert_batch()) {
      std::this_thread::sleep_for(kWait);
    }
    progress_.add(rows_.size());
    rows_.clear();
    bytes_.clear();
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

  void add(TableId table, ByteView key, ByteView value) {
    const std::size_t at = bytes_.size();
    bytes_.append(key).append(value);
    rows_.push_back(
        {.table = table, .key_at = at, .value_at = at + key.size(), .end = bytes_.size()});
    if (rows_.size() == kRowsOfBatch) {
      finish();
    }
  }

  /// False: a conflict, and nothing is inserted.
  [[nodiscard]] bool insert_batch() {
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
  LoadProgress& progress_;
  std::string bytes_;
  std::vector<Place> rows_;
};

}  // namespace palimpsest::experiments::oltp
