// The twelve consistency conditions: they hold for the initial population and after tens of
// thousands of transactions, and each notices its violation.
#include "experiments/tpcc/consistency.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "experiments/tpcc/input.h"
#include "experiments/tpcc/population.h"
#include "experiments/tpcc/transactions.h"
#include "tests/experiments/tpcc/model_session.h"

namespace palimpsest::experiments::tpcc {
namespace {

constexpr Number kWarehouses = 2;
constexpr Date kLoaded = 1'700'000'000'000'000;
constexpr std::uint64_t kSeed = 21;

std::string texts_of(const Violations& violations) {
  std::string text;
  for (const Violation& violation : violations.first()) {
    text += describe(violation) + "\n";
  }
  return text;
}

std::unique_ptr<test::ModelDatabase> populated() {
  auto database = std::make_unique<test::ModelDatabase>();
  const Population population(kSeed, kLoaded);
  population.items(*database);
  for (Number warehouse = 1; warehouse <= kWarehouses; ++warehouse) {
    population.warehouse(warehouse, *database);
  }
  return database;
}

/// Runs that many transactions of the mix; every 50th conflicts first and is run again.
std::vector<int> run_mix(test::ModelDatabase& database, int transactions) {
  const NonUniformConstants constants = constants_of_run(1, constants_of_load(kSeed));
  InputSource source(2, constants,
                     {.count = kWarehouses, .home_first = 1, .home_last = kWarehouses}, 1);
  test::ModelSession session(database);
  std::vector<int> outcomes(3);
  Output output;
  for (int i = 0; i < transactions; ++i) {
    const Input input = source.next(kLoaded + i + 1);
    if (i % 50 == 0) {
      session.conflict_at(static_cast<std::uint64_t>(i) / 50 % 40 + 1);
    }
    Outcome outcome = run(session, input, output);
    ++outcomes[static_cast<std::size_t>(outcome)];
    while (outcome == Outcome::conflict) {
      outcome = run(session, input, output);
      ++outcomes[static_cast<std::size_t>(outcome)];
    }
  }
  return outcomes;
}

/// Populated and run once, for all tests here; a test that changes it changes it back.
class Consistency : public testing::Test {
 protected:
  static constexpr int kTransactions = 40'000;

  static void SetUpTestSuite() {
    database() = populated();
    loaded() = check_consistency(std::as_const(*database()), kWarehouses);
    outcomes() = run_mix(*database(), kTransactions);
  }
  static void TearDownTestSuite() { database().reset(); }

  static std::unique_ptr<test::ModelDatabase>& database() {
    static std::unique_ptr<test::ModelDatabase> shared;
    return shared;
  }
  /// The state before the first transaction.
  static Violations& loaded() {
    static Violations shared;
    return shared;
  }
  static std::vector<int>& outcomes() {
    static std::vector<int> shared;
    return shared;
  }
};

TEST_F(Consistency, HoldsForTheInitialPopulation) {
  EXPECT_EQ(loaded().count(), 0U) << texts_of(loaded());
}

TEST_F(Consistency, HoldsAfterTransactions) {
  const Violations violations = check_consistency(std::as_const(*database()), kWarehouses);
  EXPECT_EQ(violations.count(), 0U) << texts_of(violations);
  const auto of = [](Outcome outcome) { return outcomes()[static_cast<std::size_t>(outcome)]; };
  EXPECT_GT(of(Outcome::conflict), 500);
  EXPECT_GT(of(Outcome::rolled_back), 100);  // 1 % of 18,000 new orders
  EXPECT_EQ(of(Outcome::committed) + of(Outcome::rolled_back), kTransactions);
}

TEST_F(Consistency, TransactionsHaveHappened) {
  const auto& customers = database()->rows<CustomerKey>();
  std::int64_t deliveries = 0;
  std::int64_t payments = 0;
  for (const auto& [key, row] : customers) {
    deliveries += row.delivery_count;
    payments += row.payment_count - 1;
  }
  EXPECT_EQ(payments, kTransactions * 43 / 100);
  EXPECT_EQ(deliveries, kTransactions * 4 / 100 * kDistricts);
  const auto orders = database()->rows<OrderKey>().size();
  EXPECT_EQ(static_cast<std::int64_t>(orders),
            60'000 + kTransactions * 45 / 100 -
                outcomes()[static_cast<std::size_t>(Outcome::rolled_back)]);
}

/// A change that breaks conditions, all of warehouse 2.
struct Damage {
  std::string name;
  std::set<int> breaks;
  std::set<Number> districts;  ///< of all violations; 0: the whole warehouse
  std::function<void(test::ModelSession&)> change;
};

template <class Key, class Change>
auto changed(const Key& key, Change change) {
  return [=](test::ModelSession& session) {
    ASSERT_EQ(session.update(key, change), Access::done) << describe(key);
  };
}

template <class Key>
auto erased(const Key& key) {
  return [=](test::ModelSession& session) {
    ASSERT_EQ(session.erase(key), Access::done) << describe(key);
  };
}

template <class First, class Second>
auto both(First first, Second second) {
  return [=](test::ModelSession& session) {
    first(session);
    second(session);
  };
}

constexpr WarehouseKey kWarehouse{2};
constexpr DistrictKey kDistrict{2, 5};
constexpr OrderKey kDelivered{2, 5, 100};
constexpr CustomerKey kCustomer{2, 5, 17};
/// Delivery does not reach it.
constexpr OrderKey kUndelivered{2, 5, 3'000};
constexpr NewOrderKey kNewOrder{2, 5, 3'000};

std::vector<Damage> damages() {
  const auto add_cent = [](auto& row) { ++row.ytd; };
  const auto longer = [](OrderRow& row) { ++row.line_count; };
  const auto shorter = [](OrderRow& row) { --row.line_count; };
  const auto no_carrier = [](OrderRow& row) { row.carrier = kNoCarrier; };
  const auto carrier = [](OrderRow& row) { row.carrier = 1; };
  const auto not_delivered = [](OrderLineRow& row) { row.delivery_date = kNoDate; };
  const auto delivered = [](OrderLineRow& row) { row.delivery_date = 1; };
  const HistoryKey payment = Population::history_key(kCustomer);
  return {
      {"warehouse_ytd", {1, 8}, {0}, changed(kWarehouse, add_cent)},
      {"district_ytd", {1, 9}, {0, 5}, changed(kDistrict, add_cent)},
      {"next_order", {2}, {5}, changed(kDistrict, [](DistrictRow& row) { ++row.next_order; })},
      {"newest_order",
       {2},
       {5},
       [](test::ModelSession& session) {
         ASSERT_EQ(session.insert(OrderKey{2, 5, 1'000'000}, OrderRow{.entry_date = 1,
                                                                      .customer = 1,
                                                                      .carrier = 1,
                                                                      .line_count = 0,
                                                                      .all_local = 1}),
                   Access::done);
         ASSERT_EQ(session.update(kCustomer, [](CustomerRow& row) { ++row.delivery_count; }),
                   Access::done);
       }},
      {"gap_in_new_orders", {3, 5, 11}, {5}, erased(kNewOrder)},
      {"order_line_lost", {4, 6}, {5}, erased(OrderLineKey{2, 5, 100, 1})},
      {"line_count", {4, 6}, {5}, changed(kDelivered, longer)},
      {"line_counts",
       {6},
       {5},
       both(changed(kDelivered, longer), changed(OrderKey{2, 5, 101}, shorter))},
      {"carrier_lost", {5, 7}, {5}, changed(kDelivered, no_carrier)},
      {"carrier_of_new_order", {5, 7}, {5}, changed(kUndelivered, carrier)},
      {"delivery_date_lost", {7}, {5}, changed(OrderLineKey{2, 5, 100, 1}, not_delivered)},
      {"delivered_early", {7, 10, 12}, {5}, changed(OrderLineKey{2, 5, 3'000, 1}, delivered)},
      {"both_ytd",
       {8, 9},
       {0, 5},
       both(changed(kWarehouse, add_cent), changed(kDistrict, add_cent))},
      {"payment_elsewhere",
       {9},
       {5, 6},
       both(changed(kDistrict, add_cent),
            changed(DistrictKey{2, 6}, [](DistrictRow& row) { --row.ytd; }))},
      {"payment_of_another", {10}, {5}, changed(payment, [](HistoryRow& row) { ++row.customer; })},
      {"balance",
       {10},
       {5},
       changed(kCustomer,
               [](CustomerRow& row) {
                 ++row.balance;
                 --row.ytd_payment;
               })},
      {"delivery_count",
       {11},
       {5},
       changed(kCustomer, [](CustomerRow& row) { ++row.delivery_count; })},
      {"paid_too_little",
       {12},
       {5},
       changed(kCustomer, [](CustomerRow& row) { --row.ytd_payment; })},
  };
}

/// Rows that belong to no order.
std::vector<Damage> strays() {
  return {
      {"new_order_without_order",
       {2, 3, 5, 11},
       {5},
       [](test::ModelSession& session) {
         ASSERT_EQ(session.insert(NewOrderKey{2, 5, 1'000'000}, NewOrderRow{}), Access::done);
       }},
      {"line_without_order",
       {4, 7},
       {5},
       [](test::ModelSession& session) {
         ASSERT_EQ(session.insert(OrderLineKey{2, 5, 1'000'000, 1}, OrderLineRow{}), Access::done);
       }},
  };
}

TEST_F(Consistency, EveryConditionNotices) {
  std::set<int> noticed;
  std::vector<Damage> all = damages();
  for (const Damage& damage : strays()) {
    all.push_back(damage);
  }
  for (const Damage& damage : all) {
    SCOPED_TRACE(damage.name);
    test::ModelSession session(*database());
    session.begin(Intent::read_write);
    damage.change(session);
    const Violations violations = check_consistency(std::as_const(*database()), kWarehouses);
    session.rollback();
    std::set<int> broken;
    for (const Violation& violation : violations.first()) {
      broken.insert(violation.condition);
      EXPECT_EQ(violation.place.warehouse, 2);
      EXPECT_TRUE(damage.districts.contains(violation.place.district));
      EXPECT_NE(violation.left, violation.right);
    }
    EXPECT_EQ(broken, damage.breaks) << texts_of(violations);
    noticed.insert(broken.begin(), broken.end());
  }
  EXPECT_EQ(noticed, (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST_F(Consistency, ViolationsNameBothValues) {
  test::ModelSession session(*database());
  session.begin(Intent::read_write);
  const Number lines = database()->at(kDelivered).line_count;
  changed(kDelivered, [](OrderRow& row) { ++row.line_count; })(session);
  const Violations violations = check_consistency(std::as_const(*database()), kWarehouses);
  session.rollback();
  ASSERT_EQ(violations.count(), 2U);
  EXPECT_EQ(describe(violations.first()[0]),
            "condition 6, warehouse 2, district 5, order 100: O_OL_CNT is " +
                std::to_string(lines + 1) + ", rows of ORDER-LINE is " + std::to_string(lines));
}

TEST(Violations, AreAllCountedAndTheFirstAreKept) {
  Violations violations;
  for (int i = 0; i < 250; ++i) {
    violations.compare(1, {.warehouse = 1}, "left", i, "right", 0);
  }
  EXPECT_EQ(violations.count(), 249U);
  ASSERT_EQ(violations.first().size(), Violations::kKept);
  EXPECT_EQ(describe(violations.first()[0]), "condition 1, warehouse 1: left is 1, right is 0");
}

/// A payment of 5 cents in the last district of warehouse 17, by the last customer of the first
/// district of warehouse 18.
HistoryRow some_payment() {
  HistoryRow row;
  row.amount = 5;
  row.warehouse = 17;
  row.district = kDistricts;
  row.customer_warehouse = 18;
  row.customer_district = 1;
  row.customer = kCustomers;
  return row;
}

TEST(PaymentSums, AddUpByPlaceAndByCustomer) {
  PaymentSums sums(17, 18);
  sums.add(some_payment());
  sums.add(some_payment());
  EXPECT_EQ(sums.taken(17, kDistricts), 10);
  EXPECT_EQ(sums.taken(17, kDistricts - 1), 0);
  EXPECT_EQ(sums.taken(18, 1), 0);
  EXPECT_EQ(sums.paid_by({18, 1, kCustomers}), 10);
  EXPECT_EQ(sums.paid_by({18, 2, 1}), 0);
  EXPECT_EQ(sums.paid_by({17, kDistricts, kCustomers}), 0);
}

/// The sums of warehouses and customers in the warehouses 17 and 18.
std::pair<Cents, Cents> totals_with(const HistoryRow& row) {
  PaymentSums sums(17, 18);
  sums.add(row);
  std::pair<Cents, Cents> totals;
  for (const Number warehouse : {17, 18}) {
    for (Number district = 1; district <= kDistricts; ++district) {
      totals.first += sums.taken(warehouse, district);
      for (Number customer = 1; customer <= kCustomers; ++customer) {
        totals.second += sums.paid_by({warehouse, district, customer});
      }
    }
  }
  return totals;
}

TEST(PaymentSums, LeaveOutWhatIsNotOfTheirRange) {
  const std::pair<Cents, Cents> both = {5, 5};
  const std::pair<Cents, Cents> no_place = {0, 5};
  const std::pair<Cents, Cents> nobody = {5, 0};
  EXPECT_EQ(totals_with(some_payment()), both);
  const auto changed = [](Number HistoryRow::* column, Number value) {
    HistoryRow row = some_payment();
    row.*column = value;
    return totals_with(row);
  };
  // Numbers next to the range would belong to an adjacent one if they were counted.
  EXPECT_EQ(changed(&HistoryRow::warehouse, 16), no_place);
  EXPECT_EQ(changed(&HistoryRow::warehouse, 19), no_place);
  EXPECT_EQ(changed(&HistoryRow::district, kDistricts + 1), no_place);
  EXPECT_EQ(changed(&HistoryRow::customer_warehouse, 16), nobody);
  EXPECT_EQ(changed(&HistoryRow::customer_warehouse, 19), nobody);
  EXPECT_EQ(changed(&HistoryRow::customer_district, kDistricts + 1), nobody);
  EXPECT_EQ(changed(&HistoryRow::customer, kCustomers + 1), nobody);
  HistoryRow row = some_payment();
  row.warehouse = 18;
  row.district = 0;
  EXPECT_EQ(totals_with(row), no_place);
  row = some_payment();
  row.customer_district = 2;
  row.customer = 0;
  EXPECT_EQ(totals_with(row), nobody);
  const PaymentSums sums(17, 18);
  EXPECT_EQ(sums.paid_by({19, 1, kCustomers}), 0);
}

/// Warehouses with nothing in them but payments, each a cent more than the one before.
class WarehousesOfPayments {
 public:
  explicit WarehousesOfPayments(Number count) : count_(count) {}

  template <class Key, class Visit>
  void scan(const Key& first, const Key& last, Visit&& visit) {
    if constexpr (std::is_same_v<Key, WarehouseKey>) {
      visit(first, WarehouseRow{.ytd = first.warehouse, .tax = 0, .name = {}, .address = {}});
    } else if constexpr (std::is_same_v<Key, DistrictKey>) {
      DistrictRow row;
      row.next_order = 1;
      for (DistrictKey key = first; key <= last; ++key.district) {
        row.ytd = key.district == 1 ? key.warehouse : 0;
        visit(key, row);
      }
    } else if constexpr (std::is_same_v<Key, HistoryKey>) {
      ++history_scans;
      HistoryRow row;
      row.district = 1;
      for (row.warehouse = 1; row.warehouse <= count_; ++row.warehouse) {
        row.amount = row.warehouse;
        visit(HistoryKey{}, row);
      }
    }
  }

  int history_scans = 0;

 private:
  Number count_;
};

TEST(CheckConsistency, FindsThePaymentsOfAllWarehousesInSeveralPasses) {
  for (const auto& [warehouses, scans] :
       {std::pair(16, 1), std::pair(17, 2), std::pair(32, 2), std::pair(40, 3)}) {
    WarehousesOfPayments reader(warehouses);
    const Violations violations = check_consistency(reader, warehouses);
    EXPECT_EQ(reader.history_scans, scans);
    // There are no orders, of which 2,100 in each district are delivered: nothing else is wrong.
    EXPECT_EQ(violations.count(), static_cast<std::uint64_t>(warehouses * kDistricts));
    for (const Violation& violation : violations.first()) {
      EXPECT_EQ(violation.condition, 11) << describe(violation);
    }
  }
}

}  // namespace
}  // namespace palimpsest::experiments::tpcc
