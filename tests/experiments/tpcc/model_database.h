// TPC-C's tables as maps in memory: the model that tests use in place of an engine's.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "experiments/tpcc/consistency.h"
#include "experiments/tpcc/keys.h"
#include "experiments/tpcc/rows.h"

namespace palimpsest::experiments::tpcc::test {

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
    Rows<Key>& table = rows<Key>();
    table.emplace_hint(table.end(), key, row);
  }
  void add(const CustomerNameKey& key) { customer_names.emplace_hint(customer_names.end(), key); }
  void add(const OrderCustomerKey& key) {
    order_customers.emplace_hint(order_customers.end(), key);
  }

  template <class Key, class Visit>
  void scan(const Key& first, const Key& last, Visit&& visit) const {
    const Rows<Key>& table = rows<Key>();
    for (auto at = table.lower_bound(first); at != table.end() && at->first <= last; ++at) {
      visit(at->first, at->second);
    }
  }

  bool operator==(const ModelDatabase&) const = default;

  std::set<CustomerNameKey> customer_names;
  std::set<OrderCustomerKey> order_customers;

 private:
  std::tuple<Rows<ItemKey>, Rows<WarehouseKey>, Rows<DistrictKey>, Rows<CustomerKey>,
             Rows<HistoryKey>, Rows<NewOrderKey>, Rows<OrderKey>, Rows<OrderLineKey>,
             Rows<StockKey>>
      tables_;
};

static_assert(Reader<const ModelDatabase>);

}  // namespace palimpsest::experiments::tpcc::test
