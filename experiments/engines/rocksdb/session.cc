#include "experiments/engines/rocksdb/session.h"

#include <stdexcept>
#include <utility>

#include "experiments/engines/rocksdb/store.h"

namespace palimpsest::experiments {

RocksdbSession::RocksdbSession(const RocksdbStore& store, SessionUse use)
    : store_(store),
      use_(use),
      single_(store.purpose() == Purpose::key_values && use != SessionUse::load),
      batches_(store.purpose() == Purpose::churn || use == SessionUse::load) {
  scan_.iterate_lower_bound = &lower_bound_;
  scan_.iterate_upper_bound = &upper_bound_;
}

RocksdbSession::~RocksdbSession() {
  value_.Reset();
  values_.clear();
  rollback();
}

void RocksdbSession::begin(Intent intent) {
  if (single_ || (batches_ && intent == Intent::read_write)) {
    return;
  }
  writes_ = intent == Intent::read_write;
  if (writes_) {
    transaction_ = store_.begin(std::move(transaction_));
    read_.snapshot = transaction_->GetSnapshot();
  } else {
    read_.snapshot = store_.takes_snapshots() ? store_.db().GetSnapshot() : nullptr;
  }
}

Access RocksdbSession::commit() {
  if (batches_ && batch_.Count() != 0) {
    store_.write(batch_, use_);
    batch_.Clear();
  }
  if (!writes_) {
    release_snapshot();
    return Access::done;
  }
  const Access outcome = judge(transaction_->Commit(), "commit", ConflictReason::validation);
  if (outcome == Access::done) {
    writes_ = false;
    read_.snapshot = nullptr;
  } else {
    rollback();
  }
  return outcome;
}

// Nothing is prepared, so this only drops the transaction's memory.
void RocksdbSession::rollback() noexcept {
  batch_.Clear();
  value_.Reset();
  values_.clear();
  if (writes_) {
    static_cast<void>(transaction_->Rollback());
    writes_ = false;
    read_.snapshot = nullptr;
  }
  release_snapshot();
}

Access RocksdbSession::insert(TableId table, ByteView key, ByteView value) {
  if (batches_) {
    rocks::ensure(batch_.Put(family(table), rocks::slice_of(key), rocks::slice_of(value)), "put");
    return Access::done;
  }
  const Access found = fetch_for_update(table, key);
  switch (found) {
    case Access::done: return Access::exists;
    case Access::missing: return put_locked(table, key, value);
    default: return found;
  }
}

Access RocksdbSession::erase(TableId table, ByteView key) {
  if (batches_) {
    rocks::ensure(batch_.Delete(family(table), rocks::slice_of(key)), "delete");
    return Access::done;
  }
  const Access found = fetch_for_update(table, key);
  if (found != Access::done) {
    return found;
  }
  return judge(writer().Delete(family(table), rocks::slice_of(key), store_.locks()), "delete",
               ConflictReason::write_conflict);
}

Access RocksdbSession::replace_bytes(TableId table, ByteView key, std::size_t offset,
                                     ByteView bytes) {
  return judge(
      writer().Merge(family(table), rocks::slice_of(key), rocks::operand_of(offset, bytes)),
      "merge", ConflictReason::write_conflict);
}

Access RocksdbSession::fetch(TableId table, ByteView key) {
  value_.Reset();
  const rocksdb::Status status =
      writes_ ? transaction_->Get(read_, family(table), rocks::slice_of(key), &value_)
              : store_.db().Get(read_, family(table), rocks::slice_of(key), &value_);
  return judge(status, "get", ConflictReason::too_old);
}

void RocksdbSession::fetch_many(TableId table, std::span<const ByteView> keys) {
  keys_.clear();
  for (const ByteView key : keys) {
    keys_.push_back(rocks::slice_of(key));
  }
  values_.clear();
  values_.resize(keys.size());
  statuses_.resize(keys.size());
  if (writes_) {
    transaction_->MultiGet(read_, family(table), keys_.size(), keys_.data(), values_.data(),
                           statuses_.data());
  } else {
    store_.db().MultiGet(read_, family(table), keys_.size(), keys_.data(), values_.data(),
                         statuses_.data());
  }
}

Access RocksdbSession::fetch_for_update(TableId table, ByteView key) {
  if (single_) {
    return fetch(table, key);
  }
  value_.Reset();
  return judge(writer().GetForUpdate(read_, family(table), rocks::slice_of(key), &value_),
               "get for update", ConflictReason::write_conflict);
}

Access RocksdbSession::put_locked(TableId table, ByteView key, ByteView value) {
  if (single_) {
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    rocks::ensure(
        store_.db().Put(write, family(table), rocks::slice_of(key), rocks::slice_of(value)), "put");
    return Access::done;
  }
  return judge(
      writer().Put(family(table), rocks::slice_of(key), rocks::slice_of(value), store_.locks()),
      "put", ConflictReason::write_conflict);
}

std::unique_ptr<rocksdb::Iterator> RocksdbSession::iterate(TableId table, ByteView first,
                                                           ByteView last) {
  bound_above_.assign(last);
  bound_above_.push_back('\0');  // the smallest key above `last`
  lower_bound_ = rocks::slice_of(first);
  upper_bound_ = bound_above_;
  scan_.snapshot = read_.snapshot;
  return std::unique_ptr<rocksdb::Iterator>(writes_
                                                ? transaction_->GetIterator(scan_, family(table))
                                                : store_.db().NewIterator(scan_, family(table)));
}

rocksdb::Transaction& RocksdbSession::writer() const {
  if (!writes_) {
    throw std::logic_error("rocksdb: a change outside of a writing transaction");
  }
  return *transaction_;
}

rocksdb::ColumnFamilyHandle* RocksdbSession::family(TableId table) const {
  return store_.family(table);
}

void RocksdbSession::release_snapshot() noexcept {
  if (read_.snapshot != nullptr) {
    store_.db().ReleaseSnapshot(std::exchange(read_.snapshot, nullptr));
  }
}

Access RocksdbSession::judge(const rocksdb::Status& status, const char* what, ConflictReason busy) {
  if (status.ok()) {
    return Access::done;
  }
  if (status.IsNotFound()) {
    return Access::missing;
  }
  if (status.IsBusy()) {
    reason_ = status.IsDeadlock() ? ConflictReason::deadlock : busy;
  } else if (status.IsTimedOut()) {
    reason_ = ConflictReason::lock_timeout;
  } else if (status.IsTryAgain()) {
    reason_ = ConflictReason::too_old;
  } else {
    rocks::ensure(status, what);
  }
  return Access::conflict;
}

}  // namespace palimpsest::experiments
