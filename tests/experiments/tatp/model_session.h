// TATP's tables as maps in memory, and a session on them: the model that tests of the transactions
// use in place of an engine. One session at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "experiments/tatp/keys.h"
#include "experiments/tatp/session.h"

namespace palimpsest::experiments::tatp::test {

/// A database: a sink of the population, and a reader of the consistency check.
class ModelDatabase {
 public:
  template <class Key>
  using Rows = std::map<Key, RowOf<Key>>;

  template <class Key>
  [[nodiscard]] Rows<Key>& rows() {
    return std::get<Rows<Key>>(tables_);
  }
  template <class Key>
  [[nodiscard]] const Rows<Key>& rows() const {
    return std::get<Rows<Key>>(tables_);
  }
  template <class Key>
  [[nodiscard]] const RowOf<Key>& at(const Key& key) const {
    return rows<Key>().at(key);
  }

  template <class Key>
  void add(const Key& key, const RowOf<Key>& row) {
    rows<Key>().emplace(key, row);
  }
  void add(const SubscriberNumberKey& key) { numbers.insert(key); }

  template <class Key, class Visit>
  void scan(const Key& first, const Key& last, Visit&& visit) const {
    if constexpr (std::is_same_v<Key, SubscriberNumberKey>) {
      for (auto at = numbers.lower_bound(first); at != numbers.end() && *at <= last; ++at) {
        visit(*at);
      }
    } else {
      const Rows<Key>& table = rows<Key>();
      for (auto at = table.lower_bound(first); at != table.end() && at->first <= last; ++at) {
        visit(at->first, at->second);
      }
    }
  }

  bool operator==(const ModelDatabase&) const = default;

  std::set<SubscriberNumberKey> numbers;

 private:
  std::tuple<Rows<SubscriberKey>, Rows<AccessInfoKey>, Rows<SpecialFacilityKey>,
             Rows<CallForwardingKey>>
      tables_;
};

/// A session that can be told to meet a conflict.
class ModelSession {
 public:
  explicit ModelSession(ModelDatabase& database) : database_(database) {}

  /// The n-th operation from here on, commit() included, is a conflict.
  void conflict_at(std::uint64_t n) { until_conflict_ = n; }
  [[nodiscard]] bool conflict_is_due() const { return until_conflict_ != 0; }
  [[nodiscard]] bool is_open() const { return open_; }

  void begin(Intent intent) {
    check(!open_, "a transaction in a transaction");
    open_ = true;
    intent_ = intent;
  }

  Access commit() {
    if (meets_conflict()) {
      rollback();
      return Access::conflict;
    }
    undo_.clear();
    open_ = false;
    return Access::done;
  }

  void rollback() noexcept {
    check(open_, "no transaction to roll back");
    for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) {
      (*undo)();
    }
    undo_.clear();
    open_ = false;
  }

  template <class Key, class Use>
  Access read(const Key& key, Use&& use) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    const auto& table = std::as_const(database_).rows<Key>();
    const auto at = table.find(key);
    if (at == table.end()) {
      return Access::missing;
    }
    use(at->second);
    return Access::done;
  }

  template <class Key, class Change>
  Access update(const Key& key, Change&& change) {
    if (meets_conflict_writing()) {
      return Access::conflict;
    }
    auto& table = database_.rows<Key>();
    const auto at = table.find(key);
    if (at == table.end()) {
      return Access::missing;
    }
    undo_.emplace_back([at, before = at->second] { at->second = before; });
    RowOf<Key> repeated = at->second;
    change(repeated);  // as an engine may that has to begin again
    change(at->second);
    return Access::done;
  }

  template <class Key>
  Access insert(const Key& key, const RowOf<Key>& row) {
    if (meets_conflict_writing()) {
      return Access::conflict;
    }
    if (!database_.rows<Key>().emplace(key, row).second) {
      return Access::exists;
    }
    undo_.emplace_back([this, key] { database_.rows<Key>().erase(key); });
    return Access::done;
  }

  template <class Key>
  Access erase(const Key& key) {
    if (meets_conflict_writing()) {
      return Access::conflict;
    }
    auto& table = database_.rows<Key>();
    const auto at = table.find(key);
    if (at == table.end()) {
      return Access::missing;
    }
    undo_.emplace_back(
        [this, key, before = at->second] { database_.rows<Key>().emplace(key, before); });
    table.erase(at);
    return Access::done;
  }

  Access find_subscriber(const PhoneNumber& number, SubscriberKey& subscriber) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    const auto at = database_.numbers.lower_bound({number, 0});
    if (at == database_.numbers.end() || at->number != number) {
      return Access::missing;
    }
    subscriber = {at->subscriber};
    return Access::done;
  }

  template <class Visit>
  Access visit_special_facilities(const SubscriberKey& subscriber, Visit&& visit) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    database_.scan(SpecialFacilityKey{subscriber.subscriber, 0},
                   SpecialFacilityKey{subscriber.subscriber, 255}, visit);
    return Access::done;
  }

  template <class Visit>
  Access visit_call_forwardings(const SpecialFacilityKey& facility, Visit&& visit) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    const auto [subscriber, type] = facility;
    database_.scan(CallForwardingKey{subscriber, type, 0}, CallForwardingKey{subscriber, type, 255},
                   visit);
    return Access::done;
  }

 private:
  bool meets_conflict() {
    check(open_, "an operation outside a transaction");
    if (until_conflict_ == 0) {
      return false;
    }
    --until_conflict_;
    return until_conflict_ == 0;
  }
  bool meets_conflict_writing() {
    check(intent_ == Intent::read_write, "a write of a transaction that was to read only");
    return meets_conflict();
  }

  ModelDatabase& database_;
  std::vector<std::function<void()>> undo_;
  std::uint64_t until_conflict_ = 0;  ///< 0: none is due
  Intent intent_ = Intent::read_only;
  bool open_ = false;
};

static_assert(Session<ModelSession>);

}  // namespace palimpsest::experiments::tatp::test
