// The twelve consistency conditions of TPC-C (clauses 3.3.2.1 to 3.3.2.12), checked by scans.
//
// Condition 11 holds as the specification has it only for the initial population; here the orders
// delivered since then, which C_DELIVERY_CNT counts, are added.
// Memory: the orders of one district at a time; and, since payments are not ordered by customer,
// the sums of payments of kWarehousesOfPass warehouses: HISTORY is read once for each so many.
// A Reader shows one state of the database, in which no transaction is active:
//   reader.scan(const Key& first, const Key& last, visit)
// calls visit(const Key&, const RowOf<Key>&) for all rows from first to last, both included, in key
// order, for every table named by the concept.
// Failure: violations are values; the reader's exceptions pass through.
// Thread-safety: one check belongs to one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/tpcc/keys.h"
#include "experiments/tpcc/rows.h"

namespace palimpsest::experiments::tpcc {

/// The subject of a violation: a warehouse, a district, or a customer or order of one.
struct Place {
  Number warehouse = 0;
  Number district = 0;         ///< 0: the whole warehouse
  std::string_view kind = "";  ///< "customer" or "order"; a literal
  Number number = 0;           ///< of the customer or order
};

/// Two values that differ and should not.
struct Violation {
  int condition = 0;  ///< 1 to 12
  Place place;
  std::string_view left_name;  ///< a literal, as is right_name
  std::int64_t left = 0;
  std::string_view right_name;
  std::int64_t right = 0;
};

/// "condition 6, warehouse 1, district 2, order 17: O_OL_CNT is 5, rows of ORDER-LINE is 6"
[[nodiscard]] std::string describe(const Violation& violation);

/// All violations are counted, the first kKept are kept.
class Violations {
 public:
  static constexpr std::size_t kKept = 100;

  /// Adds a violation if the two values differ.
  void compare(int condition, const Place& place, std::string_view left_name, std::int64_t left,
               std::string_view right_name, std::int64_t right);

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] const std::vector<Violation>& first() const noexcept { return first_; }

 private:
  std::uint64_t count_ = 0;
  std::vector<Violation> first_;
};

/// Sums of payments, of the warehouses [first, last].
class PaymentSums {
 public:
  PaymentSums(Number first, Number last);

  void add(const HistoryRow& row) noexcept;

  /// The payments made there. `warehouse` is one of those given, `district` of [1, kDistricts].
  [[nodiscard]] Cents taken(Number warehouse, Number district) const noexcept;
  /// The payments of that customer, anywhere; 0 if the customer cannot exist.
  [[nodiscard]] Cents paid_by(const CustomerKey& customer) const noexcept;

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  /// Position among the sums, or kNone.
  [[nodiscard]] std::size_t district_index(Number warehouse, Number district) const noexcept;
  [[nodiscard]] std::size_t customer_index(const CustomerKey& customer) const noexcept;

  Number first_;
  Number last_;
  std::vector<Cents> by_district_;
  std::vector<Cents> by_customer_;
};

/// The conditions of one district. Rows are added table by table, each in key order: ORDER,
/// NEW-ORDER, ORDER-LINE, CUSTOMER; then finish().
class DistrictAudit {
 public:
  DistrictAudit(const DistrictKey& key, const PaymentSums& payments, Violations& violations);

  void add(const OrderKey& key, const OrderRow& row);
  void add(const NewOrderKey& key, const NewOrderRow& row);
  void add(const OrderLineKey& key, const OrderLineRow& row);
  void add(const CustomerKey& key, const CustomerRow& row);
  void finish(const DistrictRow& row);

 private:
  /// The remembered part of a row of ORDER.
  struct Seen {
    Number order = 0;
    Number customer = 0;
    Number line_count = 0;
    Number lines = 0;  ///< rows of ORDER-LINE
    bool carried = false;
    bool is_new = false;  ///< has a row in NEW-ORDER
  };

  [[nodiscard]] Place place() const noexcept { return {key_.warehouse, key_.district}; }
  [[nodiscard]] Place place(std::string_view kind, Number number) const noexcept {
    return {key_.warehouse, key_.district, kind, number};
  }
  /// The order with that number, or nullptr; the numbers of successive calls do not decrease.
  [[nodiscard]] Seen* find(std::size_t& from, Number order) noexcept;
  void finish_orders();
  void finish_counts(const DistrictRow& row);

  DistrictKey key_;
  const PaymentSums& payments_;
  Violations& violations_;
  std::vector<Seen> orders_;
  std::vector<Cents> delivered_;  ///< amounts delivered, by customer
  std::size_t at_new_order_ = 0;  ///< where find() continues
  std::size_t at_line_ = 0;
  std::int64_t new_orders_ = 0;
  Number new_order_min_ = 0;
  Number new_order_max_ = 0;
  std::int64_t lines_ = 0;
  std::int64_t deliveries_ = 0;  ///< by C_DELIVERY_CNT
};

namespace detail {

template <class R, class Key>
concept Scans = requires(R& reader, const Key& key, void (&visit)(const Key&, const RowOf<Key>&)) {
  reader.scan(key, key, visit);
};

inline constexpr Number kLargest = std::numeric_limits<Number>::max();

}  // namespace detail

template <class R>
concept Reader =
    detail::Scans<R, WarehouseKey> && detail::Scans<R, DistrictKey> &&
    detail::Scans<R, CustomerKey> && detail::Scans<R, HistoryKey> &&
    detail::Scans<R, NewOrderKey> && detail::Scans<R, OrderKey> && detail::Scans<R, OrderLineKey>;

inline constexpr Number kWarehousesOfPass = 16;

/// Conditions of a district of its own.
template <Reader R>
void check_district(R& reader, const DistrictKey& key, const DistrictRow& row,
                    const PaymentSums& payments, Violations& violations) {
  const auto& [w, d] = key;
  const auto all = detail::kLargest;
  DistrictAudit audit(key, payments, violations);
  const auto add = [&](const auto& row_key, const auto& added) { audit.add(row_key, added); };
  reader.scan(OrderKey{w, d, 0}, OrderKey{w, d, all}, add);
  reader.scan(NewOrderKey{w, d, 0}, NewOrderKey{w, d, all}, add);
  reader.scan(OrderLineKey{w, d, 0, 0}, OrderLineKey{w, d, all, all}, add);
  reader.scan(CustomerKey{w, d, 0}, CustomerKey{w, d, all}, add);
  audit.finish(row);
}

/// All conditions of one warehouse.
template <Reader R>
void check_warehouse(R& reader, Number warehouse, const PaymentSums& payments,
                     Violations& violations) {
  Cents warehouse_ytd = 0;
  reader.scan(WarehouseKey{warehouse}, WarehouseKey{warehouse},
              [&](const WarehouseKey&, const WarehouseRow& row) { warehouse_ytd = row.ytd; });
  std::array<DistrictRow, kDistricts> rows;
  reader.scan(DistrictKey{warehouse, 1}, DistrictKey{warehouse, kDistricts},
              [&](const DistrictKey& key, const DistrictRow& row) {
                rows[static_cast<std::size_t>(key.district - 1)] = row;
              });
  Cents districts_ytd = 0;
  Cents taken = 0;
  for (Number district = 1; district <= kDistricts; ++district) {
    const DistrictRow& row = rows[static_cast<std::size_t>(district - 1)];
    districts_ytd += row.ytd;
    taken += payments.taken(warehouse, district);
    check_district(reader, DistrictKey{warehouse, district}, row, payments, violations);
  }
  const Place place{.warehouse = warehouse};
  violations.compare(1, place, "W_YTD", warehouse_ytd, "sum of D_YTD", districts_ytd);
  violations.compare(8, place, "W_YTD", warehouse_ytd, "sum of H_AMOUNT", taken);
}

/// All twelve conditions of the warehouses [1, warehouses].
template <Reader R>
[[nodiscard]] Violations check_consistency(R& reader, Number warehouses) {
  Violations violations;
  for (Number first = 1; first <= warehouses; first += kWarehousesOfPass) {
    const Number last = std::min(warehouses, first + kWarehousesOfPass - 1);
    PaymentSums payments(first, last);
    constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();
    reader.scan(HistoryKey{0, 0}, HistoryKey{kAll, kAll},
                [&](const HistoryKey&, const HistoryRow& row) { payments.add(row); });
    for (Number warehouse = first; warehouse <= last; ++warehouse) {
      check_warehouse(reader, warehouse, payments, violations);
    }
  }
  return violations;
}

}  // namespace palimpsest::experiments::tpcc
