// Inputs of TATP's transactions and their mix: shares and distributions of the specification.
#include "experiments/tatp/input.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/experiments/chi_square.h"

namespace palimpsest::experiments::tatp {
namespace {

using experiments::test::Counts;

constexpr Number kSubscribers = 500;

TEST(TatpRandom, NumbersHaveZerosInFront) {
  EXPECT_EQ(number_of(1).view(), "000000000000001");
  EXPECT_EQ(number_of(1'234'567'890).view(), "000001234567890");
}

TEST(TatpRandom, ConstantFollowsThePopulation) {
  EXPECT_EQ(non_uniform_constant(100'000), 65'535);
  EXPECT_EQ(non_uniform_constant(1'000'000), 65'535);
  EXPECT_EQ(non_uniform_constant(1'000'001), 1'048'575);
  EXPECT_EQ(non_uniform_constant(10'000'000), 1'048'575);
  EXPECT_EQ(non_uniform_constant(10'000'001), 2'097'151);
}

TEST(TatpRandom, SubscribersHaveTheirDistributions) {
  Random random(1);
  Counts uniform(kSubscribers);
  Counts non_uniform(kSubscribers);
  for (int i = 0; i < 500'000; ++i) {
    uniform.add(random_subscriber(random, Choice::uniform, kSubscribers) - 1);
    non_uniform.add(random_subscriber(random, Choice::non_uniform, kSubscribers) - 1);
  }
  uniform.expect_uniform();
  non_uniform.expect(experiments::test::non_uniform_probabilities(65'535, 1, kSubscribers, 0));
}

// The constant for a large population: each of the 20 low bits of a value is set with probability
// 3/4, if the values are only or-ed before the remainder is taken.
TEST(TatpRandom, NonUniformSubscribersOfLargePopulations) {
  Random random(2);
  constexpr Number kMany = 8'388'607;  // all ones: the remainder changes one value only
  std::array<int, 23> ones{};
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const Number value = random_subscriber(random, Choice::non_uniform, kMany) - 1;
    for (std::size_t bit = 0; bit < ones.size(); ++bit) {
      ones[bit] += (value >> bit & 1) != 0 ? 1 : 0;
    }
  }
  for (std::size_t bit = 0; bit < ones.size(); ++bit) {
    EXPECT_NEAR(ones[bit] / double{kDraws}, bit < 20 ? 0.75 : 0.5, 0.006) << bit;
  }
}

TEST(TatpInput, MixIsEightyToTwenty) {
  InputSource source(3, kSubscribers, Choice::uniform);
  Counts types(kTransactionTypes);
  for (int i = 0; i < 200'000; ++i) {
    types.add(static_cast<std::int64_t>(type_of(source.next())));
  }
  types.expect({0.35, 0.10, 0.35, 0.02, 0.14, 0.02, 0.02});
}

TEST(TatpInput, Reads) {
  InputSource source(4, kSubscribers, Choice::uniform);
  Counts of_data(kSubscribers);
  Counts of_destination(kSubscribers);
  Counts of_access(kSubscribers);
  Counts destinations(288);  // types, start times, end times
  Counts types(4);
  for (int i = 0; i < 100'000; ++i) {
    of_data.add(source.get_subscriber_data().subscriber.subscriber - 1);
    const GetNewDestinationInput destination = source.get_new_destination();
    of_destination.add(destination.facility.subscriber - 1);
    ASSERT_EQ(destination.start_time % 8, 0);
    destinations.add(((destination.facility.type - 1) * 3 + destination.start_time / 8) * 24 +
                     destination.end_time - 1);
    const AccessInfoKey info = source.get_access_data().access_info;
    of_access.add(info.subscriber - 1);
    types.add(info.type - 1);
  }
  of_data.expect_uniform();
  of_destination.expect_uniform();
  of_access.expect_uniform();
  destinations.expect_uniform();
  types.expect_uniform();
}

TEST(TatpInput, Updates) {
  InputSource source(5, kSubscribers, Choice::uniform);
  Counts of_data(kSubscribers);
  Counts of_location(kSubscribers);
  Counts types_and_bits(8);
  Counts data(256);
  Counts locations(32);
  for (int i = 0; i < 100'000; ++i) {
    const UpdateSubscriberDataInput update = source.update_subscriber_data();
    of_data.add(update.facility.subscriber - 1);
    types_and_bits.add((update.facility.type - 1) * 2 + update.bit_1);
    data.add(update.data_a);
    const UpdateLocationInput location = source.update_location();
    ASSERT_EQ(location.subscriber.size(), 15U);
    of_location.add(std::stoi(std::string(location.subscriber.view())) - 1);
    locations.add(location.vlr_location >> 27U);
  }
  of_data.expect_uniform();
  of_location.expect_uniform();
  types_and_bits.expect_uniform();
  data.expect_uniform();
  locations.expect_uniform();
}

TEST(TatpInput, InsertsAndDeletes) {
  InputSource source(6, kSubscribers, Choice::uniform);
  Counts inserted_of(kSubscribers);
  Counts deleted_of(kSubscribers);
  Counts inserted(288);
  Counts deleted(12);
  Counts digits(10);
  for (int i = 0; i < 100'000; ++i) {
    const InsertCallForwardingInput insert = source.insert_call_forwarding();
    inserted_of.add(std::stoi(std::string(insert.subscriber.view())) - 1);
    inserted.add(((insert.facility - 1) * 3 + insert.start_time / 8) * 24 + insert.row.end_time -
                 1);
    ASSERT_EQ(insert.row.number.size(), 15U);
    for (const char digit : insert.row.number.view()) {
      digits.add(digit - '0');
    }
    const DeleteCallForwardingInput erase = source.delete_call_forwarding();
    deleted_of.add(std::stoi(std::string(erase.subscriber.view())) - 1);
    ASSERT_EQ(insert.start_time % 8 + erase.start_time % 8, 0);
    deleted.add((erase.facility - 1) * 3 + erase.start_time / 8);
  }
  inserted_of.expect_uniform();
  deleted_of.expect_uniform();
  inserted.expect_uniform();
  deleted.expect_uniform();
  digits.expect_uniform();
}

TEST(TatpInput, SubscribersAreChosenAsWanted) {
  InputSource source(7, kSubscribers, Choice::non_uniform);
  Counts subscribers(kSubscribers);
  for (int i = 0; i < 200'000; ++i) {
    subscribers.add(source.get_subscriber_data().subscriber.subscriber - 1);
  }
  subscribers.expect(experiments::test::non_uniform_probabilities(65'535, 1, kSubscribers, 0));
}

TEST(TatpInput, FollowsFromItsSeed) {
  InputSource first(8, 1'000'000, Choice::uniform);
  InputSource same(8, 1'000'000, Choice::uniform);
  InputSource other(9, 1'000'000, Choice::uniform);
  int differences = 0;
  for (int i = 0; i < 1'000; ++i) {
    const SubscriberKey subscriber = first.get_subscriber_data().subscriber;
    EXPECT_EQ(subscriber, same.get_subscriber_data().subscriber);
    differences += subscriber != other.get_subscriber_data().subscriber ? 1 : 0;
  }
  EXPECT_GT(differences, 990);
}

}  // namespace
}  // namespace palimpsest::experiments::tatp
