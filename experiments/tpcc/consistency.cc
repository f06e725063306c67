#include "experiments/tpcc/consistency.h"

#include <fmt/format.h>

#include "base/check.h"

namespace palimpsest::experiments::tpcc {

std::string describe(const Violation& violation) {
  const Place& place = violation.place;
  std::string text =
      fmt::format("condition {}, warehouse {}", violation.condition, place.warehouse);
  if (place.district != 0) {
    text += fmt::format(", district {}", place.district);
  }
  if (!place.kind.empty()) {
    text += fmt::format(", {} {}", place.kind, place.number);
  }
  return text + fmt::format(": {} is {}, {} is {}", violation.left_name, violation.left,
                            violation.right_name, violation.right);
}

void Violations::compare(int condition, const Place& place, std::string_view left_name,
                         std::int64_t left, std::string_view right_name, std::int64_t right) {
  if (left == right) {
    return;
  }
  ++count_;
  if (first_.size() < kKept) {
    first_.push_back({.condition = condition,
                      .place = place,
                      .left_name = left_name,
                      .left = left,
                      .right_name = right_name,
                      .right = right});
  }
}

PaymentSums::PaymentSums(Number first, Number last)
    : first_(first),
      last_(last),
      by_district_(static_cast<std::size_t>((last - first + 1) * kDistricts)),
      by_customer_(by_district_.size() * kCustomers) {}

std::size_t PaymentSums::district_index(Number warehouse, Number district) const noexcept {
  const bool counts =
      first_ <= warehouse && warehouse <= last_ && 1 <= district && district <= kDistricts;
  return counts ? static_cast<std::size_t>((warehouse - first_) * kDistricts + district - 1)
                : kNone;
}

std::size_t PaymentSums::customer_index(const CustomerKey& customer) const noexcept {
  const std::size_t district = district_index(customer.warehouse, customer.district);
  const bool counts =
      district != kNone && 1 <= customer.customer && customer.customer <= kCustomers;
  return counts ? district * kCustomers + static_cast<std::size_t>(customer.customer - 1) : kNone;
}

void PaymentSums::add(const HistoryRow& row) noexcept {
  const std::size_t district = district_index(row.warehouse, row.district);
  if (district != kNone) {
    by_district_[district] += row.amount;
  }
  const std::size_t customer =
      customer_index({row.customer_warehouse, row.customer_district, row.customer});
  if (customer != kNone) {
    by_customer_[customer] += row.amount;
  }
}

Cents PaymentSums::taken(Number warehouse, Number district) const noexcept {
  const std::size_t index = district_index(warehouse, district);
  check(index != kNone, "payments of a district that were not requested");
  return by_district_[index];
}

Cents PaymentSums::paid_by(const CustomerKey& customer) const noexcept {
  const std::size_t index = customer_index(customer);
  return index == kNone ? 0 : by_customer_[index];
}

DistrictAudit::DistrictAudit(const DistrictKey& key, const PaymentSums& payments,
                             Violations& violations)
    : key_(key),
      payments_(payments),
      violations_(violations),
      delivered_(static_cast<std::size_t>(kCustomers) + 1) {}

DistrictAudit::Seen* DistrictAudit::find(std::size_t& from, Number order) noexcept {
  while (from < orders_.size() && orders_[from].order < order) {
    ++from;
  }
  return from < orders_.size() && orders_[from].order == order ? &orders_[from] : nullptr;
}

void DistrictAudit::add(const OrderKey& key, const OrderRow& row) {
  orders_.push_back({.order = key.order,
                     .customer = row.customer,
                     .line_count = row.line_count,
                     .carried = row.carrier != kNoCarrier});
}

void DistrictAudit::add(const NewOrderKey& key, const NewOrderRow&) {
  if (new_orders_++ == 0) {
    new_order_min_ = key.order;
  }
  new_order_max_ = key.order;
  Seen* order = find(at_new_order_, key.order);
  if (order == nullptr) {
    violations_.compare(5, place("order", key.order), "rows of ORDER", 0, "rows of NEW-ORDER", 1);
    return;
  }
  order->is_new = true;
}

void DistrictAudit::add(const OrderLineKey& key, const OrderLineRow& row) {
  ++lines_;
  Seen* order = find(at_line_, key.order);
  if (order == nullptr) {
    violations_.compare(7, place("order", key.order), "rows of ORDER", 0,
                        "number of a row of ORDER-LINE", key.line);
    return;
  }
  ++order->lines;
  const bool delivered = row.delivery_date != kNoDate;
  violations_.compare(7, place("order", key.order), "OL_DELIVERY_D not null", delivered ? 1 : 0,
                      "O_CARRIER_ID not null", order->carried ? 1 : 0);
  if (delivered && 1 <= order->customer && order->customer <= kCustomers) {
    delivered_[static_cast<std::size_t>(order->customer)] += row.amount;
  }
}

void DistrictAudit::add(const CustomerKey& key, const CustomerRow& row) {
  const bool counts = 1 <= key.customer && key.customer <= kCustomers;
  const Cents delivered = counts ? delivered_[static_cast<std::size_t>(key.customer)] : 0;
  const Place customer = place("customer", key.customer);
  violations_.compare(10, customer, "C_BALANCE", row.balance,
                      "sum of OL_AMOUNT less sum of H_AMOUNT", delivered - payments_.paid_by(key));
  violations_.compare(12, customer, "C_BALANCE with C_YTD_PAYMENT", row.balance + row.ytd_payment,
                      "sum of OL_AMOUNT", delivered);
  deliveries_ += row.delivery_count;
}

void DistrictAudit::finish(const DistrictRow& row) {
  finish_orders();
  finish_counts(row);
  violations_.compare(9, place(), "D_YTD", row.ytd, "sum of H_AMOUNT",
                      payments_.taken(key_.warehouse, key_.district));
}

void DistrictAudit::finish_orders() {
  std::int64_t line_counts = 0;
  for (const Seen& order : orders_) {
    line_counts += order.line_count;
    violations_.compare(5, place("order", order.order), "O_CARRIER_ID is null",
                        order.carried ? 0 : 1, "rows of NEW-ORDER", order.is_new ? 1 : 0);
    violations_.compare(6, place("order", order.order), "O_OL_CNT", order.line_count,
                        "rows of ORDER-LINE", order.lines);
  }
  violations_.compare(4, place(), "sum of O_OL_CNT", line_counts, "rows of ORDER-LINE", lines_);
}

void DistrictAudit::finish_counts(const DistrictRow& row) {
  const Number order_max = orders_.empty() ? 0 : orders_.back().order;
  const Number newest = row.next_order - 1;
  violations_.compare(2, place(), "D_NEXT_O_ID - 1", newest, "largest O_ID", order_max);
  if (new_orders_ != 0) {
    violations_.compare(2, place(), "D_NEXT_O_ID - 1", newest, "largest NO_O_ID", new_order_max_);
    violations_.compare(3, place(), "largest less smallest NO_O_ID + 1",
                        std::int64_t{new_order_max_} - new_order_min_ + 1, "rows of NEW-ORDER",
                        new_orders_);
  }
  violations_.compare(11, place(), "rows of ORDER less rows of NEW-ORDER",
                      static_cast<std::int64_t>(orders_.size()) - new_orders_,
                      "2100 and sum of C_DELIVERY_CNT", kFirstNewOrder - 1 + deliveries_);
}

}  // namespace palimpsest::experiments::tpcc
