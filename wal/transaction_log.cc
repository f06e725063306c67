#include "wal/transaction_log.h"

namespace palimpsest::wal {

Gsn TransactionLog::append_commit() noexcept {
  debug_check(has_changes(), "a commit record has something to commit");
  const Lsn first = first_;
  const Appended appended = log_.append_commit(
      slot_, Gsn{0}, record_type(RecordRole::commit, BodyKind::none), sizeof first,
      [&](MutableBytes into) { std::memcpy(into.data(), &first, sizeof first); });
  forget();
  return appended.gsn;
}

void TransactionLog::reserve_rollback(std::size_t body_bytes) {
  const std::size_t bytes = std::max(record_bytes(RecordRole::compensation, body_bytes),
                                     record_bytes(RecordRole::rolled_back, 0));
  goes_first_ = true;
  log_.reserve(slot_, {.bytes = bytes,
                       .credit_bytes =
                           std::max(bytes, owed_bytes_) + record_bytes(RecordRole::rolled_back, 0),
                       .goes_first = true});
}

void TransactionLog::append_rolled_back() noexcept {
  append_rolled_back_as(name());
  forget();
}

void TransactionLog::append_rolled_back_as(const TransactionName& name) noexcept {
  log_.append(slot_, clock_.now(), record_type(RecordRole::rolled_back, BodyKind::none),
              sizeof name,
              [&](MutableBytes into) { std::memcpy(into.data(), &name, sizeof name); });
}

void TransactionLog::forget() noexcept {
  first_ = kNoLsn;
  last_ = kNoLsn;
  owed_bytes_ = 0;
  goes_first_ = false;
  log_.release_credit(slot_);
}

}  // namespace palimpsest::wal
