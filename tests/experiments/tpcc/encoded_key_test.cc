// Keys as bytes: encoding and decoding, in the order of the keys, and what is refused.
#include "experiments/tables/encoded_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/tpcc/keys.h"
#include "experiments/tpcc/random.h"
#include "tests/support/seed.h"

namespace palimpsest::experiments::tpcc {
namespace {

static_assert(kKeyBytesOf<OrderLineKey> == 16);
static_assert(kKeyBytesOf<HistoryKey> == 16);
static_assert(kKeyBytesOf<CustomerNameKey> == 44);

/// Keys in order have bytes in order, and each decodes to itself.
template <class Key>
void expect_same_order(std::vector<Key> keys) {
  std::sort(keys.begin(), keys.end());
  std::string before;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const EncodedKey encoded(keys[i]);
    const auto decoded = decode_key<Key>(encoded.view());
    ASSERT_TRUE(decoded.has_value());
    EXPECT_EQ(*decoded, keys[i]) << describe(keys[i]);
    const std::string bytes(encoded.view().data(), encoded.view().size());
    if (i != 0) {
      EXPECT_EQ(before < bytes, keys[i - 1] < keys[i]) << describe(keys[i]);
    }
    before = bytes;
  }
}

TEST(EncodedKey, KeepsTheOrderOfNumbers) {
  Random random(palimpsest::test::seed());
  const std::vector<Number> numbers = {0,
                                       1,
                                       2,
                                       255,
                                       256,
                                       65'535,
                                       65'536,
                                       std::numeric_limits<Number>::max(),
                                       -1,
                                       -20,
                                       std::numeric_limits<Number>::min()};
  const auto any = [&] { return numbers[random.below(numbers.size())]; };
  std::vector<OrderLineKey> keys;
  std::vector<HistoryKey> history;
  for (int i = 0; i < 1'000; ++i) {
    keys.push_back({any(), any(), any(), any()});
    history.push_back({random() >> random.below(64), random() >> random.below(64)});
  }
  expect_same_order(keys);
  expect_same_order(history);
}

/// Consecutive numbers, so that keys share columns; similar texts.
template <class Key>
Key any_key(Random& random) {
  Key key;
  const auto fill = [&]<class Column>(Column& column) {
    if constexpr (std::is_integral_v<Column>) {
      column = static_cast<Column>(random.below(4));
    } else {
      column = last_name(number_between(random, 0, 3));
    }
  };
  std::apply([&](auto&... columns) { (fill(columns), ...); }, Key::columns(key));
  return key;
}

template <class Key>
void expect_bytes_in_order_of_keys(Random& random) {
  SCOPED_TRACE(name_of(Key::kTable));
  std::vector<Key> keys;
  keys.reserve(300);
  for (int i = 0; i < 300; ++i) {
    keys.push_back(any_key<Key>(random));
  }
  expect_same_order(keys);
}

TEST(EncodedKey, KeepsTheOrderOfEveryTable) {
  Random random(palimpsest::test::seed());
  expect_bytes_in_order_of_keys<ItemKey>(random);
  expect_bytes_in_order_of_keys<WarehouseKey>(random);
  expect_bytes_in_order_of_keys<DistrictKey>(random);
  expect_bytes_in_order_of_keys<CustomerKey>(random);
  expect_bytes_in_order_of_keys<HistoryKey>(random);
  expect_bytes_in_order_of_keys<NewOrderKey>(random);
  expect_bytes_in_order_of_keys<OrderKey>(random);
  expect_bytes_in_order_of_keys<OrderLineKey>(random);
  expect_bytes_in_order_of_keys<StockKey>(random);
  expect_bytes_in_order_of_keys<CustomerNameKey>(random);
  expect_bytes_in_order_of_keys<OrderCustomerKey>(random);
}

TEST(EncodedKey, KeepsTheOrderOfNames) {
  Random random(palimpsest::test::seed());
  std::vector<CustomerNameKey> keys;
  keys.reserve(1'001);
  for (int i = 0; i < 1'000; ++i) {
    keys.push_back({1, 1, last_name(number_between(random, 0, 20)), random_text<16>(random, 0, 16),
                    number_between(random, 1, 3)});
  }
  keys.push_back({1, 1, FixedText<16>("BARBARBAR"), FixedText<16>("\xc3\xa4"), 1});
  expect_same_order(keys);
}

TEST(EncodedKey, RefusesOtherSizes) {
  const EncodedKey encoded(OrderKey{1, 2, 3});
  EXPECT_EQ(encoded.view().size(), 12U);
  EXPECT_FALSE(decode_key<OrderKey>(encoded.view().substr(0, 11)).has_value());
  EXPECT_FALSE(decode_key<OrderLineKey>(encoded.view()).has_value());
  EXPECT_FALSE(decode_key<DistrictKey>(encoded.view()).has_value());
}

}  // namespace
}  // namespace palimpsest::experiments::tpcc
