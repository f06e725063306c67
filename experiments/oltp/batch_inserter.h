// Inserts the rows of a population, about a thousand in a transaction (engines/load_batch.h).
//
// Thread-safety: belongs to one thread. Failure: an existing row throws DamagedRecord.
#pragma once

#include <cstddef>

#include "experiments/engines/load_batch.h"
#include "experiments/oltp/table_session.h"
#include "experiments/oltp/workload.h"

namespace palimpsest::experiments::oltp {

template <StoreSession S>
class BatchInserter {
 public:
  static constexpr std::size_t kRowsOfBatch = 1000;

  BatchInserter(S& session, LoadProgress& progress)
      : batch_(session, kRowsOfBatch), progress_(progress) {}

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
  void finish() { progress_.add(batch_.finish()); }

 private:
  void add(TableId table, ByteView key, ByteView value) {
    if (const std::size_t rows = batch_.add(table, key, value); rows != 0) {
      progress_.add(rows);
    }
  }

  LoadBatch<S> batch_;
  LoadProgress& progress_;
};

}  // namespace palimpsest::experiments::oltp
