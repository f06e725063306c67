// TPC-C's session on a store of bytes equals the model: the same results, the same changes.
#include "experiments/tpcc/table_session.h"

#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "experiments/oltp/batch_inserter.h"
#include "experiments/oltp/table_reader.h"
#include "experiments/tpcc/bench.h"
#include "experiments/tpcc/transactions.h"
#include "tests/experiments/oltp/memory_store.h"
#include "tests/experiments/tpcc/small_database.h"
#include "tests/support/seed.h"

namespace palimpsest::experiments::tpcc {
namespace {

using oltp::test::MemorySession;

constexpr Date kNow = 1'800'000'000'000'000;

static_assert(Session<TableSession<MemorySession>>);
static_assert(Reader<oltp::TableReader<MemorySession>>);

class TpccTableSession : public testing::Test {
 protected:
  TpccTableSession() : store_(disk_, settings()) {
    const auto session = store_.open_session(SessionUse::load);
    oltp::LoadProgress progress;
    oltp::BatchInserter inserter(*session, progress);
    for_each_table([&]<class Key>(std::type_identity<Key>) {
      for (const auto& [key, row] : model_.rows<Key>()) {
        inserter.add(key, row);
      }
    });
    for (const CustomerNameKey& name : model_.customer_names) {
      inserter.add(name);
    }
    for (const OrderCustomerKey& order : model_.order_customers) {
      inserter.add(order);
    }
    inserter.finish();
  }

  static StoreSettings settings() {
    StoreSettings settings;
    settings.tables = workload().tables;
    return settings;
  }

  template <class Visit>
  static void for_each_table(Visit visit) {
    visit(std::type_identity<ItemKey>());
    visit(std::type_identity<WarehouseKey>());
    visit(std::type_identity<DistrictKey>());
    visit(std::type_identity<CustomerKey>());
    visit(std::type_identity<HistoryKey>());
    visit(std::type_identity<NewOrderKey>());
    visit(std::type_identity<OrderKey>());
    visit(std::type_identity<OrderLineKey>());
    visit(std::type_identity<StockKey>());
  }

  /// The contents of the store.
  test::ModelDatabase stored() {
    test::ModelDatabase found;
    oltp::TableReader<MemorySession> reader(session_);
    const auto add = [&](const auto&... row) { found.add(row...); };
    for_each_table(
        [&]<class Key>(std::type_identity<Key>) { reader.scan(Key{}, last<Key>(), add); });
    reader.scan(CustomerNameKey{}, last<CustomerNameKey>(), add);
    reader.scan(OrderCustomerKey{}, last<OrderCustomerKey>(), add);
    return found;
  }

  /// A key behind all that are there.
  template <class Key>
  static Key last() {
    Key key;
    std::get<0>(Key::columns(key)) = 1'000'000;
    return key;
  }

  template <class Key>
  const Key& any(Random& random) const {
    const auto& rows = model_.rows<Key>();
    return std::next(rows.begin(), static_cast<std::ptrdiff_t>(random.below(rows.size())))->first;
  }

  CustomerChoice any_customer(Random& random) const {
    const auto& key = any<CustomerKey>(random);
    CustomerChoice choice;
    choice.district = {key.warehouse, key.district};
    choice.by_name = random.below(2) == 0;
    choice.customer = key.customer;
    choice.last = model_.at(key).last;
    return choice;
  }

  Input any_input(Random& random) const {
    switch (random.below(5)) {
      case 0: {
        NewOrderInput input;
        input.customer = any<CustomerKey>(random);
        input.date = kNow;
        input.line_count = number_between(random, kOrderLinesMin, kOrderLinesMax);
        for (Number i = 0; i < input.line_count; ++i) {
          input.lines[static_cast<std::size_t>(i)] = {
              .item = any<ItemKey>(random).item,
              .supply_warehouse = number_between(random, 1, 2),
              .quantity = number_between(random, 1, 10)};
        }
        if (percent_of(random, 20)) {
          input.lines[static_cast<std::size_t>(input.line_count - 1)].item = kUnusedItem;
        }
        return input;
      }
      case 1:
        return PaymentInput{.district = any<DistrictKey>(random),
                            .customer = any_customer(random),
                            .amount = number_between(random, 1, 10'000),
                            .date = kNow,
                            .history = {1, random()}};
      case 2: return OrderStatusInput{any_customer(random)};
      case 3:
        return DeliveryInput{.warehouse = number_between(random, 1, 2), .carrier = 3, .date = kNow};
      default: return StockLevelInput{.district = any<DistrictKey>(random), .threshold = 15};
    }
  }

  test::ModelDatabase model_ = test::small_database();
  test::ModelSession model_session_{model_};
  std::shared_ptr<oltp::test::MemoryDisk> disk_ = std::make_shared<oltp::test::MemoryDisk>();
  oltp::test::MemoryStore store_;
  TableSession<MemorySession> session_{store_.open_session(SessionUse::read_write)};
};

TEST_F(TpccTableSession, HoldsWhatWasInserted) {
  EXPECT_TRUE(stored() == model_);
}

TEST_F(TpccTableSession, FindsWhatTheModelFinds) {
  session_.begin(Intent::read_only);
  model_session_.begin(Intent::read_only);
  for (const auto& [customer, row] : model_.rows<CustomerKey>()) {
    const DistrictKey district{customer.warehouse, customer.district};
    std::vector<CustomerNameKey> found;
    std::vector<CustomerNameKey> expected;
    const auto into = [](auto& names) {
      return [&names](const CustomerNameKey& name) { names.push_back(name); };
    };
    ASSERT_EQ(session_.visit_customers(district, row.last, into(found)), Access::done);
    ASSERT_EQ(model_session_.visit_customers(district, row.last, into(expected)), Access::done);
    ASSERT_TRUE(found == expected && !found.empty());
    OrderKey order;
    OrderKey expected_order;
    ASSERT_EQ(session_.latest_order(customer, order), Access::done);
    ASSERT_EQ(model_session_.latest_order(customer, expected_order), Access::done);
    ASSERT_TRUE(order == expected_order);
  }
  for (const auto& [district, row] : model_.rows<DistrictKey>()) {
    NewOrderKey oldest;
    ASSERT_EQ(session_.oldest_new_order(district, oldest), Access::done);
    EXPECT_EQ(oldest.order, test::kNewFirst);
    std::size_t lines = 0;
    ASSERT_EQ(session_.visit_order_lines(district, test::kNewFirst, kInitialOrders,
                                         [&](const OrderLineKey& key, const OrderLineRow& line) {
                                           EXPECT_TRUE(model_.at(key) == line);
                                           ++lines;
                                         }),
              Access::done);
    EXPECT_GE(lines, 3U * kOrderLinesMin);
  }
  session_.rollback();
}

TEST_F(TpccTableSession, MissesWhatIsNotThere) {
  session_.begin(Intent::read_only);
  const auto use = [](const auto&) { ADD_FAILURE() << "there is no such row"; };
  EXPECT_EQ(session_.read(ItemKey{kUnusedItem}, use), Access::missing);
  OrderKey order;
  EXPECT_EQ(session_.latest_order({1, 1, 0}, order), Access::missing);
  NewOrderKey oldest;
  EXPECT_EQ(session_.oldest_new_order({3, 1}, oldest), Access::missing);
  EXPECT_EQ(session_.visit_customers({1, 1}, FixedText<16>("NOBODY"),
                                     [](const CustomerNameKey&) { ADD_FAILURE(); }),
            Access::done);
  session_.rollback();
}

TEST_F(TpccTableSession, TransactionsChangeWhatTheyChangeInTheModel) {
  Random random(palimpsest::test::seed());
  Output output;
  Output model_output;
  int committed = 0;
  for (int i = 0; i < 400; ++i) {
    const Input input = any_input(random);
    disk_->conflict_every = random.below(3) == 0 ? 25 : 0;
    Outcome outcome = run(session_, input, output);
    while (outcome == Outcome::conflict) {
      disk_->conflict_every = 0;
      outcome = run(session_, input, output);
    }
    ASSERT_EQ(outcome, run(model_session_, input, model_output)) << input.index();
    committed += outcome == Outcome::committed ? 1 : 0;
    if (outcome == Outcome::committed && type_of(input) == TransactionType::stock_level) {
      ASSERT_EQ(output.stock_level.low_stock, model_output.stock_level.low_stock);
    }
  }
  disk_->conflict_every = 0;
  EXPECT_GT(committed, 200);
  EXPECT_TRUE(stored() == model_);
}

TEST_F(TpccTableSession, BytesThatAreNoRowAreReported) {
  auto& district = disk_->tables.at(index_of(oltp::kTableOf<DistrictKey>));
  district.begin()->second.pop_back();
  session_.begin(Intent::read_write);
  EXPECT_THROW((void)session_.read(DistrictKey{1, 1}, [](const DistrictRow&) {}), DamagedRecord);
  EXPECT_THROW((void)session_.update(DistrictKey{1, 1}, [](DistrictRow&) {}), DamagedRecord);
  session_.rollback();
  EXPECT_THROW((void)stored(), DamagedRecord);
}

}  // namespace
}  // namespace palimpsest::experiments::tpcc
