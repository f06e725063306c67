// Keys of TPC-C's tables: order, as values and as bytes, and descriptions.
#include "experiments/tpcc/keys.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace palimpsest::experiments::tpcc {
namespace {

TEST(Keys, AreOrderedByTheirColumnsInTurn) {
  EXPECT_LT((OrderLineKey{1, 2, 3, 15}), (OrderLineKey{1, 2, 4, 1}));
  EXPECT_LT((OrderLineKey{1, 2, 300, 1}), (OrderLineKey{1, 3, 4, 1}));
  EXPECT_LT((OrderLineKey{1, 10, 3, 1}), (OrderLineKey{2, 1, 1, 1}));
  EXPECT_LT((HistoryKey{0, 100}), (HistoryKey{1, 0}));
  EXPECT_LT((DistrictKey{1, 9}), (DistrictKey{2, 1}));
  EXPECT_LT((CustomerKey{1, 9, 9}), (CustomerKey{2, 1, 1}));
  EXPECT_LT((CustomerKey{1, 1, 9}), (CustomerKey{1, 2, 1}));
  EXPECT_LT((NewOrderKey{1, 1, 9}), (NewOrderKey{1, 2, 1}));
  EXPECT_LT((OrderKey{1, 1, 9}), (OrderKey{1, 2, 1}));
  EXPECT_LT((StockKey{1, 9}), (StockKey{2, 1}));
  EXPECT_LT((OrderCustomerKey{1, 1, 1, 9}), (OrderCustomerKey{1, 1, 2, 1}));
  const FixedText<16> bar("BAR");
  const FixedText<16> ese("ESE");
  EXPECT_LT((CustomerNameKey{1, 1, bar, ese, 9}), (CustomerNameKey{1, 1, ese, bar, 1}));
  EXPECT_LT((CustomerNameKey{1, 1, bar, bar, 9}), (CustomerNameKey{1, 1, bar, ese, 1}));
  EXPECT_LT((CustomerNameKey{1, 1, bar, bar, 1}), (CustomerNameKey{1, 1, bar, bar, 2}));
}

TEST(Keys, AreDescribedByTableAndColumns) {
  EXPECT_EQ(describe(ItemKey{7}), "item (7)");
  EXPECT_EQ(describe(OrderLineKey{1, 2, 3, 4}), "order_line (1, 2, 3, 4)");
  EXPECT_EQ(describe(CustomerNameKey{1, 2, FixedText<16>("BAR"), FixedText<16>("x"), 5}),
            "customer_name (1, 2, BAR, x, 5)");
}

}  // namespace
}  // namespace palimpsest::experiments::tpcc
