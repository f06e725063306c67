// TPC-C's transactions on the model: what each changes and outputs, and that one which does not
// commit leaves nothing, wherever it conflicts.
#include "experiments/tpcc/transactions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/experiments/tpcc/model_session.h"
#include "tests/experiments/tpcc/small_database.h"

namespace palimpsest::experiments::tpcc {
namespace {

constexpr Date kNow = 1'800'000'000'000'000;

class Transactions : public testing::Test {
 protected:
  /// A customer of the small database.
  [[nodiscard]] CustomerKey customer_of(Number warehouse, Number district, Number order) const {
    return {warehouse, district, database_.at(OrderKey{warehouse, district, order}).customer};
  }

  /// An order of three lines, two of them of the same item, the second from warehouse 2.
  [[nodiscard]] NewOrderInput order_of_three() const {
    NewOrderInput input;
    input.customer = customer_of(1, 3, test::kOrderFirst);
    input.date = kNow;
    input.line_count = 3;
    const Number first = database_.rows<ItemKey>().begin()->first.item;
    const Number second = std::next(database_.rows<ItemKey>().begin())->first.item;
    input.lines[0] = {.item = first, .supply_warehouse = 1, .quantity = 4};
    input.lines[1] = {.item = second, .supply_warehouse = 2, .quantity = 10};
    input.lines[2] = {.item = first, .supply_warehouse = 1, .quantity = 1};
    return input;
  }

  [[nodiscard]] PaymentInput payment_of(const CustomerKey& customer) const {
    PaymentInput input;
    input.district = {1, 2};
    input.customer.district = {customer.warehouse, customer.district};
    input.customer.customer = customer.customer;
    input.amount = 123'05;
    input.date = kNow;
    input.history = {9, 1};
    return input;
  }

  /// Whichever operation of the transaction conflicts, it is rolled back and leaves nothing, and
  /// the same input commits afterwards.
  void expect_conflicts_leave_nothing(const Input& input, std::uint64_t operations_min) {
    const test::ModelDatabase before = database_;
    std::uint64_t n = 1;
    for (;; ++n) {
      session_.conflict_at(n);
      const Outcome outcome = run(session_, input, output_);
      EXPECT_FALSE(session_.is_open());
      if (outcome == Outcome::committed) {
        break;
      }
      ASSERT_EQ(outcome, Outcome::conflict) << "operation " << n;
      ASSERT_TRUE(database_ == before) << "operation " << n;
      ASSERT_FALSE(session_.conflict_is_due());
    }
    EXPECT_TRUE(session_.conflict_is_due());
    EXPECT_GT(n, operations_min);
  }

  test::ModelDatabase database_ = test::small_database();
  test::ModelSession session_{database_};
  Output output_;
};

TEST(OrderTotal, TakesDiscountAndTaxesAndRounds) {
  EXPECT_EQ(order_total(100'00, 0, 0, 0), 100'00);
  EXPECT_EQ(order_total(100'00, 5'000, 0, 0), 50'00);
  EXPECT_EQ(order_total(100'00, 0, 1'000, 500), 115'00);
  EXPECT_EQ(order_total(100'00, 1'000, 1'000, 1'000), 108'00);
  EXPECT_EQ(order_total(1, 5'000, 0, 0), 1);  // half a cent
  EXPECT_EQ(order_total(1, 5'001, 0, 0), 0);
  EXPECT_EQ(order_total(15'000'00, 0, 2'000, 2'000), 21'000'00);
}

TEST(StockAfter, IsFilledUpBelowTen) {
  EXPECT_EQ(stock_after(20, 10), 10);
  EXPECT_EQ(stock_after(19, 10), 100);
  EXPECT_EQ(stock_after(10, 1), 100);
  EXPECT_EQ(stock_after(11, 1), 10);
}

TEST_F(Transactions, NewOrderEntersOrderAndLines) {
  const NewOrderInput input = order_of_three();
  const test::ModelDatabase before = database_;
  NewOrderOutput output;
  ASSERT_EQ(run(session_, input, output), Outcome::committed);
  const auto [w, d, c] = input.customer;
  EXPECT_EQ(output.order, 3'001);
  EXPECT_EQ(database_.at(DistrictKey{w, d}).next_order, 3'002);
  EXPECT_EQ(database_.at(OrderKey{w, d, 3'001}), (OrderRow{.entry_date = kNow,
                                                           .customer = c,
                                                           .carrier = kNoCarrier,
                                                           .line_count = 3,
                                                           .all_local = 0}));
  EXPECT_EQ(database_.rows<NewOrderKey>().count({w, d, 3'001}), 1U);
  EXPECT_EQ(database_.order_customers.count({w, d, c, 3'001}), 1U);
  Cents amounts = 0;
  for (Number number = 1; number <= 3; ++number) {
    const NewOrderInput::Line& line = input.lines[static_cast<std::size_t>(number - 1)];
    const Cents price = before.at(ItemKey{line.item}).price;
    const StockKey stock{line.supply_warehouse, line.item};
    EXPECT_EQ(database_.at(OrderLineKey{w, d, 3'001, number}),
              (OrderLineRow{.amount = price * line.quantity,
                            .delivery_date = kNoDate,
                            .item = line.item,
                            .supply_warehouse = line.supply_warehouse,
                            .quantity = line.quantity,
                            .district_info = before.at(stock).district_info[d - 1]}));
    amounts += price * line.quantity;
  }
  const CustomerRow& customer = before.at(input.customer);
  EXPECT_EQ(output.total, order_total(amounts, customer.discount, before.at(WarehouseKey{w}).tax,
                                      before.at(DistrictKey{w, d}).tax));
  EXPECT_EQ(output.last, customer.last);
  EXPECT_EQ(output.credit, customer.credit);
}

TEST_F(Transactions, NewOrderTakesFromStock) {
  const NewOrderInput input = order_of_three();
  const StockKey home{1, input.lines[0].item};
  const StockKey away{2, input.lines[1].item};
  StockRow home_row = database_.at(home);
  StockRow away_row = database_.at(away);
  NewOrderOutput output;
  ASSERT_EQ(run(session_, input, output), Outcome::committed);
  home_row.quantity = stock_after(stock_after(home_row.quantity, 4), 1);
  home_row.ytd = 5;
  home_row.order_count = 2;
  away_row.quantity = stock_after(away_row.quantity, 10);
  away_row.ytd = 10;
  away_row.order_count = 1;
  away_row.remote_count = 1;
  EXPECT_EQ(database_.at(home), home_row);
  EXPECT_EQ(database_.at(away), away_row);
  EXPECT_EQ(output.lines[1].stock, away_row.quantity);
  EXPECT_EQ(output.lines[2].stock, home_row.quantity);
}

TEST_F(Transactions, NewOrderOfHomeStockIsAllLocal) {
  NewOrderInput input = order_of_three();
  input.lines[1].supply_warehouse = 1;
  NewOrderOutput output;
  ASSERT_EQ(run(session_, input, output), Outcome::committed);
  EXPECT_EQ(database_.at(OrderKey{1, 3, output.order}).all_local, 1);
}

TEST_F(Transactions, NewOrderKnowsBrands) {
  const NewOrderInput input = order_of_three();
  const ItemKey item{input.lines[0].item};
  const StockKey stock{1, item.item};
  const FixedText<50> original("xxORIGINALxx");
  const FixedText<50> generic("xxORIGINxx");
  for (const auto& [of_item, of_stock, brand] :
       {std::tuple(original, original, 'B'), std::tuple(original, generic, 'G'),
        std::tuple(generic, original, 'G'), std::tuple(generic, generic, 'G')}) {
    database_.rows<ItemKey>()[item].data = of_item;
    database_.rows<StockKey>()[stock].data = of_stock;
    NewOrderOutput output;
    ASSERT_EQ(run(session_, input, output), Outcome::committed);
    EXPECT_EQ(output.lines[0].brand, brand);
  }
}

TEST_F(Transactions, NewOrderOfAnUnusedItemLeavesNothing) {
  NewOrderInput input = order_of_three();
  input.lines[2].item = kUnusedItem;
  ASSERT_TRUE(input.rolls_back());
  const test::ModelDatabase before = database_;
  EXPECT_EQ(run(session_, Input{input}, output_), Outcome::rolled_back);
  EXPECT_FALSE(session_.is_open());
  EXPECT_TRUE(database_ == before);
  // All of it was entered before the unused item was found.
  EXPECT_EQ(output_.new_order.order, 3'001);
  EXPECT_NE(output_.new_order.lines[1].amount, 0);
}

TEST_F(Transactions, MissingRowsVoidTheRun) {
  NewOrderInput input = order_of_three();
  database_.rows<ItemKey>().erase({input.lines[1].item});
  const test::ModelDatabase before = database_;
  EXPECT_THROW((void)run(session_, Input{input}, output_), DamagedRecord);
  EXPECT_FALSE(session_.is_open());
  EXPECT_TRUE(database_ == before);

  OrderStatusInput nobody;
  nobody.customer = {
      .district = {1, 1}, .by_name = true, .customer = 0, .last = FixedText<16>("X")};
  EXPECT_THROW((void)run(session_, Input{nobody}, output_), DamagedRecord);
  const PaymentInput payment = payment_of({1, 1, 1'000'000});
  EXPECT_THROW((void)run(session_, Input{payment}, output_), DamagedRecord);
  EXPECT_TRUE(database_ == before);
}

TEST_F(Transactions, PaymentAddsToEverySum) {
  const CustomerKey key = customer_of(2, 5, test::kOrderFirst);
  database_.rows<CustomerKey>()[key].credit.assign("GC");
  const test::ModelDatabase before = database_;
  PaymentOutput output;
  ASSERT_EQ(run(session_, payment_of(key), output), Outcome::committed);
  EXPECT_EQ(database_.at(WarehouseKey{1}).ytd, before.at(WarehouseKey{1}).ytd + 123'05);
  EXPECT_EQ(database_.at(DistrictKey{1, 2}).ytd, before.at(DistrictKey{1, 2}).ytd + 123'05);
  CustomerRow customer = before.at(key);
  customer.balance -= 123'05;
  customer.ytd_payment += 123'05;
  customer.payment_count += 1;
  EXPECT_EQ(database_.at(key), customer);
  EXPECT_EQ(output.balance, customer.balance);
  const std::string names = std::string(before.at(WarehouseKey{1}).name.view()) + "    " +
                            std::string(before.at(DistrictKey{1, 2}).name.view());
  EXPECT_EQ(database_.at(HistoryKey{9, 1}), (HistoryRow{.amount = 123'05,
                                                        .date = kNow,
                                                        .customer_warehouse = 2,
                                                        .customer_district = 5,
                                                        .customer = key.customer,
                                                        .warehouse = 1,
                                                        .district = 2,
                                                        .data = FixedText<24>(names)}));
}

TEST_F(Transactions, PaymentIsNotedWithBadCredit) {
  const CustomerKey key = customer_of(2, 5, test::kOrderFirst);
  CustomerRow& row = database_.rows<CustomerKey>()[key];
  row.credit.assign("BC");
  row.data.assign("before");
  PaymentOutput output;
  ASSERT_EQ(run(session_, payment_of(key), output), Outcome::committed);
  const std::string note = std::to_string(key.customer) + " 5 2 2 1 123.05 ";
  EXPECT_EQ(database_.at(key).data.view(), note + "before");

  const std::string full(500, 'x');
  database_.rows<CustomerKey>()[key].data.assign(full);
  PaymentInput second = payment_of(key);
  second.history.sequence = 2;
  ASSERT_EQ(run(session_, second, output), Outcome::committed);
  EXPECT_EQ(database_.at(key).data.view(), (note + full).substr(0, 500));
}

TEST_F(Transactions, ByNameMeansTheMiddleOneRoundedUp) {
  const FixedText<16> name("BARBAROUGHT");
  const CustomerRow some = database_.at(customer_of(1, 1, test::kOrderFirst));
  // First names in another order than numbers; the remaining ones are near in the index.
  const std::vector<std::pair<Number, std::string>> named = {
      {5'001, "e"}, {5'002, "d"}, {5'003, "c"}, {5'004, "b"}, {5'005, "a"}};
  const std::vector<Number> middles = {5'001, 5'002, 5'002, 5'003, 5'003};
  database_.customer_names.insert({1, 2, name, FixedText<16>("a"), 1});
  database_.customer_names.insert({1, 1, FixedText<16>("BARBAROUGHTX"), FixedText<16>("a"), 1});
  std::erase_if(database_.customer_names, [&](const CustomerNameKey& key) {
    return key.warehouse == 1 && key.district == 1 && key.last == name;
  });
  for (std::size_t count = 1; count <= named.size(); ++count) {
    const auto& [number, first] = named[count - 1];
    database_.rows<CustomerKey>()[{1, 1, number}] = some;
    database_.customer_names.insert({1, 1, name, FixedText<16>(first), number});
    PaymentInput input = payment_of({1, 1, 0});
    input.customer = {.district = {1, 1}, .by_name = true, .customer = 0, .last = name};
    input.history.sequence = count;
    PaymentOutput output;
    ASSERT_EQ(run(session_, input, output), Outcome::committed);
    EXPECT_EQ(output.customer, (CustomerKey{1, 1, middles[count - 1]})) << count;
  }
}

TEST_F(Transactions, OrderStatusShowsTheLatestOrder) {
  const CustomerKey key = customer_of(1, 3, test::kOrderFirst);
  OrderStatusInput input;
  input.customer.district = {1, 3};
  input.customer.customer = key.customer;
  OrderStatusOutput output;
  ASSERT_EQ(run(session_, input, output), Outcome::committed);
  EXPECT_EQ(output.order, test::kOrderFirst);
  EXPECT_EQ(output.head.carrier, 1);
  EXPECT_EQ(output.line_count, static_cast<std::size_t>(output.head.line_count));

  ASSERT_EQ(run(session_, Input{order_of_three()}, output_), Outcome::committed);
  const test::ModelDatabase before = database_;
  ASSERT_EQ(run(session_, input, output), Outcome::committed);
  EXPECT_EQ(output.order, 3'001);
  EXPECT_EQ(output.head, database_.at(OrderKey{1, 3, 3'001}));
  ASSERT_EQ(output.line_count, 3U);
  for (Number line = 1; line <= 3; ++line) {
    EXPECT_EQ(output.lines[static_cast<std::size_t>(line - 1)],
              database_.at(OrderLineKey{1, 3, 3'001, line}));
  }
  const CustomerRow& row = database_.at(key);
  EXPECT_EQ(output.first, row.first);
  EXPECT_EQ(output.middle, row.middle);
  EXPECT_EQ(output.last, row.last);
  EXPECT_EQ(output.balance, row.balance);
  EXPECT_TRUE(database_ == before);
}

TEST_F(Transactions, DeliverySendsTheOldestOfEachDistrict) {
  const test::ModelDatabase before = database_;
  const DeliveryInput input{.warehouse = 2, .carrier = 7, .date = kNow};
  DeliveryOutput output;
  ASSERT_EQ(run(session_, input, output), Outcome::committed);
  for (Number d = 1; d <= kDistricts; ++d) {
    EXPECT_EQ(output.orders[static_cast<std::size_t>(d - 1)], test::kNewFirst);
    EXPECT_EQ(database_.rows<NewOrderKey>().count({2, d, test::kNewFirst}), 0U);
    EXPECT_EQ(database_.rows<NewOrderKey>().count({2, d, test::kNewFirst + 1}), 1U);
    const OrderRow& order = database_.at(OrderKey{2, d, test::kNewFirst});
    EXPECT_EQ(order.carrier, 7);
    Cents amounts = 0;
    for (Number line = 1; line <= order.line_count; ++line) {
      const OrderLineRow& row = database_.at(OrderLineKey{2, d, test::kNewFirst, line});
      EXPECT_EQ(row.delivery_date, kNow);
      amounts += row.amount;
    }
    EXPECT_GT(amounts, 0);
    CustomerRow customer = before.at(CustomerKey{2, d, order.customer});
    customer.balance += amounts;
    customer.delivery_count += 1;
    EXPECT_EQ(database_.at(CustomerKey{2, d, order.customer}), customer);
  }
  EXPECT_EQ(database_.rows<NewOrderKey>().size(), before.rows<NewOrderKey>().size() - 10);
  EXPECT_EQ(database_.at(WarehouseKey{1}), before.at(WarehouseKey{1}));
}

TEST_F(Transactions, DeliverySkipsDistrictsWithoutNewOrders) {
  std::erase_if(database_.rows<NewOrderKey>(), [](const auto& entry) {
    return entry.first.warehouse == 1 && entry.first.district != 4;
  });
  DeliveryOutput output;
  const DeliveryInput input{.warehouse = 1, .carrier = 1, .date = kNow};
  for (Number order = test::kNewFirst; order <= kInitialOrders + 1; ++order) {
    ASSERT_EQ(run(session_, input, output), Outcome::committed);
    for (Number d = 1; d <= kDistricts; ++d) {
      const Number expected = d == 4 && order <= kInitialOrders ? order : 0;
      EXPECT_EQ(output.orders[static_cast<std::size_t>(d - 1)], expected);
    }
  }
}

TEST_F(Transactions, StockLevelCountsItemsOnce) {
  // An order whose lines are all of one item, and one that is just too old to be looked at.
  ASSERT_EQ(run(session_, Input{order_of_three()}, output_), Outcome::committed);
  database_.rows<DistrictKey>()[{1, 3}].next_order = test::kOrderFirst + 1 + kOrdersLookedAt;
  const StockLevelInput input{.district = {1, 3}, .threshold = 40};
  std::set<Number> low;
  for (const auto& [key, row] : database_.rows<OrderLineKey>()) {
    if (key.warehouse == 1 && key.district == 3 && key.order > test::kOrderFirst &&
        database_.at(StockKey{1, row.item}).quantity < 40) {
      low.insert(row.item);
    }
  }
  StockLevelOutput output;
  ASSERT_EQ(run(session_, input, output), Outcome::committed);
  EXPECT_EQ(output.low_stock, static_cast<Number>(low.size()));
  EXPECT_GT(output.low_stock, 5);

  // With all stock low, every distinct item counts.
  for (auto& [key, row] : database_.rows<StockKey>()) {
    row.quantity = 39;
  }
  std::set<Number> items;
  std::size_t lines = 0;
  for (const auto& [key, row] : database_.rows<OrderLineKey>()) {
    if (key.warehouse == 1 && key.district == 3 && key.order > test::kOrderFirst) {
      items.insert(row.item);
      ++lines;
    }
  }
  ASSERT_EQ(run(session_, input, output), Outcome::committed);
  EXPECT_EQ(output.low_stock, static_cast<Number>(items.size()));
  EXPECT_LT(items.size(), lines);
}

TEST_F(Transactions, ConflictsInNewOrderLeaveNothing) {
  expect_conflicts_leave_nothing(order_of_three(), 14);
}

TEST_F(Transactions, ConflictsInPaymentLeaveNothing) {
  PaymentInput input = payment_of(customer_of(1, 1, test::kOrderFirst));
  input.customer.by_name = true;
  input.customer.last = database_.at(customer_of(1, 1, test::kOrderFirst)).last;
  expect_conflicts_leave_nothing(input, 6);
}

TEST_F(Transactions, ConflictsInOrderStatusLeaveNothing) {
  OrderStatusInput input;
  input.customer.district = {1, 3};
  input.customer.by_name = true;
  input.customer.last = database_.at(customer_of(1, 3, test::kOrderFirst)).last;
  expect_conflicts_leave_nothing(input, 6);
}

TEST_F(Transactions, ConflictsInDeliveryLeaveNothing) {
  expect_conflicts_leave_nothing(DeliveryInput{.warehouse = 1, .carrier = 1, .date = kNow}, 90);
}

TEST_F(Transactions, ConflictsInStockLevelLeaveNothing) {
  expect_conflicts_leave_nothing(StockLevelInput{.district = {1, 3}, .threshold = 15}, 50);
}

}  // namespace
}  // namespace palimpsest::experiments::tpcc
