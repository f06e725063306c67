// The initial population of TPC-C against clause 4.3.3.1: counts, order, ranges, shares,
// determinism.
#include "experiments/tpcc/population.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/experiments/chi_square.h"

namespace palimpsest::experiments::tpcc {
namespace {

constexpr Date kLoaded = 1'700'000'000'000'000;

/// Counts rows by table and checks that they come in key order.
class OrderedSink {
 public:
  template <class Key, class Row>
  void add(const Key& key, const Row&) {
    add(key);
  }
  template <class Key>
  void add(const Key& key) {
    auto& last = std::get<std::optional<Key>>(last_);
    if (last) {
      EXPECT_LT(*last, key);
    }
    last = key;
    ++counts_[Key::kTable];
  }

  [[nodiscard]] std::uint64_t count(Table table) { return counts_[table]; }

 private:
  std::tuple<std::optional<ItemKey>, std::optional<WarehouseKey>, std::optional<DistrictKey>,
             std::optional<CustomerKey>, std::optional<HistoryKey>, std::optional<NewOrderKey>,
             std::optional<OrderKey>, std::optional<OrderLineKey>, std::optional<StockKey>,
             std::optional<CustomerNameKey>, std::optional<OrderCustomerKey>>
      last_;
  std::map<Table, std::uint64_t> counts_;
};

/// A number that depends on every row and on their order.
class Digest {
 public:
  template <class Key, class Row>
  void add(const Key& key, const Row& row) {
    add(key);
    mix(bytes_of(row));
  }
  template <class Key>
  void add(const Key& key) {
    mix(describe(key));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  static std::string bytes_of(const ItemRow& row) {
    return std::to_string(row.price) + std::string(row.name.view()) + std::string(row.data.view());
  }
  static std::string bytes_of(const WarehouseRow& row) { return std::string(row.name.view()); }
  static std::string bytes_of(const DistrictRow& row) { return std::string(row.name.view()); }
  static std::string bytes_of(const CustomerRow& row) {
    return std::string(row.data.view()) + std::string(row.credit.view()) +
           std::string(row.first.view()) + std::to_string(row.discount);
  }
  static std::string bytes_of(const HistoryRow& row) { return std::string(row.data.view()); }
  static std::string bytes_of(const NewOrderRow&) { return ""; }
  static std::string bytes_of(const OrderRow& row) {
    return std::to_string(row.customer) + " " + std::to_string(row.carrier);
  }
  static std::string bytes_of(const OrderLineRow& row) {
    return std::to_string(row.amount) + std::string(row.district_info.view());
  }
  static std::string bytes_of(const StockRow& row) {
    return std::string(row.data.view()) + std::string(row.district_info[9].view());
  }

  void mix(std::string_view bytes) {
    value_ = mix64(value_ ^ std::hash<std::string_view>{}(bytes));
  }

  std::uint64_t value_ = 0;
};

bool is_original(std::string_view data) {
  return data.find("ORIGINAL") != std::string_view::npos;
}

/// Counts the lengths of texts that must have from `min` to `max` characters.
class Lengths {
 public:
  Lengths(std::int64_t min, std::int64_t max)
      : min_(min), counts_(static_cast<std::size_t>(max - min) + 1) {}
  void add(std::string_view text) { counts_.add(static_cast<std::int64_t>(text.size()) - min_); }
  void expect_uniform() const { counts_.expect_uniform(); }

 private:
  std::int64_t min_;
  test::Counts counts_;
};

void expect_state_and_zip(const Address& address) {
  EXPECT_EQ(address.state.size(), 2U);
  ASSERT_EQ(address.zip.size(), 9U);
  EXPECT_EQ(address.zip.view().substr(4), "11111");
}

TEST(Population, HasAllRowsInKeyOrder) {
  const Population population(11, kLoaded);
  OrderedSink sink;
  population.items(sink);
  EXPECT_EQ(sink.count(Table::item), 100'000U);
  for (const Number warehouse : {1, 2}) {
    population.warehouse(warehouse, sink);
  }
  EXPECT_EQ(sink.count(Table::warehouse), 2U);
  EXPECT_EQ(sink.count(Table::district), 2U * 10);
  EXPECT_EQ(sink.count(Table::customer), 2U * 30'000);
  EXPECT_EQ(sink.count(Table::history), 2U * 30'000);
  EXPECT_EQ(sink.count(Table::order), 2U * 30'000);
  EXPECT_EQ(sink.count(Table::new_order), 2U * 9'000);
  EXPECT_EQ(sink.count(Table::stock), 2U * 100'000);
  EXPECT_EQ(sink.count(Table::customer_name), 2U * 30'000);
  EXPECT_EQ(sink.count(Table::order_customer), 2U * 30'000);
  // 10 lines an order on average; the standard deviation of the sum is 775.
  EXPECT_NEAR(static_cast<double>(sink.count(Table::order_line)), 2 * 300'000.0, 4'000);
}

TEST(Population, FollowsFromSeedAndWarehouseWhateverTheThread) {
  const auto digest_of = [](std::uint64_t seed, Number warehouse) {
    Digest digest;
    Population(seed, kLoaded).warehouse(warehouse, digest);
    return digest.value();
  };
  std::array<std::uint64_t, 2> beside{};
  {
    std::jthread first([&] { beside[0] = digest_of(5, 3); });
    std::jthread second([&] { beside[1] = digest_of(5, 4); });
  }
  EXPECT_EQ(beside[1], digest_of(5, 4));
  EXPECT_EQ(beside[0], digest_of(5, 3));
  EXPECT_NE(beside[0], digest_of(6, 3));
}

TEST(Population, NoTwoSeedsAreAlike) {
  const Population population(5, kLoaded);
  const Population other(6, kLoaded);
  EXPECT_NE(population.row(ItemKey{7}).data, other.row(ItemKey{7}).data);
  EXPECT_NE(population.row(StockKey{1, 7}).data, other.row(StockKey{1, 7}).data);
  EXPECT_NE(population.row(CustomerKey{1, 1, 7}).data, other.row(CustomerKey{1, 1, 7}).data);
  EXPECT_NE(population.name_of({1, 1, 7}).first, other.name_of({1, 1, 7}).first);
  EXPECT_NE(population.orders_by_customer({1, 1}), other.orders_by_customer({1, 1}));
}

/// Texts begin with the numbers drawn after their length: two of one sequence begin alike.
bool begin_alike(std::string_view left, std::string_view right) {
  return left.substr(0, 5) == right.substr(0, 5);
}

TEST(Population, NoTwoUsesShareTheirRandomNumbers) {
  const Population population(5, kLoaded);
  const CustomerKey customer{1, 2, 3};
  const CustomerRow row = population.row(customer);
  const HistoryRow payment = population.history_of(customer);
  EXPECT_FALSE(begin_alike(row.address.street_1.view(), payment.data.view()));
  EXPECT_FALSE(begin_alike(row.address.street_1.view(), row.first.view()));
  // The tenth of the customers with bad credit differs from that of the stocks, items, orders, and
  // so on.
  const OrdersByCustomer orders = population.orders_by_customer({1, 1});
  int both = 0;
  int bad = 0;
  for (Number number = 1; number <= kCustomers; ++number) {
    const bool is_bad = population.row(CustomerKey{1, 1, number}).credit.view() == "BC";
    bad += is_bad ? 1 : 0;
    both += is_bad && orders[static_cast<std::size_t>(number - 1)] <= 300 ? 1 : 0;
  }
  EXPECT_EQ(bad, 300);
  EXPECT_NEAR(both, 30, 27);  // five standard deviations
  int originals = 0;
  for (Number item = 1; item <= kItems; ++item) {
    originals += is_original(population.row(ItemKey{item}).data.view()) &&
                         is_original(population.row(StockKey{1, item}).data.view())
                     ? 1
                     : 0;
  }
  EXPECT_NEAR(originals, 1'000, 160);
}

TEST(Population, NoTwoWarehousesOrDistrictsAreAlike) {
  const Population population(5, kLoaded);
  EXPECT_NE(population.row(StockKey{1, 7}).data, population.row(StockKey{2, 7}).data);
  EXPECT_NE(population.row(CustomerKey{1, 1, 7}).data, population.row(CustomerKey{1, 2, 7}).data);
  EXPECT_NE(population.row(CustomerKey{1, 1, 7}).data, population.row(CustomerKey{2, 1, 7}).data);
  EXPECT_NE(population.orders_by_customer({1, 1}), population.orders_by_customer({1, 2}));
  const OrderRow order = population.row(OrderKey{1, 1, 2500});
  EXPECT_NE(population.row(OrderLineKey{1, 1, 2500, 1}, order).amount,
            population.row(OrderLineKey{1, 1, 2500, 2}, order).amount);
}

TEST(Population, Items) {
  const Population population(12, kLoaded);
  int originals = 0;
  test::Counts prices(100);  // in whole units
  test::Counts images(100);
  test::Counts names(11);
  for (Number item = 1; item <= kItems; ++item) {
    const ItemRow row = population.row(ItemKey{item});
    originals += is_original(row.data.view()) ? 1 : 0;
    ASSERT_TRUE(1'00 <= row.price && row.price <= 100'00);
    prices.add(std::min<Cents>(row.price / 100 - 1, 98));
    images.add((row.image - 1) / 100);
    names.add(static_cast<std::int64_t>(row.name.size()) - 14);
  }
  EXPECT_EQ(originals, 10'000);
  images.expect_uniform();
  names.expect_uniform();
  std::vector<double> probabilities(100, 100.0 / 9'901);
  probabilities[98] = 101.0 / 9'901;
  probabilities[99] = 0;
  prices.expect(probabilities);
}

TEST(Population, WarehousesAndDistricts) {
  const Population population(13, kLoaded);
  Lengths names_of_warehouses(6, 10);
  Lengths names_of_districts(6, 10);
  Lengths cities(10, 20);
  test::Counts taxes_of_warehouses(3);  // in thousands
  test::Counts taxes_of_districts(3);
  for (Number warehouse = 1; warehouse <= 1'000; ++warehouse) {
    const WarehouseRow row = population.row(WarehouseKey{warehouse});
    EXPECT_EQ(row.ytd, 300'000'00);
    taxes_of_warehouses.add(row.tax / 1'000);
    names_of_warehouses.add(row.name.view());
    expect_state_and_zip(row.address);
    for (Number district = 1; district <= kDistricts; ++district) {
      const DistrictRow in_it = population.row(DistrictKey{warehouse, district});
      EXPECT_EQ(in_it.ytd, 30'000'00);
      EXPECT_EQ(in_it.next_order, 3'001);
      EXPECT_LE(in_it.tax, 2'000);
      taxes_of_districts.add(in_it.tax / 1'000);
      names_of_districts.add(in_it.name.view());
      cities.add(in_it.address.city.view());
      expect_state_and_zip(in_it.address);
    }
  }
  names_of_warehouses.expect_uniform();
  names_of_districts.expect_uniform();
  cities.expect_uniform();
  const std::vector<double> taxes = {1'000.0 / 2'001, 1'000.0 / 2'001, 1.0 / 2'001};
  taxes_of_warehouses.expect(taxes);
  taxes_of_districts.expect(taxes);
}

TEST(Population, Customers) {
  const Population population(14, kLoaded);
  const NonUniformConstants constants = constants_of_load(14);
  std::map<std::string, int> number_of_name;
  for (Number number = 0; number < kLastNames; ++number) {
    number_of_name[std::string(last_name(number).view())] = number;
  }
  test::Counts random_names(1000);
  Lengths firsts(8, 16);
  Lengths streets(10, 20);
  Lengths data(300, 500);
  test::Counts discounts(5001);
  for (Number district = 1; district <= kDistricts; ++district) {
    int bad = 0;
    for (Number customer = 1; customer <= kCustomers; ++customer) {
      const CustomerRow row = population.row(CustomerKey{1, district, customer});
      const auto name = number_of_name.find(std::string(row.last.view()));
      ASSERT_NE(name, number_of_name.end());
      if (customer <= 1000) {
        EXPECT_EQ(name->second, customer - 1);
      } else {
        random_names.add(name->second);
      }
      discounts.add(row.discount);
      bad += row.credit.view() == "BC" ? 1 : 0;
      EXPECT_TRUE(row.credit.view() == "BC" || row.credit.view() == "GC");
      EXPECT_EQ(row.middle.view(), "OE");
      EXPECT_EQ(row.credit_limit, 50'000'00);
      EXPECT_EQ(row.balance, -10'00);
      EXPECT_EQ(row.ytd_payment, 10'00);
      EXPECT_EQ(row.payment_count, 1);
      EXPECT_EQ(row.delivery_count, 0);
      EXPECT_EQ(row.since, kLoaded);
      EXPECT_EQ(row.phone.size(), 16U);
      EXPECT_EQ(row.phone.view().find_first_not_of("0123456789"), std::string_view::npos);
      expect_state_and_zip(row.address);
      firsts.add(row.first.view());
      streets.add(row.address.street_1.view());
      streets.add(row.address.street_2.view());
      data.add(row.data.view());
    }
    EXPECT_EQ(bad, 300);
  }
  random_names.expect(test::non_uniform_probabilities(255, 0, 999, constants.last_name));
  discounts.expect_uniform();
  firsts.expect_uniform();
  streets.expect_uniform();
  data.expect_uniform();
}

TEST(Population, EveryCustomerHasOnePayment) {
  const Population population(15, kLoaded);
  const HistoryRow row = population.history_of({3, 4, 5});
  EXPECT_EQ(row.amount, 10'00);
  EXPECT_EQ(row.date, kLoaded);
  EXPECT_EQ(std::tie(row.customer_warehouse, row.customer_district, row.customer),
            std::make_tuple(3, 4, 5));
  EXPECT_EQ(std::tie(row.warehouse, row.district), std::make_tuple(3, 4));
  EXPECT_EQ(Population::history_key({1, 1, 1}).writer, 0U);
  Lengths lengths(12, 24);
  for (Number customer = 1; customer <= kCustomers; ++customer) {
    lengths.add(population.history_of({3, 4, customer}).data.view());
  }
  lengths.expect_uniform();
}

TEST(Population, OrdersAndTheirLines) {
  const Population population(16, kLoaded);
  test::Counts line_counts(11);
  test::Counts carriers(10);
  test::Counts items(100);
  std::set<Number> customers;
  for (Number number = 1; number <= kInitialOrders; ++number) {
    const OrderRow order = population.row(OrderKey{2, 3, number});
    const bool delivered = number < 2'101;
    EXPECT_EQ(order.entry_date, kLoaded);
    EXPECT_EQ(order.all_local, 1);
    EXPECT_EQ(order.carrier != kNoCarrier, delivered) << number;
    if (delivered) {
      carriers.add(order.carrier - 1);
    }
    line_counts.add(order.line_count - 5);
    EXPECT_TRUE(1 <= order.customer && order.customer <= kCustomers);
    customers.insert(order.customer);
    for (Number line = 1; line <= order.line_count; ++line) {
      const OrderLineRow row = population.row(OrderLineKey{2, 3, number, line}, order);
      EXPECT_EQ(row.quantity, 5);
      EXPECT_EQ(row.supply_warehouse, 2);
      EXPECT_EQ(row.delivery_date, delivered ? kLoaded : kNoDate);
      EXPECT_EQ(row.amount == 0, delivered);
      EXPECT_TRUE(0 <= row.amount && row.amount <= 9'999'99);
      EXPECT_EQ(row.district_info.size(), 24U);
      items.add((row.item - 1) / 1000);
    }
  }
  EXPECT_EQ(customers.size(), 3'000U);
  line_counts.expect_uniform();
  carriers.expect_uniform();
  items.expect_uniform();
}

TEST(Population, Stock) {
  const Population population(17, kLoaded);
  int originals = 0;
  test::Counts quantities(91);
  for (Number item = 1; item <= kItems; ++item) {
    const StockRow row = population.row(StockKey{2, item});
    originals += is_original(row.data.view()) ? 1 : 0;
    quantities.add(row.quantity - 10);
    ASSERT_EQ(row.ytd + row.order_count + row.remote_count, 0);
    for (const auto& info : row.district_info) {
      ASSERT_EQ(info.size(), 24U);
    }
  }
  EXPECT_EQ(originals, 10'000);
  quantities.expect_uniform();
}

TEST(Population, IndexesSayWhatTheRowsSay) {
  const Population population(18, kLoaded);
  const OrdersByCustomer orders = population.orders_by_customer({1, 6});
  for (Number customer = 1; customer <= kCustomers; ++customer) {
    const CustomerKey key{1, 6, customer};
    const CustomerRow row = population.row(key);
    const CustomerNameKey name = population.name_of(key);
    EXPECT_EQ(name, (CustomerNameKey{1, 6, row.last, row.first, customer}));
    const Number order = orders[static_cast<std::size_t>(customer - 1)];
    EXPECT_EQ(population.row(OrderKey{1, 6, order}).customer, customer);
  }
}

}  // namespace
}  // namespace palimpsest::experiments::tpcc
