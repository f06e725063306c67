#include "wal/transaction_log.h"

#include "palimpsest/error.h"

namespace palimpsest::wal {

void TransactionLog::wait_for(const OperationNeed& need) {
  if (is_cancelled() || !try_reserve(need, [this] { return is_cancelled(); })) {
    require_space_if_repeated(need_of(need).credit_bytes);
    throw Error(ErrorCode::transaction_too_old,
                "the transaction keeps more than half of the log from being reused: it must be "
                "rolled back");
  }
}

// A transaction that works for another, within its call, ends with it: both count.
void TransactionLog::require_space_if_repeated(std::size_t more_bytes) const {
  const std::uint64_t others = works_for_ == nullptr ? 0 : works_for_->appended_bytes();
  log_.space().require_for_one(appended_bytes() + others + more_bytes);
}

std::uint64_t TransactionLog::appended_bytes() const {
  return first_ == kNoLsn ? 0 : raw(log_.slot_log(slot_).end()) - raw(first_);
}

Gsn TransactionLog::append_commit(FunctionRef<void(Gsn timestamp)> drawn) noexcept {
  PALIMPSEST_DEBUG_CHECK(
      has_changes(), "a commit record is written only for a transaction that changed something");
  const Appended appended = log_.append_commit(
      slot_, Gsn{0}, record_type(RecordRole::commit, BodyKind::none), ConstBytes(), drawn);
  forget();
  return appended.gsn;
}

void TransactionLog::reserve_end() {
  const std::size_t bytes = record_bytes_max(RecordRole::rolled_back, 0);
  static_assert(record_bytes_max(RecordRole::rolled_back, 0) >=
                record_bytes_max(RecordRole::commit, 0));
  log_.reserve(slot_, {.bytes = bytes, .credit_bytes = bytes, .goes_first = true});
}

void TransactionLog::reserve_compensation(std::size_t change_body_bytes) {
  const std::size_t bytes = compensation_bytes_max(change_body_bytes);
  const std::size_t owed =
      std::max(bytes, owed_bytes_) + record_bytes_max(RecordRole::rolled_back, 0);
  goes_first_ = true;
  log_.reserve(slot_, {.bytes = bytes, .credit_bytes = owed, .goes_first = true});
}

void TransactionLog::reserve_handed_over(std::size_t body_bytes) {
  const std::size_t bytes = handed_over_bytes(body_bytes);
  PALIMPSEST_DEBUG_CHECK(owed_bytes_ >= bytes,
                         "log space was reserved for each record that is appended");
  log_.reserve(slot_, {.bytes = bytes, .credit_bytes = owed_bytes_, .goes_first = true});
  owed_bytes_ -= bytes;
}

void TransactionLog::forget_handed_over(std::size_t bytes) noexcept {
  PALIMPSEST_DEBUG_CHECK(owed_bytes_ >= bytes, "no more log space is returned than was reserved");
  owed_bytes_ -= bytes;
  release_unused();
}

void TransactionLog::reserve_first(std::size_t body_bytes) {
  const std::size_t bytes = record_bytes_max(RecordRole::system, body_bytes);
  log_.reserve(slot_, {.bytes = bytes, .credit_bytes = bytes, .goes_first = true});
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
  last_ = kNoLsn;
  owed_bytes_ = 0;
  goes_first_ = false;
  oldest_ = Gsn{std::numeric_limits<std::uint64_t>::max()};
  log_.release_credit(slot_);
}

}  // namespace palimpsest::wal
