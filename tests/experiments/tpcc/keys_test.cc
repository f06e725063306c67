// Keys and texts of TPC-C's tables: order, descriptions, capacity.
#include "experiments/tpcc/keys.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace palimpsest::experiments::tpcc {
namespace {

TEST(FixedText, HoldsUpToItsCapacity) {
  FixedText<16> text;
  EXPECT_EQ(text.view(), "");
  text.assign("0123456789abcdef");
  EXPECT_EQ(text.view(), "0123456789abcdef");
  text.assign("short");
  EXPECT_EQ(text.view(), "short");
  EXPECT_EQ(text.size(), 5U);
  const std::string long_text(500, 'x');
  EXPECT_EQ(FixedText<500>(long_text).view(), long_text);
  EXPECT_DEATH(text.assign("0123456789abcdefg"), "longer than its column");
}

TEST(FixedText, LeavesNothingOfWhatItHeld) {
  FixedText<16> text("0123456789abcdef");
  text.assign("short");
  const FixedText<16> fresh("short");
  EXPECT_EQ(std::memcmp(&text, &fresh, sizeof text), 0);
}

TEST(FixedText, IsOrderedAsItsBytes) {
  const std::vector<std::string> ordered = {"", "A", "AB", "B", "BA", "a", "\xc3"};
  for (std::size_t i = 0; i + 1 < ordered.size(); ++i) {
    EXPECT_LT(FixedText<4>(ordered[i]), FixedText<4>(ordered[i + 1]));
  }
}

TEST(Keys, AreOrderedByTheirColumnsInTurn) {
  EXPECT_LT((OrderLineKey{1, 2, 3, 15}), (OrderLineKey{1, 2, 4, 1}));
  EXPECT_LT((OrderLineKey{1, 2, 300, 1}), (OrderLineKey{1, 3, 4, 1}));
  EXPECT_LT((OrderLineKey{1, 10, 3, 1}), (OrderLineKey{2, 1, 1, 1}));
  EXPECT_LT((HistoryKey{0, 100}), (HistoryKey{1, 0}));
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
