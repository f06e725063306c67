// The Order-Status transaction (clause 2.6.2): the state of a customer's latest order.
#pragma once

#include <array>
#include <cstddef>

#include "experiments/tables/transaction_scope.h"
#include "experiments/tpcc/customer_choice.h"
#include "experiments/tpcc/input.h"
#include "experiments/tpcc/session.h"

namespace palimpsest::experiments::tpcc {

/// The data that the terminal shows (clause 2.6.3).
struct OrderStatusOutput {
  CustomerKey customer;
  FixedText<16> first;
  FixedText<2> middle;
  FixedText<16> last;
  Cents balance = 0;
  Number order = 0;
  OrderRow head;
  std::size_t line_count = 0;
  std::array<OrderLineRow, kOrderLinesMax> lines;
};

template <Session S>
Outcome run(S& session, const OrderStatusInput& input, OrderStatusOutput& output) {
  TransactionScope scope(session, Intent::read_only);
  if (!find_customer(scope, input.customer, output.customer)) {
    return Outcome::conflict;
  }
  const auto& [warehouse, district, customer] = output.customer;
  session.prefetch(only(output.customer),
                   only(OrderCustomerKey{warehouse, district, customer, kBehindAll}));
  const bool found = scope.read(output.customer, [&](const CustomerRow& row) {
    output.first = row.first;
    output.middle = row.middle;
    output.last = row.last;
    output.balance = row.balance;
  });
  if (!found) {
    return Outcome::conflict;
  }
  OrderKey order;
  const Access latest = session.latest_order(output.customer, order);
  if (latest == Access::missing) {
    report_damage(latest, "orders of " + describe(output.customer));
  }
  session.prefetch(only(order), only(OrderLineKey{warehouse, district, order.order, 1}));
  // Without isolation the order may have been rolled back since: then the transaction is retried.
  if (latest != Access::done ||
      session.read(order, [&](const OrderRow& row) { output.head = row; }) != Access::done) {
    return Outcome::conflict;
  }
  output.order = order.order;
  output.line_count = 0;
  const Access lines = session.visit_order_lines(input.customer.district, order.order, order.order,
                                                 [&](const OrderLineKey&, const OrderLineRow& row) {
                                                   if (output.line_count < output.lines.size()) {
                                                     output.lines[output.line_count++] = row;
                                                   }
                                                 });
  return lines == Access::done ? scope.commit() : Outcome::conflict;
}

}  // namespace palimpsest::experiments::tpcc
