// The initial population of TPC-C (clause 4.3.3): every row as a function of seed and key.
//
// A row needs no other row and no state: threads may load different warehouses, tables or ranges in
// any order, and the result is the same. Where the specification requires a random tenth of the
// rows, a permutation chooses exactly a tenth.
// Rows go to a sink, in key order for each call, so that an engine may build its trees in bulk:
//   sink.add(const Key& key, const RowOf<Key>& row)    for the nine tables
//   sink.add(const IndexKey& key)                      for the two indexes
// Thread-safety: immutable.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "experiments/common/permutation.h"
#include "experiments/tpcc/keys.h"
#include "experiments/tpcc/random.h"
#include "experiments/tpcc/rows.h"

namespace palimpsest::experiments::tpcc {

/// Order numbers of a district by the customers that have made them, customer 1 first.
using OrdersByCustomer = std::array<Number, kCustomers>;

class Population {
 public:
  /// `loaded_at`, not kNoDate, is the date in all rows.
  Population(std::uint64_t seed, Date loaded_at) noexcept;

  [[nodiscard]] ItemRow row(const ItemKey& key) const noexcept;
  [[nodiscard]] WarehouseRow row(const WarehouseKey& key) const noexcept;
  [[nodiscard]] DistrictRow row(const DistrictKey& key) const noexcept;
  [[nodiscard]] CustomerRow row(const CustomerKey& key) const noexcept;
  [[nodiscard]] OrderRow row(const OrderKey& key) const noexcept;
  /// `order` is the row of the line's order.
  [[nodiscard]] OrderLineRow row(const OrderLineKey& key, const OrderRow& order) const noexcept;
  [[nodiscard]] StockRow row(const StockKey& key) const noexcept;

  /// The one payment of a customer; history_key() names it.
  [[nodiscard]] HistoryRow history_of(const CustomerKey& customer) const noexcept;
  [[nodiscard]] static HistoryKey history_key(const CustomerKey& customer) noexcept;

  [[nodiscard]] CustomerNameKey name_of(const CustomerKey& customer) const noexcept;
  [[nodiscard]] OrdersByCustomer orders_by_customer(const DistrictKey& key) const noexcept;

  /// ITEM, which belongs to no warehouse.
  template <class Sink>
  void items(Sink&& sink) const;

  /// Everything else of one warehouse: table after table, then the indexes.
  template <class Sink>
  void warehouse(Number warehouse, Sink&& sink) const;

  /// The parts of that, for loading table by table.
  template <class Sink>
  void districts(Number warehouse, Sink&& sink) const;
  template <class Sink>
  void customers(Number warehouse, Sink&& sink) const;
  template <class Sink>
  void history(Number warehouse, Sink&& sink) const;
  template <class Sink>
  void orders(Number warehouse, Sink&& sink) const;
  template <class Sink>
  void order_lines(Number warehouse, Sink&& sink) const;
  template <class Sink>
  void new_orders(Number warehouse, Sink&& sink) const;
  template <class Sink>
  void stock(Number warehouse, Sink&& sink) const;
  template <class Sink>
  void customer_names(Number warehouse, Sink&& sink) const;
  template <class Sink>
  void order_customers(Number warehouse, Sink&& sink) const;

 private:
  enum class Stream : std::uint8_t;

  /// The random numbers of one row, or of one permutation.
  [[nodiscard]] std::uint64_t stream_seed(Stream stream, Number warehouse, Number district,
                                          Number number) const noexcept;
  [[nodiscard]] Permutation permutation(Stream stream, Number warehouse, Number district,
                                        Number size) const noexcept;
  /// True for a tenth of the numbers [1, size].
  [[nodiscard]] bool in_tenth(Stream stream, Number warehouse, Number district, Number number,
                              Number size) const noexcept;

  std::uint64_t seed_;
  Date loaded_at_;
  NonUniformConstants constants_;
};

/// Calls visit(district, number) for every number of [first, last] in every district, in order.
template <class Visit>
void for_each_in_districts(Number first, Number last, Visit visit) {
  for (Number district = 1; district <= kDistricts; ++district) {
    for (Number number = first; number <= last; ++number) {
      visit(district, number);
    }
  }
}

template <class Sink>
void Population::items(Sink&& sink) const {
  for (Number item = 1; item <= kItems; ++item) {
    const ItemKey key{item};
    sink.add(key, row(key));
  }
}

template <class Sink>
void Population::warehouse(Number warehouse, Sink&& sink) const {
  const WarehouseKey key{warehouse};
  sink.add(key, row(key));
  districts(warehouse, sink);
  customers(warehouse, sink);
  history(warehouse, sink);
  orders(warehouse, sink);
  order_lines(warehouse, sink);
  new_orders(warehouse, sink);
  stock(warehouse, sink);
  customer_names(warehouse, sink);
  order_customers(warehouse, sink);
}

template <class Sink>
void Population::districts(Number warehouse, Sink&& sink) const {
  for (Number district = 1; district <= kDistricts; ++district) {
    const DistrictKey key{warehouse, district};
    sink.add(key, row(key));
  }
}

template <class Sink>
void Population::customers(Number warehouse, Sink&& sink) const {
  for_each_in_districts(1, kCustomers, [&](Number district, Number customer) {
    const CustomerKey key{warehouse, district, customer};
    sink.add(key, row(key));
  });
}

template <class Sink>
void Population::history(Number warehouse, Sink&& sink) const {
  for_each_in_districts(1, kCustomers, [&](Number district, Number customer) {
    const CustomerKey key{warehouse, district, customer};
    sink.add(history_key(key), history_of(key));
  });
}

template <class Sink>
void Population::orders(Number warehouse, Sink&& sink) const {
  for_each_in_districts(1, kInitialOrders, [&](Number district, Number order) {
    const OrderKey key{warehouse, district, order};
    sink.add(key, row(key));
  });
}

template <class Sink>
void Population::order_lines(Number warehouse, Sink&& sink) const {
  for_each_in_districts(1, kInitialOrders, [&](Number district, Number order) {
    const OrderRow head = row(OrderKey{warehouse, district, order});
    for (Number line = 1; line <= head.line_count; ++line) {
      const OrderLineKey key{warehouse, district, order, line};
      sink.add(key, row(key, head));
    }
  });
}

template <class Sink>
void Population::new_orders(Number warehouse, Sink&& sink) const {
  for_each_in_districts(kFirstNewOrder, kInitialOrders, [&](Number district, Number order) {
    sink.add(NewOrderKey{warehouse, district, order}, NewOrderRow{});
  });
}

template <class Sink>
void Population::stock(Number warehouse, Sink&& sink) const {
  for (Number item = 1; item <= kItems; ++item) {
    const StockKey key{warehouse, item};
    sink.add(key, row(key));
  }
}

template <class Sink>
void Population::customer_names(Number warehouse, Sink&& sink) const {
  std::array<CustomerNameKey, kCustomers> names;
  for (Number district = 1; district <= kDistricts; ++district) {
    for (Number customer = 1; customer <= kCustomers; ++customer) {
      names[static_cast<std::size_t>(customer - 1)] =
          name_of(CustomerKey{warehouse, district, customer});
    }
    std::sort(names.begin(), names.end());
    for (const CustomerNameKey& name : names) {
      sink.add(name);
    }
  }
}

template <class Sink>
void Population::order_customers(Number warehouse, Sink&& sink) const {
  for (Number district = 1; district <= kDistricts; ++district) {
    const OrdersByCustomer orders = orders_by_customer(DistrictKey{warehouse, district});
    for (Number customer = 1; customer <= kCustomers; ++customer) {
      sink.add(OrderCustomerKey{warehouse, district, customer,
                                orders[static_cast<std::size_t>(customer - 1)]});
    }
  }
}

}  // namespace palimpsest::experiments::tpcc
