// A session on TPC-C's tables in memory (model_database.h), by which the transactions are tested.
// One at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "experiments/tpcc/keys.h"
#include "experiments/tpcc/rows.h"
#include "experiments/tpcc/session.h"
#include "tests/experiments/tpcc/model_database.h"

namespace palimpsest::experiments::tpcc::test {

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

  template <class... Keys>
  void prefetch(std::span<const Keys>...) {
    check(open_, "a prefetch outside a transaction");
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

  template <class Key, class Use>
  Access look(const Key& key, Use&& use) {
    return read(key, [&](const RowOf<Key>& row) {
      const EncodedRow stored(row);
      use(StoredRow<const RowOf<Key>>(stored.view()));
    });
  }

  template <class Key, class Change>
  Access patch(const Key& key, Change&& change) {
    return update(key, [&](RowOf<Key>& row) {
      std::string stored{EncodedRow<RowOf<Key>>(row).view()};
      change(StoredRow<RowOf<Key>>(stored));
      check(decode_row(stored, row), "a patched row is one");
    });
  }

  template <class Key, class Use>
  Access read_many(std::span<const Key> keys, Use&& use) {
    bool all_there = true;
    const Access access = each(keys, [&](std::size_t i) {
      const Access one = read(keys[i], [&](const RowOf<Key>& row) { use(i, row); });
      all_there = all_there && one != Access::missing;
      return one == Access::missing ? Access::done : one;
    });
    return all_there ? access : Access::missing;
  }

  template <class Key, class Use>
  Access look_many(std::span<const Key> keys, Use&& use) {
    return read_many(keys, [&](std::size_t i, const RowOf<Key>& row) {
      const EncodedRow stored(row);
      use(i, StoredRow<const RowOf<Key>>(stored.view()));
    });
  }

  template <class Key, class Change>
  Access patch_many(std::span<const Key> keys, Change&& change) {
    return each(keys, [&](std::size_t i) {
      return patch(keys[i], [&](const StoredRow<RowOf<Key>>& row) { change(i, row); });
    });
  }

  template <class Key>
  Access insert_many(std::span<const Key> keys, std::span<const RowOf<Key>> rows) {
    return each(keys, [&](std::size_t i) { return insert(keys[i], rows[i]); });
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
    if constexpr (std::is_same_v<Key, OrderKey>) {
      const OrderCustomerKey entry{key.warehouse, key.district, row.customer, key.order};
      check(database_.order_customers.insert(entry).second, "an index entry twice");
      undo_.emplace_back([this, entry] { database_.order_customers.erase(entry); });
    }
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

  template <class Visit>
  Access visit_customers(const DistrictKey& district, const FixedText<16>& last, Visit&& visit) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    const auto& names = database_.customer_names;
    const auto [w, d] = district;
    for (auto at = names.lower_bound({w, d, last, {}, 0});
         at != names.end() && at->warehouse == w && at->district == d && at->last == last; ++at) {
      visit(*at);
    }
    return Access::done;
  }

  Access latest_order(const CustomerKey& customer, OrderKey& order) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    const auto& [w, d, c] = customer;
    const auto& entries = database_.order_customers;
    auto at = entries.lower_bound({w, d, c + 1, 0});
    if (at == entries.begin()) {
      return Access::missing;
    }
    --at;
    if (at->warehouse != w || at->district != d || at->customer != c) {
      return Access::missing;
    }
    order = {w, d, at->order};
    return Access::done;
  }

  Access oldest_new_order(const DistrictKey& district, NewOrderKey& new_order) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    const auto& table = database_.rows<NewOrderKey>();
    const auto at = table.lower_bound({district.warehouse, district.district, 0});
    if (at == table.end() || at->first.warehouse != district.warehouse ||
        at->first.district != district.district) {
      return Access::missing;
    }
    new_order = at->first;
    return Access::done;
  }

  template <class Visit>
  Access visit_order_lines(const DistrictKey& district, Number first, Number last, Visit&& visit) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    const auto [w, d] = district;
    database_.scan(OrderLineKey{w, d, first, 0}, OrderLineKey{w, d, last, kOrderLinesMax}, visit);
    return Access::done;
  }

 private:
  /// Up to the first that is not done.
  template <class Key, class Do>
  static Access each(std::span<const Key> keys, Do&& do_one) {
    Access access = Access::done;
    for (std::size_t i = 0; i < keys.size() && access == Access::done; ++i) {
      access = do_one(i);
    }
    return access;
  }

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

}  // namespace palimpsest::experiments::tpcc::test
