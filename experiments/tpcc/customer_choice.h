// Chooses the customer of a transaction (clauses 2.5.2.2 and 2.6.2.2).
#pragma once

#include <array>
#include <cstddef>

#include "experiments/tables/transaction_scope.h"
#include "experiments/tpcc/input.h"
#include "experiments/tpcc/session.h"

namespace palimpsest::experiments::tpcc {

/// Sets `customer` to the one with that number, or, of all with that last name, ordered by first
/// name, to the middle one (of n the one at n/2, rounded up, counted from 1). False: a conflict.
template <Session S>
[[nodiscard]] bool find_customer(TransactionScope<S>& scope, const CustomerChoice& choice,
                                 CustomerKey& customer) {
  customer = {choice.district.warehouse, choice.district.district, choice.customer};
  if (!choice.by_name) {
    return true;
  }
  std::array<Number, kCustomers> numbers;
  std::size_t count = 0;
  const Access access = scope.session().visit_customers(choice.district, choice.last,
                                                        [&](const CustomerNameKey& name) {
                                                          if (count < numbers.size()) {
                                                            numbers[count++] = name.customer;
                                                          }
                                                        });
  if (access != Access::done) {
    return false;
  }
  if (count == 0) {
    report_damage(Access::missing, "customers of " + describe(choice.district) + " named " +
                                       std::string(choice.last.view()));
  }
  customer.customer = numbers[(count + 1) / 2 - 1];
  return true;
}

}  // namespace palimpsest::experiments::tpcc
