// TPC-C's random values: their distributions, the rules for their constants, texts.
#include "experiments/tpcc/random.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "tests/experiments/chi_square.h"

namespace palimpsest::experiments::tpcc {
namespace {

TEST(LastName, IsMadeOfASyllableForEachDigit) {
  EXPECT_EQ(last_name(0).view(), "BARBARBAR");
  EXPECT_EQ(last_name(371).view(), "PRICALLYOUGHT");
  EXPECT_EQ(last_name(40).view(), "BARPRESBAR");
  EXPECT_EQ(last_name(999).view(), "EINGEINGEING");
  std::set<std::string> names;
  for (Number number = 0; number < kLastNames; ++number) {
    names.emplace(last_name(number).view());
  }
  EXPECT_EQ(names.size(), 1000U);
}

TEST(NonUniform, ConstantsOfARunFollowThoseOfTheLoad) {
  std::set<Number> customers;
  std::set<Number> items;
  std::set<Number> deltas;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const NonUniformConstants load = constants_of_load(seed);
    for (const NonUniformConstants& constants : {load, constants_of_run(seed + 7, load)}) {
      EXPECT_TRUE(constants.last_name >= 0 && constants.last_name <= 255);
      EXPECT_TRUE(constants.customer >= 0 && constants.customer <= 1023);
      EXPECT_TRUE(constants.item >= 0 && constants.item <= 8191);
      customers.insert(constants.customer);
      items.insert(constants.item);
    }
    const Number delta = std::abs(constants_of_run(seed, load).last_name - load.last_name);
    EXPECT_TRUE(65 <= delta && delta <= 119 && delta != 96 && delta != 112) << "delta " << delta;
    deltas.insert(delta);
  }
  EXPECT_EQ(deltas.size(), 53U);  // all that are allowed
  EXPECT_GT(customers.size(), 900U);
  EXPECT_GT(items.size(), 2500U);
}

TEST(NonUniform, HasTheDistributionOfItsFormula) {
  const NonUniformConstants constants{.last_name = 123, .customer = 259, .item = 7911};
  Random random(1);
  test::Counts names(1000);
  test::Counts customers(3000);
  for (int i = 0; i < 1'000'000; ++i) {
    names.add(random_last_name(random, constants));
    customers.add(random_customer(random, constants) - 1);
  }
  names.expect(test::non_uniform_probabilities(255, 0, 999, 123));
  // The formula takes the remainder of the value itself: 1 + (value + C) modulo 3000.
  customers.expect(test::non_uniform_probabilities(1023, 1, 3000, 259));
}

// Enumerating items would take long: in blocks of 8192 bits or-ed, the all-ones value of the 13 low
// bits is the most probable; with its constant it is at a known position.
TEST(NonUniform, ItemsOfManyOnesArePopular) {
  const NonUniformConstants constants{.last_name = 0, .customer = 0, .item = 42};
  Random random(2);
  int popular = 0;
  constexpr int kDraws = 500'000;
  for (int i = 0; i < kDraws; ++i) {
    const Number item = random_item(random, constants);
    ASSERT_TRUE(1 <= item && item <= kItems);
    popular += (item - 1 + kItems - 42) % kItems % 8192 == 8191 ? 1 : 0;
  }
  const double probability = std::pow(0.75, 13);  // each of 13 bits is set in three of four draws
  EXPECT_NEAR(popular / double{kDraws}, probability, 0.003);
}

TEST(RandomText, DigitsAndZipCodes) {
  Random random(4);
  test::Counts digits(10);
  test::Counts zips(10'000);
  for (int i = 0; i < 100'000; ++i) {
    const auto phone = random_digits<16>(random);
    ASSERT_EQ(phone.size(), 16U);
    for (const char digit : phone.view()) {
      digits.add(digit - '0');
    }
    const std::string zip(random_zip(random).view());
    ASSERT_EQ(zip.size(), 9U);
    EXPECT_EQ(zip.substr(4), "11111");
    zips.add(std::stoi(zip.substr(0, 4)));
  }
  digits.expect_uniform();
  zips.expect_uniform();
}

TEST(RandomText, DataHoldsOriginalAnywhere) {
  Random random(5);
  std::set<std::size_t> places;
  std::set<std::size_t> from_end;
  for (int i = 0; i < 20'000; ++i) {
    const auto plain = random_data(random, false);
    const auto original = random_data(random, true);
    EXPECT_EQ(plain.view().find("ORIGINAL"), std::string_view::npos);
    for (const std::size_t size : {plain.size(), original.size()}) {
      EXPECT_TRUE(26 <= size && size <= 50) << size;
    }
    const std::size_t place = original.view().find("ORIGINAL");
    ASSERT_NE(place, std::string_view::npos) << original.view();
    places.insert(place);
    from_end.insert(original.size() - 8 - place);
  }
  EXPECT_EQ(places.size(), 43U);  // 0 to 42
  EXPECT_EQ(from_end.size(), 43U);
}

TEST(RandomValues, FollowFromTheSeed) {
  Random first(6);
  Random second(6);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(random_data(first, true), random_data(second, true));
    EXPECT_EQ((random_text<500>(first, 300, 500)), (random_text<500>(second, 300, 500)));
  }
}

}  // namespace
}  // namespace palimpsest::experiments::tpcc
