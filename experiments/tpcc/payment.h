// The Payment transaction (clause 2.5.2): a customer pays at a warehouse, not always their own.
#pragma once

#include "experiments/tables/transaction_scope.h"
#include "experiments/tpcc/customer_choice.h"
#include "experiments/tpcc/input.h"
#include "experiments/tpcc/session.h"

namespace palimpsest::experiments::tpcc {

/// The data that the terminal shows (clause 2.5.3), without addresses.
struct PaymentOutput {
  FixedText<10> warehouse_name;
  FixedText<10> district_name;
  CustomerKey customer;
  FixedText<16> last;
  FixedText<2> credit;
  Cents balance = 0;
};

/// A payment's change of its customer; for bad credit it is also noted in the customer's data.
void apply_payment(CustomerRow& row, const CustomerKey& customer,
                   const PaymentInput& input) noexcept;

/// The history row of a payment.
[[nodiscard]] HistoryRow history_of(const PaymentInput& input,
                                    const PaymentOutput& output) noexcept;

/// The customer, which may have to be read from disk, comes before the hot rows.
template <Session S>
Outcome run(S& session, const PaymentInput& input, PaymentOutput& output) {
  TransactionScope scope(session, Intent::read_write);
  const bool done = find_customer(scope, input.customer, output.customer) &&
                    scope.update(output.customer,
                                 [&](CustomerRow& row) {
                                   apply_payment(row, output.customer, input);
                                   output.last = row.last;
                                   output.credit = row.credit;
                                   output.balance = row.balance;
                                 }) &&
                    scope.update(input.district,
                                 [&](DistrictRow& row) {
                                   row.ytd += input.amount;
                                   output.district_name = row.name;
                                 }) &&
                    scope.update(WarehouseKey{input.district.warehouse},
                                 [&](WarehouseRow& row) {
                                   row.ytd += input.amount;
                                   output.warehouse_name = row.name;
                                 }) &&
                    scope.insert(input.history, history_of(input, output));
  return done ? scope.commit() : Outcome::conflict;
}

}  // namespace palimpsest::experiments::tpcc
