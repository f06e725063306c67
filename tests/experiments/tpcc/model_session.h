// A session on TPC-C's tables in memory (model_database.h), to test the transactions. One at a
// time.
#pragma once

#include <span>
#include <string>
#include <type_traits>

#include "base/check.h"
#include "experiments/tpcc/keys.h"
#include "experiments/tpcc/rows.h"
#include "experiments/tpcc/session.h"
#include "tests/experiments/tables/model.h"
#include "tests/experiments/tpcc/model_database.h"

namespace palimpsest::experiments::tpcc::test {

/// A session with conflicts on request.
class ModelSession : public experiments::test::ModelSession<ModelDatabase> {
 public:
  using Base = experiments::test::ModelSession<ModelDatabase>;
  using Base::Base;

  template <class... Keys>
  void prefetch(std::span<const Keys>...) {
    check(is_open(), "a prefetch outside a transaction");
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
      ValueEditor value(stored, nullptr);
      RowEditor editor(value);
      change(StoredRow<RowOf<Key>>(editor));
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

  /// Includes an order's entry in the index of its customer.
  template <class Key>
  Access insert(const Key& key, const RowOf<Key>& row) {
    const Access access = Base::insert(key, row);
    if constexpr (std::is_same_v<Key, OrderKey>) {
      if (access == Access::done) {
        const OrderCustomerKey entry{key.warehouse, key.district, row.customer, key.order};
        check(database().order_customers.insert(entry).second, "an index entry twice");
        undo([this, entry] { database().order_customers.erase(entry); });
      }
    }
    return access;
  }

  template <class Visit>
  Access visit_customers(const DistrictKey& district, const FixedText<16>& last, Visit&& visit) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    const auto& names = database().customer_names;
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
    const auto& entries = database().order_customers;
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
    const auto& table = database().rows<NewOrderKey>();
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
    database().scan(OrderLineKey{w, d, first, 0}, OrderLineKey{w, d, last, kOrderLinesMax}, visit);
    return Access::done;
  }

 private:
  /// Stops at the first that is not done.
  template <class Key, class Do>
  static Access each(std::span<const Key> keys, Do&& do_one) {
    Access access = Access::done;
    for (std::size_t i = 0; i < keys.size() && access == Access::done; ++i) {
      access = do_one(i);
    }
    return access;
  }
};

static_assert(Session<ModelSession>);

}  // namespace palimpsest::experiments::tpcc::test
