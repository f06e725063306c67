// One open transaction of a session: rolls back unless committed, and sorts the outcomes of
// operations.
//
// A workload's transactions are chains of operations that end at the first conflict. Here an
// operation is a condition: true when it is done, false when there is a conflict. A missing row
// that the database must have voids the run: DamagedRecord.
// Thread-safety: belongs to its session's thread.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "experiments/common/record_key.h"
#include "experiments/tables/key.h"
#include "experiments/tables/session.h"

namespace palimpsest::experiments {

/// Throws DamagedRecord: a transaction has met a state that no transaction leaves behind.
[[noreturn]] void report_damage(Access access, const std::string& key);

template <Begins S>
class TransactionScope {
 public:
  TransactionScope(S& session, Intent intent) : session_(session) { session_.begin(intent); }
  ~TransactionScope() {
    if (open_) {
      session_.rollback();
    }
  }
  TransactionScope(const TransactionScope&) = delete;
  TransactionScope& operator=(const TransactionScope&) = delete;

  /// For operations that may find nothing.
  [[nodiscard]] S& session() noexcept { return session_; }

  template <class Key, class Use>
  [[nodiscard]] bool read(const Key& key, Use&& use) {
    return is_done(session_.read(key, std::forward<Use>(use)), key);
  }

  template <class Key, class Use>
  [[nodiscard]] bool look(const Key& key, Use&& use) {
    return is_done(session_.look(key, std::forward<Use>(use)), key);
  }

  template <class Key, class Change>
  [[nodiscard]] bool update(const Key& key, Change&& change) {
    return is_done(session_.update(key, std::forward<Change>(change)), key);
  }

  template <class Key, class Change>
  [[nodiscard]] bool patch(const Key& key, Change&& change) {
    return is_done(session_.patch(key, std::forward<Change>(change)), key);
  }

  template <class Key, class Use>
  [[nodiscard]] bool look_many(std::span<const Key> keys, Use&& use) {
    return is_done(session_.look_many(keys, std::forward<Use>(use)), first_of(keys));
  }

  template <class Key, class Change>
  [[nodiscard]] bool patch_many(std::span<const Key> keys, Change&& change) {
    return is_done(session_.patch_many(keys, std::forward<Change>(change)), first_of(keys));
  }

  template <class Key>
  [[nodiscard]] bool insert(const Key& key, const RowOf<Key>& row) {
    return is_done(session_.insert(key, row), key);
  }

  template <class Key>
  [[nodiscard]] bool insert_many(std::span<const Key> keys, std::span<const RowOf<Key>> rows) {
    return is_done(session_.insert_many(keys, rows), first_of(keys));
  }

  [[nodiscard]] Outcome commit() {
    open_ = false;
    return session_.commit() == Access::done ? Outcome::committed : Outcome::conflict;
  }

 private:
  /// Their names in messages.
  template <class Key>
  [[nodiscard]] static Key first_of(std::span<const Key> keys) noexcept {
    return keys.empty() ? Key{} : keys.front();
  }
  template <class Key>
  [[nodiscard]] static bool is_done(Access access, const Key& key) {
    if (access == Access::done) [[likely]] {
      return true;
    }
    if (access != Access::conflict) [[unlikely]] {
      report_damage(access, describe(key));
    }
    return false;
  }

  S& session_;
  bool open_ = true;
};

}  // namespace palimpsest::experiments
