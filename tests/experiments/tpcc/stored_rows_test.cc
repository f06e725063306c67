// TPC-C's rows in their stored form: every row of a warehouse decodes to itself, and the sizes in
// experiments/tpcc/README.md are those of the population.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "experiments/tables/encoded_key.h"
#include "experiments/tables/encoded_row.h"
#include "experiments/tpcc/population.h"
#include "experiments/tpcc/transactions.h"

namespace palimpsest::experiments::tpcc {
namespace {

constexpr Date kLoaded = 1'700'000'000'000'000;

/// Encodes its input, and adds up the sizes of keys and rows.
class StoringSink {
 public:
  struct Sum {
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;
    [[nodiscard]] double average() const {
      return static_cast<double>(bytes) / static_cast<double>(rows);
    }
  };

  template <class Key>
  void add(const Key& key, const RowOf<Key>& row) {
    const EncodedRow encoded(row);
    RowOf<Key> back;
    ASSERT_TRUE(decode_row(encoded.view(), back)) << describe(key);
    ASSERT_TRUE(back == row) << describe(key);
    count(key, encoded.view().size());
  }
  template <class Key>
  void add(const Key& key) {
    count(key, 0);
  }

  [[nodiscard]] double average(Table table) { return sums_[table].average(); }

 private:
  template <class Key>
  void count(const Key& key, std::size_t row_bytes) {
    Sum& sum = sums_[Key::kTable];
    ++sum.rows;
    sum.bytes += EncodedKey(key).view().size() + row_bytes;
  }

  std::map<Table, Sum> sums_;
};

template <class Key>
constexpr std::size_t kStoredMax = kKeyBytesOf<Key> + kRowBytesMax<RowOf<Key>>;

TEST(StoredRows, HaveTheSizesOfTheReadme) {
  EXPECT_EQ(kStoredMax<WarehouseKey>, 101U);
  EXPECT_EQ(kStoredMax<DistrictKey>, 109U);
  EXPECT_EQ(kStoredMax<CustomerKey>, 686U);
  EXPECT_EQ(kStoredMax<HistoryKey>, 77U);
  EXPECT_EQ(kStoredMax<NewOrderKey>, 12U);
  EXPECT_EQ(kStoredMax<OrderKey>, 36U);
  EXPECT_EQ(kStoredMax<OrderLineKey>, 68U);
  EXPECT_EQ(kStoredMax<ItemKey>, 92U);
  EXPECT_EQ(kStoredMax<StockKey>, 315U);
}

TEST(StoredRows, ComeBackAndTakeWhatTheirTextsNeed) {
  StoringSink sink;
  const Population population(19, kLoaded);
  population.items(sink);
  population.warehouse(3, sink);
  EXPECT_NEAR(sink.average(Table::customer), 560, 10);
  EXPECT_NEAR(sink.average(Table::history), 71, 1);
  EXPECT_NEAR(sink.average(Table::new_order), 12, 0);
  EXPECT_NEAR(sink.average(Table::order), 36, 0);
  EXPECT_NEAR(sink.average(Table::order_line), 68, 0);
  EXPECT_NEAR(sink.average(Table::item), 75, 1);
  EXPECT_NEAR(sink.average(Table::stock), 303, 1);
  EXPECT_NEAR(sink.average(Table::customer_name), 44, 0);
  EXPECT_NEAR(sink.average(Table::order_customer), 16, 0);
}

PaymentInput five_units() {
  PaymentInput input;
  input.district = {1, 2};
  input.amount = 5'00;
  input.date = 1;
  return input;
}

TEST(StoredRows, CountersStandBeforeTexts) {
  const Population population(19, kLoaded);
  const CustomerKey key{1, 2, 3};
  CustomerRow row = population.row(key);
  row.credit.assign("GC");
  const EncodedRow before(row);
  apply_payment(row, key, five_units());
  const EncodedRow after(row);
  // Balance, sum and number of the payments: 20 bytes at the beginning, and nothing behind them.
  EXPECT_EQ(before.view().substr(20), after.view().substr(20));
  EXPECT_NE(before.view().substr(0, 20), after.view().substr(0, 20));
}

TEST(StoredRows, OfBadCreditBecomeLongerByPayments) {
  const Population population(19, kLoaded);
  const CustomerKey key{1, 2, 3};
  CustomerRow row = population.row(key);
  row.credit.assign("BC");
  const std::size_t loaded = EncodedRow(row).view().size();
  for (int i = 0; i < 30; ++i) {
    apply_payment(row, key, five_units());
  }
  EXPECT_GT(EncodedRow(row).view().size(), loaded);
  EXPECT_EQ(row.data.size(), 500U);
}

}  // namespace
}  // namespace palimpsest::experiments::tpcc
