// A session of RocksdbStore: one transaction after the other; or batches, for a load and at
// Purpose::churn; or single operations, at Purpose::key_values.
//
// A read-only transaction has no Transaction object, which would only cost time.
// Thread-safety: belongs to one thread.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/write_batch.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "experiments/common/bytes.h"
#include "experiments/engines/rocksdb/options.h"
#include "experiments/engines/store.h"

namespace palimpsest::experiments {

class RocksdbStore;

class RocksdbSession {
 public:
  RocksdbSession(const RocksdbStore& store, SessionUse use);
  ~RocksdbSession();
  RocksdbSession(const RocksdbSession&) = delete;
  RocksdbSession& operator=(const RocksdbSession&) = delete;

  void begin(Intent intent);
  Access commit();
  void rollback() noexcept;

  template <class Use>
  Access get(TableId table, ByteView key, Use&& use) {
    const Access found = fetch(table, key);
    if (found == Access::done) {
      use(rocks::view_of(value_));
    }
    return found;
  }

  /// Uses RocksDB's call for many keys.
  template <class Use>
  Access get_many(TableId table, std::span<const ByteView> keys, Use&& use) {
    fetch_many(table, keys);
    Access all = Access::done;
    for (std::size_t i = 0; i < keys.size() && all != Access::conflict; ++i) {
      const Access one = judge(statuses_[i], "multi-get", ConflictReason::too_old);
      if (one == Access::done) {
        use(i, rocks::view_of(values_[i]));
      } else {
        all = one;
      }
    }
    return all;
  }

  template <class Change>
  Access rewrite(TableId table, ByteView key, Change&& change) {
    const Access found = fetch_for_update(table, key);
    return found == Access::done ? put_locked(table, key, change(rocks::view_of(value_))) : found;
  }

  Access insert(TableId table, ByteView key, ByteView value);
  Access erase(TableId table, ByteView key);
  Access replace_bytes(TableId table, ByteView key, std::size_t offset, ByteView bytes);

  template <class Fill>
  void replace_all(TableId table, Fill&& fill) {
    const ByteView last("\xff\xff\xff\xff\xff\xff\xff\xff", 8);  // the largest key of a record
    rocks::ensure(batch_.DeleteRange(family(table), {}, rocks::slice_of(last)), "delete all");
    fill([&](ByteView key, ByteView value) { static_cast<void>(insert(table, key, value)); });
    static_cast<void>(commit());
  }

  template <class Visit>
  Access scan(TableId table, ByteView first, ByteView last, Direction direction, Visit&& visit) {
    const std::unique_ptr<rocksdb::Iterator> at = iterate(table, first, last);
    if (direction == Direction::forward) {
      for (at->Seek(rocks::slice_of(first)); at->Valid() && rocks::view_of(at->key()) <= last;
           at->Next()) {
        if (!visit(rocks::view_of(at->key()), rocks::view_of(at->value()))) {
          break;
        }
      }
    } else {
      for (at->SeekForPrev(rocks::slice_of(last));
           at->Valid() && rocks::view_of(at->key()) >= first; at->Prev()) {
        if (!visit(rocks::view_of(at->key()), rocks::view_of(at->value()))) {
          break;
        }
      }
    }
    return judge(at->status(), "scan", ConflictReason::too_old);
  }

  [[nodiscard]] ConflictReason conflict_reason() const noexcept { return reason_; }

 private:
  /// Both leave the value in value_.
  [[nodiscard]] Access fetch(TableId table, ByteView key);
  /// Leaves values and statuses in values_ and statuses_.
  void fetch_many(TableId table, std::span<const ByteView> keys);
  [[nodiscard]] Access fetch_for_update(TableId table, ByteView key);
  /// For a key that was passed to fetch_for_update().
  [[nodiscard]] Access put_locked(TableId table, ByteView key, ByteView value);
  [[nodiscard]] std::unique_ptr<rocksdb::Iterator> iterate(TableId table, ByteView first,
                                                           ByteView last);
  [[nodiscard]] rocksdb::Transaction& writer() const;
  [[nodiscard]] rocksdb::ColumnFamilyHandle* family(TableId table) const;
  void release_snapshot() noexcept;
  /// The meaning of a status; `busy` is the reason if RocksDB gives no other.
  [[nodiscard]] Access judge(const rocksdb::Status& status, const char* what, ConflictReason busy);

  const RocksdbStore& store_;
  const SessionUse use_;
  const bool single_;   ///< operations without a transaction
  const bool batches_;  ///< operations in batch_ until the commit
  rocksdb::WriteBatch batch_;
  std::unique_ptr<rocksdb::Transaction> transaction_;  ///< reused
  bool writes_ = false;                                ///< transaction_ is open
  rocksdb::ReadOptions read_;
  rocksdb::ReadOptions scan_;  ///< with the bounds below
  std::string bound_above_;
  rocksdb::Slice lower_bound_;
  rocksdb::Slice upper_bound_;
  rocksdb::PinnableSlice value_;
  std::vector<rocksdb::Slice> keys_;  ///< of fetch_many(), as the next two
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
  ConflictReason reason_ = ConflictReason::other;
};

}  // namespace palimpsest::experiments
