// Inputs of TPC-C's transactions and their mix: shares and distributions of clauses 2.4.1 to 2.8.1.
#include "experiments/tpcc/input.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/experiments/chi_square.h"

namespace palimpsest::experiments::tpcc {
namespace {

constexpr NonUniformConstants kConstants{.last_name = 99, .customer = 500, .item = 4000};
constexpr Warehouses kFive{.count = 5, .home_first = 2, .home_last = 3};
constexpr Date kNow = 1234567;

/// Whether the item is one of those that NURand prefers: the 13 low bits of the value before the
/// constant is added are set (probability 3/4 each).
bool is_popular(Number item, Number constant) {
  return (item - 1 + kItems - constant) % kItems % 8192 == 8191;
}

/// The number of each last name.
std::map<std::string, Number> numbers_of_names() {
  std::map<std::string, Number> numbers;
  for (Number number = 0; number < kLastNames; ++number) {
    numbers.emplace(last_name(number).view(), number);
  }
  return numbers;
}

/// Whether `count` of `of` is `share` within five standard deviations.
testing::AssertionResult is_share(int count, int of, double share) {
  const double expected = of * share;
  const double allowed = 5 * std::sqrt(expected * (1 - share));
  if (std::abs(count - expected) <= allowed) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << count << " of " << of << ", expected " << expected;
}

TEST(Deck, HasTheMixInEveryHundred) {
  Deck deck;
  Random random(1);
  std::array<test::Counts, kTransactionTypes> places = {test::Counts(100), test::Counts(100),
                                                        test::Counts(100), test::Counts(100),
                                                        test::Counts(100)};
  for (int round = 0; round < 5'000; ++round) {
    std::array<std::size_t, kTransactionTypes> counts{};
    for (int place = 0; place < 100; ++place) {
      const auto type = static_cast<std::size_t>(deck.draw(random));
      ++counts[type];
      places[type].add(place);
    }
    ASSERT_EQ(counts, (std::array<std::size_t, kTransactionTypes>{45, 43, 4, 4, 4}));
  }
  for (const test::Counts& of_type : places) {
    of_type.expect_uniform();
  }
}

TEST(InputSource, DrawsTypesFromTheDeck) {
  InputSource source(2, kConstants, kFive, 1);
  std::array<int, kTransactionTypes> counts{};
  for (int i = 0; i < 1'000; ++i) {
    ++counts[static_cast<std::size_t>(type_of(source.next(kNow)))];
  }
  EXPECT_EQ(counts, (std::array<int, kTransactionTypes>{450, 430, 40, 40, 40}));
}

TEST(InputSource, NewOrders) {
  InputSource source(3, kConstants, kFive, 1);
  constexpr int kDraws = 60'000;
  test::Counts homes(2);
  test::Counts districts(10);
  test::Counts customers(3000);
  test::Counts line_counts(11);
  test::Counts quantities(10);
  int lines = 0;
  int remote = 0;
  int popular = 0;
  int rollbacks = 0;
  for (int i = 0; i < kDraws; ++i) {
    const NewOrderInput input = source.new_order(kNow);
    EXPECT_EQ(input.date, kNow);
    homes.add(input.customer.warehouse - 2);
    districts.add(input.customer.district - 1);
    customers.add(input.customer.customer - 1);
    line_counts.add(input.line_count - 5);
    rollbacks += input.rolls_back() ? 1 : 0;
    for (Number line = 0; line < input.line_count; ++line) {
      const auto& [item, supply, quantity] = input.lines[static_cast<std::size_t>(line)];
      const bool last = line + 1 == input.line_count;
      ASSERT_TRUE(1 <= item && (item <= kItems || (last && item == kUnusedItem)));
      ASSERT_TRUE(1 <= supply && supply <= 5);
      quantities.add(quantity - 1);
      popular += is_popular(item, kConstants.item) ? 1 : 0;
      remote += supply != input.customer.warehouse ? 1 : 0;
      ++lines;
    }
  }
  homes.expect_uniform();
  districts.expect_uniform();
  customers.expect(test::non_uniform_probabilities(1023, 1, 3000, kConstants.customer));
  line_counts.expect_uniform();
  quantities.expect_uniform();
  EXPECT_TRUE(is_share(remote, lines, 0.01));
  EXPECT_TRUE(is_share(rollbacks, kDraws, 0.01));
  EXPECT_NEAR(popular / static_cast<double>(lines), std::pow(0.75, 13), 0.001);
}

TEST(InputSource, RemoteWarehousesAreAnyOtherOnes) {
  InputSource source(4, kConstants, {.count = 5, .home_first = 3, .home_last = 3}, 1);
  test::Counts suppliers(5);
  test::Counts payers(5);
  for (int i = 0; i < 100'000; ++i) {
    const NewOrderInput order = source.new_order(kNow);
    for (Number line = 0; line < order.line_count; ++line) {
      const Number supply = order.lines[static_cast<std::size_t>(line)].supply_warehouse;
      if (supply != 3) {
        suppliers.add(supply - 1);
      }
    }
    const Number payer = source.payment(kNow).customer.district.warehouse;
    if (payer != 3) {
      payers.add(payer - 1);
    }
  }
  const std::vector<double> others = {0.25, 0.25, 0, 0.25, 0.25};
  suppliers.expect(others);
  payers.expect(others);
}

TEST(InputSource, Payments) {
  InputSource source(5, kConstants, kFive, 77);
  constexpr int kDraws = 100'000;
  int remote = 0;
  int by_name = 0;
  test::Counts amounts(50);
  test::Counts remote_districts(100);
  test::Counts customers(3000);
  test::Counts homes(2);
  test::Counts districts(10);
  test::Counts names(1000);
  const std::map<std::string, Number> numbers = numbers_of_names();
  for (int i = 1; i <= kDraws; ++i) {
    const PaymentInput input = source.payment(kNow);
    EXPECT_EQ(input.history, (HistoryKey{77, static_cast<std::uint64_t>(kNow + i - 1)}));
    EXPECT_EQ(input.date, kNow);
    ASSERT_TRUE(1'00 <= input.amount && input.amount <= 5'000'00);
    amounts.add(std::min<Cents>((input.amount - 1'00) / 100'00, 49));
    homes.add(input.district.warehouse - 2);
    districts.add(input.district.district - 1);
    const CustomerChoice& choice = input.customer;
    if (choice.district.warehouse == input.district.warehouse) {
      EXPECT_EQ(choice.district, input.district);
    } else {
      ++remote;
      remote_districts.add((choice.district.district - 1) * 10 + input.district.district - 1);
    }
    by_name += choice.by_name ? 1 : 0;
    if (choice.by_name) {
      names.add(numbers.at(std::string(choice.last.view())));
    } else {
      customers.add(choice.customer - 1);
    }
  }
  EXPECT_TRUE(is_share(remote, kDraws, 0.15));
  EXPECT_TRUE(is_share(by_name, kDraws, 0.60));
  homes.expect_uniform();
  districts.expect_uniform();
  names.expect(test::non_uniform_probabilities(255, 0, 999, kConstants.last_name));
  amounts.expect(std::vector<double>(50, 0.02));
  remote_districts.expect_uniform();
  customers.expect(test::non_uniform_probabilities(1023, 1, 3000, kConstants.customer));
}

TEST(InputSource, HistoryIsNumberedByDatesAndNeverTwice) {
  InputSource source(5, kConstants, kFive, 77);
  std::vector<std::uint64_t> numbers;
  // A clock that stands still, goes on, and is set back.
  for (const Date now : {1'000, 1'000, 1'000, 5'000, 4'000, 4'000, 6'000}) {
    numbers.push_back(source.payment(now).history.sequence);
  }
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1'000, 1'001, 1'002, 5'000, 5'001, 5'002, 6'000}));
  // The same writer in a later run.
  InputSource later(6, kConstants, kFive, 77);
  EXPECT_EQ(later.payment(6'001).history, (HistoryKey{77, 6'001}));
}

TEST(InputSource, OrderStatusDeliveryStockLevel) {
  InputSource source(6, kConstants, kFive, 1);
  constexpr int kDraws = 50'000;
  int by_name = 0;
  test::Counts carriers(10);
  test::Counts thresholds(11);
  test::Counts districts(10);
  test::Counts homes(2);
  for (int i = 0; i < kDraws; ++i) {
    const OrderStatusInput status = source.order_status();
    by_name += status.customer.by_name ? 1 : 0;
    homes.add(status.customer.district.warehouse - 2);
    districts.add(status.customer.district.district - 1);
    const DeliveryInput delivery = source.delivery(kNow);
    EXPECT_EQ(delivery.date, kNow);
    homes.add(delivery.warehouse - 2);
    carriers.add(delivery.carrier - 1);
    const StockLevelInput level = source.stock_level();
    homes.add(level.district.warehouse - 2);
    districts.add(level.district.district - 1);
    thresholds.add(level.threshold - 10);
  }
  EXPECT_TRUE(is_share(by_name, kDraws, 0.60));
  carriers.expect_uniform();
  thresholds.expect_uniform();
  districts.expect_uniform();
  homes.expect_uniform();
}

TEST(InputSource, OneWarehouseHasNoRemoteOnes) {
  InputSource source(7, kConstants, {}, 1);
  for (int i = 0; i < 10'000; ++i) {
    const NewOrderInput order = source.new_order(kNow);
    for (Number line = 0; line < order.line_count; ++line) {
      ASSERT_EQ(order.lines[static_cast<std::size_t>(line)].supply_warehouse, 1);
    }
    ASSERT_EQ(source.payment(kNow).customer.district.warehouse, 1);
  }
}

TEST(InputSource, FollowsFromItsSeed) {
  InputSource first(8, kConstants, kFive, 1);
  InputSource same(8, kConstants, kFive, 1);
  InputSource other(9, kConstants, kFive, 1);
  int differences = 0;
  for (int i = 0; i < 1'000; ++i) {
    const NewOrderInput input = first.new_order(kNow);
    const NewOrderInput again = same.new_order(kNow);
    EXPECT_EQ(input.customer, again.customer);
    EXPECT_EQ(input.lines[0].item, again.lines[0].item);
    differences += input.customer != other.new_order(kNow).customer ? 1 : 0;
  }
  EXPECT_GT(differences, 900);
}

}  // namespace
}  // namespace palimpsest::experiments::tpcc
