// A TPC-C database of two warehouses with a few orders in each district, and all that those orders
// and their customers need: small enough to be copied and compared for each step of a test.
#pragma once

#include "experiments/tpcc/population.h"
#include "tests/experiments/tpcc/model_session.h"

namespace palimpsest::experiments::tpcc::test {

inline constexpr Date kLoadedAt = 1'700'000'000'000'000;
inline constexpr std::uint64_t kPopulationSeed = 4;

/// Contents: orders [kOrderFirst, kInitialOrders] of each district, of which those from kNewFirst
/// on are new; their customers; stock of all their items in both warehouses.
inline constexpr Number kOrderFirst = 2'990;
inline constexpr Number kNewFirst = 2'998;

inline void add_small_order(ModelDatabase& database, const Population& population,
                            const OrderKey& key) {
  const auto& [w, d, o] = key;
  const OrderRow order = population.row(key);
  const CustomerKey customer{w, d, order.customer};
  database.rows<OrderKey>()[key] = order;
  database.order_customers.insert({w, d, order.customer, o});
  database.rows<CustomerKey>()[customer] = population.row(customer);
  database.customer_names.insert(population.name_of(customer));
  if (o >= kNewFirst) {
    database.add(NewOrderKey{w, d, o}, NewOrderRow{});
  } else {
    database.rows<OrderKey>()[key].carrier = 1;
  }
  for (Number line = 1; line <= order.line_count; ++line) {
    const OrderLineKey line_key{w, d, o, line};
    OrderLineRow row = population.row(line_key, order);
    row.delivery_date = o >= kNewFirst ? kNoDate : kLoadedAt;
    database.rows<OrderLineKey>()[line_key] = row;
    database.rows<ItemKey>()[{row.item}] = population.row(ItemKey{row.item});
    for (const Number supplier : {1, 2}) {
      database.rows<StockKey>()[{supplier, row.item}] =
          population.row(StockKey{supplier, row.item});
    }
  }
}

[[nodiscard]] inline ModelDatabase small_database() {
  const Population population(kPopulationSeed, kLoadedAt);
  ModelDatabase database;
  for (const Number w : {1, 2}) {
    database.add(WarehouseKey{w}, population.row(WarehouseKey{w}));
    for (Number d = 1; d <= kDistricts; ++d) {
      database.add(DistrictKey{w, d}, population.row(DistrictKey{w, d}));
      for (Number o = kOrderFirst; o <= kInitialOrders; ++o) {
        add_small_order(database, population, {w, d, o});
      }
    }
  }
  return database;
}

}  // namespace palimpsest::experiments::tpcc::test
