// The interface that TPC-C needs from an engine: the concept Session, one thread's access to the
// nine tables.
//
// The operations of tables/session.h, which says what may fail and how; insert() of an order also
// inserts into the index of orders by customer, and prefetch() also takes keys of that index. In
// addition:
//   visit_customers(district, last, visit)
//                         calls visit(const CustomerNameKey&) for the customers with that last
//                         name, in the order of their first names; done even if there is none
//   latest_order(customer, order)
//                         sets `order` to the key of the customer's order with the largest number,
//                         or finds none: missing
//   oldest_new_order(district, new_order)
//                         the same for the district's new-order with the smallest number
//   visit_order_lines(district, first, last, visit)
//                         calls visit(const OrderLineKey&, const OrderLineRow&) for all lines of
//                         orders [first, last], in key order; done even if there is none
// Thread-safety: one session belongs to one thread; sessions of one database work concurrently.
#pragma once

#include <concepts>

#include "experiments/tables/session.h"
#include "experiments/tpcc/keys.h"
#include "experiments/tpcc/rows.h"

namespace palimpsest::experiments::tpcc {

namespace detail {

struct CustomerVisitor {
  void operator()(const CustomerNameKey& name) const;
};
struct OrderLineVisitor {
  void operator()(const OrderLineKey& key, const OrderLineRow& row) const;
};

template <class S>
concept Visits =
    requires(S& session, const DistrictKey& district, const CustomerKey& customer,
             const FixedText<16>& last, Number number, OrderKey& order, NewOrderKey& new_order,
             const CustomerVisitor& visit_customer, const OrderLineVisitor& visit_line) {
      { session.visit_customers(district, last, visit_customer) } -> std::same_as<Access>;
      { session.latest_order(customer, order) } -> std::same_as<Access>;
      { session.oldest_new_order(district, new_order) } -> std::same_as<Access>;
      { session.visit_order_lines(district, number, number, visit_line) } -> std::same_as<Access>;
    };

}  // namespace detail

template <class S>
concept Session =
    Begins<S> && detail::Visits<S> && Reads<S, ItemKey> && Reads<S, WarehouseKey> &&
    Reads<S, DistrictKey> && Reads<S, CustomerKey> && Reads<S, OrderKey> &&
    LooksMany<S, StockKey> && ReadsMany<S, ItemKey> && Looks<S, WarehouseKey> &&
    Updates<S, WarehouseKey> && Updates<S, DistrictKey> && Updates<S, CustomerKey> &&
    Patches<S, DistrictKey> && Patches<S, CustomerKey> && PatchesMany<S, CustomerKey> &&
    PatchesMany<S, OrderKey> && PatchesMany<S, OrderLineKey> && PatchesMany<S, StockKey> &&
    Inserts<S, HistoryKey> && Inserts<S, NewOrderKey> && Inserts<S, OrderKey> &&
    InsertsMany<S, OrderLineKey> && Erases<S, NewOrderKey> && Prefetches<S, NewOrderKey> &&
    Prefetches<S, OrderKey> && Prefetches<S, StockKey> && Prefetches<S, OrderKey, OrderLineKey> &&
    Prefetches<S, CustomerKey, OrderLineKey> && Prefetches<S, CustomerKey, OrderCustomerKey> &&
    Prefetches<S, StockKey, ItemKey, CustomerKey, OrderCustomerKey>;

}  // namespace palimpsest::experiments::tpcc
