// The Delivery transaction (clause 2.7.4): the oldest order of each district of a warehouse goes
// out, all ten in one transaction. A district without an order to deliver is skipped (2.7.4.2).
//
// Step by step for all ten, not district by district: what a step will read is known for all before
// it begins, and can be fetched together.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include "experiments/tables/transaction_scope.h"
#include "experiments/tpcc/input.h"
#include "experiments/tpcc/session.h"

namespace palimpsest::experiments::tpcc {

struct DeliveryOutput {
  std::array<Number, kDistricts> orders;  ///< district 1 first; 0 where there was none
};

namespace detail {

/// An order on its way.
struct Delivered {
  OrderKey order;
  CustomerKey customer;
  Number lines = 0;
};

/// All orders that a delivery takes with it: at most one of each district.
class Deliveries {
 public:
  void add(const OrderKey& order) {
    all_[count_++] = {.order = order, .customer = {order.warehouse, order.district, 0}};
  }
  [[nodiscard]] std::span<Delivered> all() noexcept { return {all_.data(), count_}; }

  /// Says that rows of them will be needed: key_of(const Delivered&) of each. False: a conflict.
  template <class S, class KeyOf>
  [[nodiscard]] bool prefetch(S& session, KeyOf key_of) const {
    std::array<std::invoke_result_t<KeyOf, const Delivered&>, kDistricts> keys;
    for (std::size_t i = 0; i < count_; ++i) {
      keys[i] = key_of(all_[i]);
    }
    return session.prefetch(std::span<const typename decltype(keys)::value_type>(keys).first(
               count_)) == Access::done;
  }

 private:
  std::array<Delivered, kDistricts> all_;
  std::size_t count_ = 0;
};

/// Takes the oldest order of each district off the new ones. False: a conflict.
template <Session S>
[[nodiscard]] bool take_oldest(S& session, const DeliveryInput& input, Deliveries& deliveries,
                               DeliveryOutput& output) {
  for (Number district = 1; district <= kDistricts; ++district) {
    Number& delivered = output.orders[static_cast<std::size_t>(district - 1)];
    delivered = 0;
    NewOrderKey oldest;
    const Access found = session.oldest_new_order({input.warehouse, district}, oldest);
    if (found == Access::missing) {
      continue;
    }
    // Without isolation another delivery may have taken it since: missing is a conflict here.
    if (found != Access::done || session.erase(oldest) != Access::done) {
      return false;
    }
    delivered = oldest.order;
    deliveries.add({input.warehouse, district, oldest.order});
  }
  return true;
}

/// The order itself goes out. False: a conflict.
template <Session S>
[[nodiscard]] bool send(TransactionScope<S>& scope, const DeliveryInput& input, Delivered& one) {
  return scope.update(one.order, [&](OrderRow& row) {
    row.carrier = input.carrier;
    one.lines = row.line_count;
    one.customer.customer = row.customer;
  });
}

/// Its lines are dated, and the customer is charged. False: a conflict.
template <Session S>
[[nodiscard]] bool charge(TransactionScope<S>& scope, const DeliveryInput& input,
                          const Delivered& one) {
  Cents amounts = 0;
  for (Number line = 1; line <= one.lines; ++line) {
    Cents amount = 0;
    const OrderLineKey key{one.order.warehouse, one.order.district, one.order.order, line};
    const bool dated = scope.update(key, [&](OrderLineRow& row) {
      row.delivery_date = input.date;
      amount = row.amount;
    });
    if (!dated) {
      return false;
    }
    amounts += amount;
  }
  return scope.update(one.customer, [&](CustomerRow& row) {
    row.balance += amounts;
    ++row.delivery_count;
  });
}

}  // namespace detail

template <Session S>
Outcome run(S& session, const DeliveryInput& input, DeliveryOutput& output) {
  using detail::Delivered;
  TransactionScope scope(session, Intent::read_write);
  detail::Deliveries deliveries;
  bool done = detail::take_oldest(session, input, deliveries, output) &&
              deliveries.prefetch(session, [](const Delivered& one) { return one.order; });
  for (Delivered& one : deliveries.all()) {
    done = done && detail::send(scope, input, one);
  }
  done = done && deliveries.prefetch(session, [](const Delivered& one) { return one.customer; }) &&
         deliveries.prefetch(session, [](const Delivered& one) {
           return OrderLineKey{one.order.warehouse, one.order.district, one.order.order, 1};
         });
  for (const Delivered& one : deliveries.all()) {
    done = done && detail::charge(scope, input, one);
  }
  return done ? scope.commit() : Outcome::conflict;
}

}  // namespace palimpsest::experiments::tpcc
