// TPC-C's session on any store (oltp/store.h): the concept Session of session.h.
#pragma once

#include <string>
#include <utility>

#include "experiments/oltp/table_session.h"
#include "experiments/tpcc/keys.h"
#include "experiments/tpcc/rows.h"
#include "experiments/tpcc/session.h"

namespace palimpsest::experiments::tpcc {

template <StoreSession S>
class TableSession : public oltp::TableSession<S> {
  using Base = oltp::TableSession<S>;

 public:
  using Base::Base;
  using Base::insert;

  Access insert(const OrderKey& key, const OrderRow& row) {
    const Access order = Base::insert(key, row);
    return order == Access::done ? Base::insert_entry(OrderCustomerKey{key.warehouse, key.district,
                                                                       row.customer, key.order})
                                 : order;
  }

  template <class Visit>
  Access visit_customers(const DistrictKey& district, const FixedText<16>& last, Visit&& visit) {
    const auto& [w, d] = district;
    return Base::visit_keys(CustomerNameKey{w, d, last, {}, 0},
                            CustomerNameKey{w, d, last, last_text(), kBehindAll},
                            Direction::forward, [&](const CustomerNameKey& name) {
                              visit(name);
                              return true;
                            });
  }

  Access latest_order(const CustomerKey& customer, OrderKey& order) {
    const auto& [w, d, c] = customer;
    bool found = false;
    const Access access =
        Base::visit_keys(OrderCustomerKey{w, d, c, 0}, OrderCustomerKey{w, d, c, kBehindAll},
                         Direction::backward, [&](const OrderCustomerKey& latest) {
                           order = {w, d, latest.order};
                           found = true;
                           return false;
                         });
    return access == Access::done && !found ? Access::missing : access;
  }

  Access oldest_new_order(const DistrictKey& district, NewOrderKey& new_order) {
    const auto& [w, d] = district;
    bool found = false;
    const Access access = Base::visit_keys(NewOrderKey{w, d, 0}, NewOrderKey{w, d, kBehindAll},
                                           Direction::forward, [&](const NewOrderKey& oldest) {
                                             new_order = oldest;
                                             found = true;
                                             return false;
                                           });
    return access == Access::done && !found ? Access::missing : access;
  }

  template <class Visit>
  Access visit_order_lines(const DistrictKey& district, Number first, Number last, Visit&& visit) {
    const auto& [w, d] = district;
    return Base::visit_rows(OrderLineKey{w, d, first, 0}, OrderLineKey{w, d, last, kBehindAll},
                            Direction::forward,
                            [&](const OrderLineKey& key, const OrderLineRow& row) {
                              visit(key, row);
                              return true;
                            });
  }

 private:
  /// After all stored texts.
  [[nodiscard]] static FixedText<16> last_text() noexcept {
    static constexpr char kBytes[] =
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    return FixedText<16>({kBytes, 16});
  }
};

}  // namespace palimpsest::experiments::tpcc
