// The keys of the nine tables of TPC-C, and of the two indexes its transactions need.
//
// A row has its key beside it, not in it: a key-value engine stores the key once. Keys are ordered
// by their columns as declared; columns() ties them, for encoders and messages.
// Thread-safety: plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>

#include "experiments/tables/fixed_text.h"
#include "experiments/tables/key.h"
#include "experiments/tpcc/rows.h"

namespace palimpsest::experiments::tpcc {

using experiments::describe;  // this namespace has more overloads

/// As a key's last number: after all existing ones.
inline constexpr Number kBehindAll = std::numeric_limits<Number>::max();

enum class Table : std::uint8_t {
  item = 1,
  warehouse,
  district,
  customer,
  history,
  new_order,
  order,
  order_line,
  stock,
  customer_name,   ///< index
  order_customer,  ///< index
};

/// Its name in messages.
[[nodiscard]] std::string_view name_of(Table table) noexcept;

struct ItemKey {
  using Row = ItemRow;
  static constexpr Table kTable = Table::item;
  Number item = 0;
  static constexpr auto columns(auto& key) noexcept { return std::tie(key.item); }
  auto operator<=>(const ItemKey&) const = default;
};

struct WarehouseKey {
  using Row = WarehouseRow;
  static constexpr Table kTable = Table::warehouse;
  Number warehouse = 0;
  static constexpr auto columns(auto& key) noexcept { return std::tie(key.warehouse); }
  auto operator<=>(const WarehouseKey&) const = default;
};

struct DistrictKey {
  using Row = DistrictRow;
  static constexpr Table kTable = Table::district;
  Number warehouse = 0;
  Number district = 0;
  static constexpr auto columns(auto& key) noexcept {
    return std::tie(key.warehouse, key.district);
  }
  auto operator<=>(const DistrictKey&) const = default;
};

struct CustomerKey {
  using Row = CustomerRow;
  static constexpr Table kTable = Table::customer;
  Number warehouse = 0;
  Number district = 0;
  Number customer = 0;
  static constexpr auto columns(auto& key) noexcept {
    return std::tie(key.warehouse, key.district, key.customer);
  }
  auto operator<=>(const CustomerKey&) const = default;
};

/// HISTORY has no primary key (clause 1.3.1); engines need one. Its key is the thread that writes
/// the row and a number of that thread, which grows with the date: each thread appends, as to a
/// heap, and a later run appends after the rows of earlier ones, whatever threads they had.
struct HistoryKey {
  using Row = HistoryRow;
  static constexpr Table kTable = Table::history;
  std::uint64_t writer = 0;    ///< 0: the initial population
  std::uint64_t sequence = 0;  ///< the date, or more (input.h); of the population: from 1 on
  static constexpr auto columns(auto& key) noexcept { return std::tie(key.writer, key.sequence); }
  auto operator<=>(const HistoryKey&) const = default;
};

struct NewOrderKey {
  using Row = NewOrderRow;
  static constexpr Table kTable = Table::new_order;
  Number warehouse = 0;
  Number district = 0;
  Number order = 0;
  static constexpr auto columns(auto& key) noexcept {
    return std::tie(key.warehouse, key.district, key.order);
  }
  auto operator<=>(const NewOrderKey&) const = default;
};

struct OrderKey {
  using Row = OrderRow;
  static constexpr Table kTable = Table::order;
  Number warehouse = 0;
  Number district = 0;
  Number order = 0;
  static constexpr auto columns(auto& key) noexcept {
    return std::tie(key.warehouse, key.district, key.order);
  }
  auto operator<=>(const OrderKey&) const = default;
};

struct OrderLineKey {
  using Row = OrderLineRow;
  static constexpr Table kTable = Table::order_line;
  Number warehouse = 0;
  Number district = 0;
  Number order = 0;
  Number line = 0;  ///< from 1 to the order's line_count
  static constexpr auto columns(auto& key) noexcept {
    return std::tie(key.warehouse, key.district, key.order, key.line);
  }
  auto operator<=>(const OrderLineKey&) const = default;
};

struct StockKey {
  using Row = StockRow;
  static constexpr Table kTable = Table::stock;
  Number warehouse = 0;
  Number item = 0;
  static constexpr auto columns(auto& key) noexcept { return std::tie(key.warehouse, key.item); }
  auto operator<=>(const StockKey&) const = default;
};

/// Index: customers of a district by name (clauses 2.5.2.2 and 2.6.2.2). Names never change.
struct CustomerNameKey {
  static constexpr Table kTable = Table::customer_name;
  Number warehouse = 0;
  Number district = 0;
  FixedText<16> last;
  FixedText<16> first;
  Number customer = 0;
  static constexpr auto columns(auto& key) noexcept {
    return std::tie(key.warehouse, key.district, key.last, key.first, key.customer);
  }
  auto operator<=>(const CustomerNameKey&) const = default;
};

/// Index: orders of a customer (clause 2.6.2.2).
struct OrderCustomerKey {
  static constexpr Table kTable = Table::order_customer;
  Number warehouse = 0;
  Number district = 0;
  Number customer = 0;
  Number order = 0;
  static constexpr auto columns(auto& key) noexcept {
    return std::tie(key.warehouse, key.district, key.customer, key.order);
  }
  auto operator<=>(const OrderCustomerKey&) const = default;
};

}  // namespace palimpsest::experiments::tpcc
