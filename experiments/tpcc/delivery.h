// The Delivery transaction (clause 2.7.4): the oldest order of each district of a warehouse goes
// out, all ten in one transaction. A district without an order to deliver is skipped (2.7.4.2).
#pragma once

#include <array>
#include <cstddef>

#include "experiments/tables/transaction_scope.h"
#include "experiments/tpcc/input.h"
#include "experiments/tpcc/session.h"

namespace palimpsest::experiments::tpcc {

struct DeliveryOutput {
  std::array<Number, kDistricts> orders;  ///< district 1 first; 0 where there was none
};

namespace detail {

/// Delivers that order: everything but the end of its new-order. False: a conflict.
template <Session S>
[[nodiscard]] bool deliver(TransactionScope<S>& scope, const DeliveryInput& input,
                           const OrderKey& order) {
  Number lines = 0;
  Cents amounts = 0;
  CustomerKey customer{order.warehouse, order.district, 0};
  const bool sent = scope.update(order, [&](OrderRow& row) {
    row.carrier = input.carrier;
    lines = row.line_count;
    customer.customer = row.customer;
  });
  if (!sent) {
    return false;
  }
  for (Number line = 1; line <= lines; ++line) {
    Cents amount = 0;
    const OrderLineKey key{order.warehouse, order.district, order.order, line};
    const bool dated = scope.update(key, [&](OrderLineRow& row) {
      row.delivery_date = input.date;
      amount = row.amount;
    });
    if (!dated) {
      return false;
    }
    amounts += amount;
  }
  return scope.update(customer, [&](CustomerRow& row) {
    row.balance += amounts;
    ++row.delivery_count;
  });
}

}  // namespace detail

template <Session S>
Outcome run(S& session, const DeliveryInput& input, DeliveryOutput& output) {
  TransactionScope scope(session, Intent::read_write);
  for (Number district = 1; district <= kDistricts; ++district) {
    Number& delivered = output.orders[static_cast<std::size_t>(district - 1)];
    delivered = 0;
    NewOrderKey oldest;
    const Access found = session.oldest_new_order({input.warehouse, district}, oldest);
    if (found == Access::missing) {
      continue;
    }
    // Without isolation another delivery may have taken it since: missing is a conflict here.
    if (found != Access::done || session.erase(oldest) != Access::done ||
        !detail::deliver(scope, input, {input.warehouse, district, oldest.order})) {
      return Outcome::conflict;
    }
    delivered = oldest.order;
  }
  return scope.commit();
}

}  // namespace palimpsest::experiments::tpcc
