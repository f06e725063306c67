// TPC-C's tables as maps in memory: the model that tests use in place of an engine's.
#pragma once

#include <set>

#include "experiments/tpcc/consistency.h"
#include "experiments/tpcc/keys.h"
#include "experiments/tpcc/rows.h"
#include "tests/experiments/tables/model.h"

namespace palimpsest::experiments::tpcc::test {

/// A database: a sink of the population, and a reader of the consistency check.
class ModelDatabase : public experiments::test::ModelTables<ItemKey, WarehouseKey, DistrictKey,
                                                            CustomerKey, HistoryKey, NewOrderKey,
                                                            OrderKey, OrderLineKey, StockKey> {
 public:
  using ModelTables::add;
  void add(const CustomerNameKey& key) { customer_names.emplace_hint(customer_names.end(), key); }
  void add(const OrderCustomerKey& key) {
    order_customers.emplace_hint(order_customers.end(), key);
  }

  bool operator==(const ModelDatabase&) const = default;

  std::set<CustomerNameKey> customer_names;
  std::set<OrderCustomerKey> order_customers;
};

static_assert(Reader<const ModelDatabase>);

}  // namespace palimpsest::experiments::tpcc::test
