#include "experiments/tpcc/population.h"

#include "experiments/common/mix.h"

namespace palimpsest::experiments::tpcc {

/// The uses of random numbers: no two uses share a sequence.
enum class Population::Stream : std::uint8_t {
  item = 1,
  item_original,
  warehouse,
  district,
  customer,
  customer_name,
  customer_credit,
  history,
  order,
  order_customer,
  order_line,
  stock,
  stock_original,
};

namespace {

constexpr Cents kInitialPayment = 10'00;

Address random_address(Random& random) noexcept {
  Address address;
  address.street_1 = random_text<20>(random, 10, 20);
  address.street_2 = random_text<20>(random, 10, 20);
  address.city = random_text<20>(random, 10, 20);
  address.state = random_text<2>(random, 2, 2);
  address.zip = random_zip(random);
  return address;
}

bool is_delivered(Number order) noexcept {
  return order < kFirstNewOrder;
}

}  // namespace

Population::Population(std::uint64_t seed, Date loaded_at) noexcept
    : seed_(seed), loaded_at_(loaded_at), constants_(constants_of_load(seed)) {
  check(loaded_at != kNoDate, "a population without a date");
}

std::uint64_t Population::stream_seed(Stream stream, Number warehouse, Number district,
                                      Number number) const noexcept {
  const std::uint64_t of_stream = mix64(seed_ + static_cast<std::uint64_t>(stream));
  const std::uint64_t place = static_cast<std::uint64_t>(warehouse) << 40 |
                              static_cast<std::uint64_t>(district) << 32 |
                              static_cast<std::uint64_t>(number);
  return mix64(of_stream ^ mix64(place));
}

Permutation Population::permutation(Stream stream, Number warehouse, Number district,
                                    Number size) const noexcept {
  return {static_cast<std::uint64_t>(size), stream_seed(stream, warehouse, district, 0)};
}

bool Population::in_tenth(Stream stream, Number warehouse, Number district, Number number,
                          Number size) const noexcept {
  const auto index = static_cast<std::uint64_t>(number - 1);
  return permutation(stream, warehouse, district, size)(index) <
         static_cast<std::uint64_t>(size / 10);
}

ItemRow Population::row(const ItemKey& key) const noexcept {
  Random random(stream_seed(Stream::item, 0, 0, key.item));
  ItemRow row;
  row.image = number_between(random, 1, 10'000);
  row.name = random_text<24>(random, 14, 24);
  row.price = cents_between(random, 1'00, 100'00);
  row.data = random_data(random, in_tenth(Stream::item_original, 0, 0, key.item, kItems));
  return row;
}

WarehouseRow Population::row(const WarehouseKey& key) const noexcept {
  Random random(stream_seed(Stream::warehouse, key.warehouse, 0, 0));
  WarehouseRow row;
  row.name = random_text<10>(random, 6, 10);
  row.address = random_address(random);
  row.tax = number_between(random, 0, 2'000);
  row.ytd = kInitialPayment * kCustomers * kDistricts;
  return row;
}

DistrictRow Population::row(const DistrictKey& key) const noexcept {
  Random random(stream_seed(Stream::district, key.warehouse, key.district, 0));
  DistrictRow row;
  row.name = random_text<10>(random, 6, 10);
  row.address = random_address(random);
  row.tax = number_between(random, 0, 2'000);
  row.ytd = kInitialPayment * kCustomers;
  row.next_order = kInitialOrders + 1;
  return row;
}

CustomerNameKey Population::name_of(const CustomerKey& customer) const noexcept {
  Random random(
      stream_seed(Stream::customer_name, customer.warehouse, customer.district, customer.customer));
  CustomerNameKey name{customer.warehouse, customer.district, {}, {}, customer.customer};
  const bool enumerated = customer.customer <= kLastNames;
  name.last = last_name(enumerated ? customer.customer - 1 : random_last_name(random, constants_));
  name.first = random_text<16>(random, 8, 16);
  return name;
}

CustomerRow Population::row(const CustomerKey& key) const noexcept {
  Random random(stream_seed(Stream::customer, key.warehouse, key.district, key.customer));
  const CustomerNameKey name = name_of(key);
  const bool bad_credit =
      in_tenth(Stream::customer_credit, key.warehouse, key.district, key.customer, kCustomers);
  CustomerRow row;
  row.first = name.first;
  row.middle.assign("OE");
  row.last = name.last;
  row.address = random_address(random);
  row.phone = random_digits<16>(random);
  row.since = loaded_at_;
  row.credit.assign(bad_credit ? "BC" : "GC");
  row.credit_limit = 50'000'00;
  row.discount = number_between(random, 0, 5'000);
  row.balance = -kInitialPayment;
  row.ytd_payment = kInitialPayment;
  row.payment_count = 1;
  row.delivery_count = 0;
  row.data = random_text<500>(random, 300, 500);
  return row;
}

HistoryRow Population::history_of(const CustomerKey& customer) const noexcept {
  Random random(
      stream_seed(Stream::history, customer.warehouse, customer.district, customer.customer));
  HistoryRow row;
  row.customer_warehouse = customer.warehouse;
  row.customer_district = customer.district;
  row.customer = customer.customer;
  row.warehouse = customer.warehouse;
  row.district = customer.district;
  row.date = loaded_at_;
  row.amount = kInitialPayment;
  row.data = random_text<24>(random, 12, 24);
  return row;
}

HistoryKey Population::history_key(const CustomerKey& customer) noexcept {
  const auto districts_before = static_cast<std::uint64_t>(customer.warehouse - 1) * kDistricts +
                                static_cast<std::uint64_t>(customer.district - 1);
  return {0, districts_before * kCustomers + static_cast<std::uint64_t>(customer.customer)};
}

OrderRow Population::row(const OrderKey& key) const noexcept {
  Random random(stream_seed(Stream::order, key.warehouse, key.district, key.order));
  const Permutation customers =
      permutation(Stream::order_customer, key.warehouse, key.district, kCustomers);
  const Number carrier = number_between(random, 1, 10);
  OrderRow row;
  row.customer = static_cast<Number>(customers(static_cast<std::uint64_t>(key.order - 1))) + 1;
  row.entry_date = loaded_at_;
  row.carrier = is_delivered(key.order) ? carrier : kNoCarrier;
  row.line_count = number_between(random, kOrderLinesMin, kOrderLinesMax);
  row.all_local = 1;
  return row;
}

OrdersByCustomer Population::orders_by_customer(const DistrictKey& key) const noexcept {
  static_assert(kInitialOrders == kCustomers, "every customer has made one order");
  const Permutation customers =
      permutation(Stream::order_customer, key.warehouse, key.district, kCustomers);
  OrdersByCustomer orders;
  for (std::uint64_t i = 0; i < orders.size(); ++i) {
    orders[customers(i)] = static_cast<Number>(i) + 1;
  }
  return orders;
}

OrderLineRow Population::row(const OrderLineKey& key, const OrderRow& order) const noexcept {
  // 4 bits hold the number of any line.
  Random random(
      stream_seed(Stream::order_line, key.warehouse, key.district, key.order * 16 + key.line));
  OrderLineRow row;
  row.item = number_between(random, 1, kItems);
  row.supply_warehouse = key.warehouse;
  row.delivery_date = is_delivered(key.order) ? order.entry_date : kNoDate;
  row.quantity = 5;
  row.amount = is_delivered(key.order) ? 0 : cents_between(random, 1, 9'999'99);
  row.district_info = random_text<24>(random, 24, 24);
  return row;
}

StockRow Population::row(const StockKey& key) const noexcept {
  Random random(stream_seed(Stream::stock, key.warehouse, 0, key.item));
  StockRow row;
  row.quantity = number_between(random, 10, 100);
  for (FixedText<24>& info : row.district_info) {
    info = random_text<24>(random, 24, 24);
  }
  row.data =
      random_data(random, in_tenth(Stream::stock_original, key.warehouse, 0, key.item, kItems));
  return row;
}

}  // namespace palimpsest::experiments::tpcc
