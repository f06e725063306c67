// TPC-C's five transactions over any Session: run() with one of the inputs.
//
//   Outcome run(S& session, const NewOrderInput& input, NewOrderOutput& output)    and so on
//   Outcome run(S& session, const Input& input, Output& output)
// Each begins its transaction and ends it: committed, rolled back as the input says, or rolled back
// because of a conflict, after which the caller may run the same input again. `output` is
// meaningful only after a commit.
// Failure: DamagedRecord for wrong contents of the database; the session's errors. The transaction
//          is rolled back then.
// Thread-safety: that of the session.
#pragma once

#include <variant>

#include "experiments/tpcc/delivery.h"
#include "experiments/tpcc/input.h"
#include "experiments/tpcc/new_order.h"
#include "experiments/tpcc/order_status.h"
#include "experiments/tpcc/payment.h"
#include "experiments/tpcc/session.h"
#include "experiments/tpcc/stock_level.h"

namespace palimpsest::experiments::tpcc {

/// Memory for the output of any transaction, reused.
struct Output {
  NewOrderOutput new_order;
  PaymentOutput payment;
  OrderStatusOutput order_status;
  DeliveryOutput delivery;
  StockLevelOutput stock_level;
};

template <Session S>
Outcome run(S& session, const Input& input, Output& output) {
  switch (type_of(input)) {
    case TransactionType::new_order:
      return run(session, std::get<NewOrderInput>(input), output.new_order);
    case TransactionType::payment:
      return run(session, std::get<PaymentInput>(input), output.payment);
    case TransactionType::order_status:
      return run(session, std::get<OrderStatusInput>(input), output.order_status);
    case TransactionType::delivery:
      return run(session, std::get<DeliveryInput>(input), output.delivery);
    case TransactionType::stock_level: break;
  }
  return run(session, std::get<StockLevelInput>(input), output.stock_level);
}

}  // namespace palimpsest::experiments::tpcc
