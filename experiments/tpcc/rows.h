// The nine tables of TPC-C: the columns that are not key (keys.h has those), and how many rows.
//
// Column widths are those of clause 1.3.1; money is in cents, rates in 1/10000, dates in
// microseconds since 1970. A row in memory has space for the longest texts; encoded_row.h makes the
// stored form. columns() lists the columns as stored: those of fixed size come first and so are at
// fixed offsets, the one that grows (C_DATA) comes last.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <type_traits>

#include "experiments/tables/columns.h"
#include "experiments/tables/fixed_text.h"

namespace palimpsest::experiments::tpcc {

using Cents = std::int64_t;
using Rate = std::int32_t;  ///< in 1/10000
using Date = std::int64_t;  ///< in microseconds since 1970

inline constexpr Date kNoDate = 0;       ///< the null of a date
inline constexpr Number kNoCarrier = 0;  ///< the null of O_CARRIER_ID

/// Cardinalities of clause 1.2.1 and 4.3.3.1; tables not named grow with the number of warehouses.
inline constexpr Number kItems = 100'000;
inline constexpr Number kDistricts = 10;         ///< of a warehouse
inline constexpr Number kCustomers = 3'000;      ///< of a district
inline constexpr Number kInitialOrders = 3'000;  ///< of a district
inline constexpr Number kFirstNewOrder = 2'101;  ///< the oldest initial order not delivered yet
inline constexpr Number kOrderLinesMin = 5;
inline constexpr Number kOrderLinesMax = 15;

struct Address {
  FixedText<20> street_1;
  FixedText<20> street_2;
  FixedText<20> city;
  FixedText<2> state;
  FixedText<9> zip;
  bool operator==(const Address&) const = default;
};

struct ItemRow {
  Cents price = 0;
  Number image = 0;
  FixedText<24> name;
  FixedText<50> data;
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.price, row.image, row.name, row.data);
  }
  bool operator==(const ItemRow&) const = default;
};

struct WarehouseRow {
  Cents ytd = 0;  ///< payments taken
  Rate tax = 0;
  FixedText<10> name;
  Address address;
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.ytd, row.tax, full(row.address.state), full(row.address.zip), row.name,
                      row.address.street_1, row.address.street_2, row.address.city);
  }
  bool operator==(const WarehouseRow&) const = default;
};

struct DistrictRow {
  Cents ytd = 0;
  Rate tax = 0;
  Number next_order = 0;
  FixedText<10> name;
  Address address;
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.ytd, row.tax, row.next_order, full(row.address.state),
                      full(row.address.zip), row.name, row.address.street_1, row.address.street_2,
                      row.address.city);
  }
  bool operator==(const DistrictRow&) const = default;
};

struct CustomerRow {
  Cents credit_limit = 0;
  Cents balance = 0;
  Cents ytd_payment = 0;
  Date since = kNoDate;
  Rate discount = 0;
  Number payment_count = 0;
  Number delivery_count = 0;
  FixedText<16> first;
  FixedText<2> middle;
  FixedText<16> last;
  Address address;
  FixedText<16> phone;
  FixedText<2> credit;  ///< "GC" or "BC"
  FixedText<500> data;
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.balance, row.ytd_payment, row.payment_count, row.delivery_count,
                      row.credit_limit, row.since, row.discount, full(row.middle),
                      full(row.address.state), full(row.address.zip), full(row.phone),
                      full(row.credit), row.first, row.last, row.address.street_1,
                      row.address.street_2, row.address.city, row.data);
  }
  bool operator==(const CustomerRow&) const = default;
};

struct HistoryRow {
  Cents amount = 0;
  Date date = kNoDate;
  Number customer_warehouse = 0;
  Number customer_district = 0;
  Number customer = 0;
  Number warehouse = 0;  ///< where it was paid
  Number district = 0;
  FixedText<24> data;
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.amount, row.date, row.customer_warehouse, row.customer_district,
                      row.customer, row.warehouse, row.district, row.data);
  }
  bool operator==(const HistoryRow&) const = default;
};

/// NEW-ORDER has no columns but its key.
struct NewOrderRow {
  static constexpr auto columns(auto&) noexcept { return columns_of(); }
  bool operator==(const NewOrderRow&) const = default;
};

struct OrderRow {
  Date entry_date = kNoDate;
  Number customer = 0;
  Number carrier = kNoCarrier;
  Number line_count = 0;
  Number all_local = 0;  ///< 1 if every line is supplied by the home warehouse, else 0
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.entry_date, row.customer, row.carrier, row.line_count, row.all_local);
  }
  bool operator==(const OrderRow&) const = default;
};

struct OrderLineRow {
  Cents amount = 0;
  Date delivery_date = kNoDate;
  Number item = 0;
  Number supply_warehouse = 0;
  Number quantity = 0;
  FixedText<24> district_info;
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.amount, row.delivery_date, row.item, row.supply_warehouse, row.quantity,
                      full(row.district_info));
  }
  bool operator==(const OrderLineRow&) const = default;
};

struct StockRow {
  Number quantity = 0;
  Number ytd = 0;  ///< pieces sold
  Number order_count = 0;
  Number remote_count = 0;  ///< of orders of other warehouses
  FixedText<24> district_info[kDistricts];
  FixedText<50> data;
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.quantity, row.ytd, row.order_count, row.remote_count,
                      full(row.district_info), row.data);
  }
  bool operator==(const StockRow&) const = default;
};

static_assert(std::is_trivially_copyable_v<ItemRow>);
static_assert(std::is_trivially_copyable_v<WarehouseRow>);
static_assert(std::is_trivially_copyable_v<DistrictRow>);
static_assert(std::is_trivially_copyable_v<CustomerRow>);
static_assert(std::is_trivially_copyable_v<HistoryRow>);
static_assert(std::is_trivially_copyable_v<NewOrderRow>);
static_assert(std::is_trivially_copyable_v<OrderRow>);
static_assert(std::is_trivially_copyable_v<OrderLineRow>);
static_assert(std::is_trivially_copyable_v<StockRow>);

}  // namespace palimpsest::experiments::tpcc
