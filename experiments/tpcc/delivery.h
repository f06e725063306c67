// The Delivery transaction (clause 2.7.4): delivers the oldest order of each district of a
// warehouse, all ten in one transaction. A district without an order to deliver is skipped
// (2.7.4.2).
//
// Step by step for all ten, not district by district: the rows of a step are known for all
// districts before it begins, and can be prefetched together.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>

#include "experiments/tables/transaction_scope.h"
#include "experiments/tpcc/input.h"
#include "experiments/tpcc/session.h"

namespace palimpsest::experiments::tpcc {

struct DeliveryOutput {
  std::array<Number, kDistricts> orders;  ///< district 1 first; 0 where there was none
};

namespace detail {

/// An order being delivered.
struct Delivered {
  OrderKey order;
  CustomerKey customer;
  Number lines = 0;
  Cents amount = 0;  ///< of all lines
};

/// All orders of a delivery: at most one of each district.
class Deliveries {
 public:
  void add(const OrderKey& order) {
    all_[count_++] = {.order = order, .customer = {order.warehouse, order.district, 0}};
  }
  [[nodiscard]] std::span<Delivered> all() noexcept { return {all_.data(), count_}; }

  /// Prefetches the orders.
  template <class S>
  void prefetch_orders(S& session) const {
    std::array<OrderKey, kDistricts> orders;
    for (std::size_t i = 0; i < count_; ++i) {
      orders[i] = all_[i].order;
    }
    session.prefetch(std::span<const OrderKey>(orders).first(count_));
  }
  /// Prefetches their customers and lines.
  template <class S>
  void prefetch_charges(S& session) const {
    std::array<CustomerKey, kDistricts> customers;
    std::array<OrderLineKey, kDistricts> lines;
    for (std::size_t i = 0; i < count_; ++i) {
      const auto& [warehouse, district, order] = all_[i].order;
      customers[i] = all_[i].customer;
      lines[i] = {warehouse, district, order, 1};
    }
    session.prefetch(std::span<const CustomerKey>(customers).first(count_),
                     std::span<const OrderLineKey>(lines).first(count_));
  }

 private:
  std::array<Delivered, kDistricts> all_;
  std::size_t count_ = 0;
};

/// Prefetches the oldest new order of each district.
template <Session S>
void prefetch_oldest(S& session, const DeliveryInput& input) {
  std::array<NewOrderKey, kDistricts> oldest;
  for (std::size_t i = 0; i < oldest.size(); ++i) {
    oldest[i] = {input.warehouse, static_cast<Number>(i + 1), 0};
  }
  session.prefetch(std::span<const NewOrderKey>(oldest));
}

/// Removes the oldest order of each district from the new ones. False: a conflict.
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
    // Without isolation another delivery may have removed it since: missing is a conflict here.
    if (found != Access::done || session.erase(oldest) != Access::done) {
      return false;
    }
    delivered = oldest.order;
    deliveries.add({input.warehouse, district, oldest.order});
  }
  return true;
}

/// Updates the orders themselves. False: a conflict.
template <Session S>
[[nodiscard]] bool send(TransactionScope<S>& scope, const DeliveryInput& input,
                        Deliveries& deliveries) {
  const std::span<Delivered> all = deliveries.all();
  std::array<OrderKey, kDistricts> orders;
  std::ranges::transform(all, orders.begin(), &Delivered::order);
  return scope.patch_many(std::span<const OrderKey>(orders).first(all.size()),
                          [&](std::size_t i, const StoredRow<OrderRow>& row) {
                            row.set<&OrderRow::carrier>(input.carrier);
                            all[i].lines = row.get<&OrderRow::line_count>();
                            all[i].customer.customer = row.get<&OrderRow::customer>();
                          });
}

/// Dates the lines of an order. False: a conflict.
template <Session S>
[[nodiscard]] bool date_lines(TransactionScope<S>& scope, const DeliveryInput& input,
                              Delivered& one) {
  std::array<OrderLineKey, kOrderLinesMax> lines;
  std::array<Cents, kOrderLinesMax> amounts{};
  const auto count = static_cast<std::size_t>(one.lines);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [warehouse, district, order] = one.order;
    lines[i] = {warehouse, district, order, static_cast<Number>(i + 1)};
  }
  const bool dated = scope.patch_many(std::span<const OrderLineKey>(lines).first(count),
                                      [&](std::size_t i, const StoredRow<OrderLineRow>& row) {
                                        row.set<&OrderLineRow::delivery_date>(input.date);
                                        amounts[i] = row.get<&OrderLineRow::amount>();
                                      });
  one.amount = std::accumulate(amounts.begin(), amounts.end(), Cents{0});
  return dated;
}

/// Charges the customers. False: a conflict.
template <Session S>
[[nodiscard]] bool charge(TransactionScope<S>& scope, Deliveries& deliveries) {
  const std::span<const Delivered> all = deliveries.all();
  std::array<CustomerKey, kDistricts> customers;
  std::ranges::transform(all, customers.begin(), &Delivered::customer);
  return scope.patch_many(
      std::span<const CustomerKey>(customers).first(all.size()),
      [&](std::size_t i, const StoredRow<CustomerRow>& row) {
        row.set<&CustomerRow::balance>(row.get<&CustomerRow::balance>() + all[i].amount);
        row.set<&CustomerRow::delivery_count>(row.get<&CustomerRow::delivery_count>() + 1);
      });
}

}  // namespace detail

template <Session S>
Outcome run(S& session, const DeliveryInput& input, DeliveryOutput& output) {
  TransactionScope scope(session, Intent::read_write);
  detail::Deliveries deliveries;
  detail::prefetch_oldest(session, input);
  if (!detail::take_oldest(session, input, deliveries, output)) {
    return Outcome::conflict;
  }
  deliveries.prefetch_orders(session);
  if (!detail::send(scope, input, deliveries)) {
    return Outcome::conflict;
  }
  deliveries.prefetch_charges(session);
  for (detail::Delivered& one : deliveries.all()) {
    if (!detail::date_lines(scope, input, one)) {
      return Outcome::conflict;
    }
  }
  return detail::charge(scope, deliveries) ? scope.commit() : Outcome::conflict;
}

}  // namespace palimpsest::experiments::tpcc
