// The initial population of TATP against the specification: shares, ranges, order, determinism, and
// its stored form.
#include "experiments/tatp/population.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "experiments/tables/encoded_key.h"
#include "experiments/tables/encoded_row.h"
#include "tests/experiments/chi_square.h"
#include "tests/experiments/tatp/model_session.h"

namespace palimpsest::experiments::tatp {
namespace {

using experiments::test::Counts;

constexpr Number kSubscribers = 20'000;

// The sizes of keys and rows in the README.
static_assert(kKeyBytesOf<SubscriberKey> + kRowBytesMax<SubscriberRow> == 57);
static_assert(kKeyBytesOf<AccessInfoKey> + kRowBytesMax<AccessInfoRow> == 15);
static_assert(kKeyBytesOf<SpecialFacilityKey> + kRowBytesMax<SpecialFacilityRow> == 13);
static_assert(kKeyBytesOf<CallForwardingKey> + kRowBytesMax<CallForwardingRow> == 22);
static_assert(kKeyBytesOf<SubscriberNumberKey> == 19);

/// Checks that rows come in key order and decode to themselves, and keys too, in order.
class OrderedSink {
 public:
  template <class Key>
  void add(const Key& key, const RowOf<Key>& row) {
    RowOf<Key> back;
    ASSERT_TRUE(decode_row(EncodedRow(row).view(), back));
    ASSERT_EQ(back, row);
    add(key);
  }
  template <class Key>
  void add(const Key& key) {
    auto& last = std::get<std::optional<Key>>(last_);
    if (last) {
      ASSERT_LT(*last, key);
      ASSERT_LT(EncodedKey(*last).view(), EncodedKey(key).view());
    }
    ASSERT_EQ(decode_key<Key>(EncodedKey(key).view()), key);
    last = key;
    ++counts[Key::kTable];
  }

  std::map<Table, int> counts;

 private:
  std::tuple<std::optional<SubscriberKey>, std::optional<AccessInfoKey>,
             std::optional<SpecialFacilityKey>, std::optional<CallForwardingKey>,
             std::optional<SubscriberNumberKey>>
      last_;
};

TEST(TatpPopulation, HasAllRowsInKeyOrder) {
  OrderedSink sink;
  Population(1).load(1, kSubscribers / 2, sink);
  Population(1).load(kSubscribers / 2 + 1, kSubscribers, sink);
  EXPECT_EQ(sink.counts[Table::subscriber], kSubscribers);
  EXPECT_EQ(sink.counts[Table::subscriber_number], kSubscribers);
  // 2.5 on average, of variance 1.25; 1.5 of each facility.
  EXPECT_NEAR(sink.counts[Table::access_info], 50'000, 800);
  EXPECT_NEAR(sink.counts[Table::special_facility], 50'000, 800);
  EXPECT_NEAR(sink.counts[Table::call_forwarding], 75'000, 2'000);
}

/// The types of a subscriber, as bits.
template <class Key>
unsigned types_of(const Population& population, Number subscriber) {
  unsigned types = 0;
  for (SmallNumber type = 1; type <= 4; ++type) {
    types |= population.has(Key{subscriber, type}) ? 1U << (type - 1U) : 0U;
  }
  return types;
}

/// Of `size` elements, all sizes of subsets from `count_min` on are equally probable, and so are
/// all subsets of one size.
std::vector<double> subset_probabilities(int size, int count_min) {
  std::vector<double> of_count(static_cast<std::size_t>(size) + 1);
  const auto subsets = 1U << static_cast<unsigned>(size);
  for (unsigned subset = 0; subset < subsets; ++subset) {
    ++of_count[static_cast<std::size_t>(std::popcount(subset))];
  }
  std::vector<double> probabilities(subsets);
  for (unsigned subset = 0; subset < subsets; ++subset) {
    const int count = std::popcount(subset);
    probabilities[subset] =
        count < count_min ? 0
                          : 1 / of_count[static_cast<std::size_t>(count)] / (size - count_min + 1);
  }
  return probabilities;
}

TEST(TatpPopulation, EveryChoiceOfTypesAndStartTimesHasItsShare) {
  const Population population(2);
  Counts access_infos(16);
  Counts facilities(16);
  Counts together(256);
  Counts start_times(8);
  for (Number subscriber = 1; subscriber <= kSubscribers; ++subscriber) {
    const unsigned of_infos = types_of<AccessInfoKey>(population, subscriber);
    const unsigned of_facilities = types_of<SpecialFacilityKey>(population, subscriber);
    access_infos.add(of_infos);
    facilities.add(of_facilities);
    together.add(of_infos * 16 + of_facilities);
    for (SmallNumber type = 1; type <= 4; ++type) {
      unsigned times = 0;
      for (const SmallNumber time : std::initializer_list<SmallNumber>{0, 8, 16}) {
        times |= population.has(CallForwardingKey{subscriber, type, time}) ? 1U << (time / 8U) : 0U;
      }
      if (population.has(SpecialFacilityKey{subscriber, type})) {
        start_times.add(times);
      } else {
        ASSERT_EQ(times, 0U);
      }
    }
  }
  const std::vector<double> types = subset_probabilities(4, 1);
  access_infos.expect(types);
  facilities.expect(types);
  start_times.expect(subset_probabilities(3, 0));
  std::vector<double> independent;
  for (const double left : types) {
    for (const double right : types) {
      independent.push_back(left * right);
    }
  }
  together.expect(independent);
}

TEST(TatpPopulation, StartTimesAreWholeAndOfEachFacilityItsOwn) {
  const Population population(2);
  Counts pairs(4);
  for (Number subscriber = 1; subscriber <= kSubscribers; ++subscriber) {
    for (SmallNumber time = 1; time < 8; ++time) {
      ASSERT_FALSE(population.has(CallForwardingKey{subscriber, 1, time}));
    }
    if (types_of<SpecialFacilityKey>(population, subscriber) == 15U) {
      const bool first = population.has(CallForwardingKey{subscriber, 1, 8});
      const bool second = population.has(CallForwardingKey{subscriber, 2, 8});
      pairs.add((first ? 2 : 0) + (second ? 1 : 0));
    }
  }
  pairs.expect_uniform();
}

TEST(TatpPopulation, Subscribers) {
  const Population population(3);
  Counts bits(20);
  Counts hexes(160);
  Counts bytes(2'560);
  Counts locations(64);
  for (Number subscriber = 1; subscriber <= kSubscribers; ++subscriber) {
    const SubscriberRow row = population.row(SubscriberKey{subscriber});
    ASSERT_EQ(row.number, number_of(subscriber));
    for (int i = 0; i < 10; ++i) {
      const auto at = static_cast<std::size_t>(i);
      bits.add(i * 2 + row.bits[at]);
      hexes.add(i * 16 + row.hexes[at]);
      bytes.add(i * 256 + row.bytes[at]);
    }
    locations.add(row.msc_location >> 27U);
    locations.add(32 + (row.vlr_location >> 27U));
  }
  bits.expect_uniform();
  hexes.expect_uniform();
  bytes.expect_uniform();
  locations.expect_uniform();
}

/// Letters by position, of texts of maximum length.
template <std::size_t kLetters>
class Letters {
 public:
  void add(const FixedText<kLetters>& text) {
    ASSERT_EQ(text.size(), kLetters);
    for (std::size_t i = 0; i < kLetters; ++i) {
      counts_.add(static_cast<std::int64_t>(i) * 26 + text.view()[i] - 'A');
    }
  }
  void expect_uniform() const { counts_.expect_uniform(); }

 private:
  Counts counts_{26 * kLetters};
};

TEST(TatpPopulation, AccessInfosAndFacilities) {
  const Population population(4);
  Counts bytes(1'024);
  Counts active(2);
  Letters<3> data_3;
  Letters<5> data_4;
  Letters<5> data_b;
  for (Number subscriber = 1; subscriber <= kSubscribers; ++subscriber) {
    const AccessInfoRow info = population.row(AccessInfoKey{subscriber, 2});
    bytes.add(info.data_1);
    bytes.add(256 + info.data_2);
    data_3.add(info.data_3);
    data_4.add(info.data_4);
    const SpecialFacilityRow facility = population.row(SpecialFacilityKey{subscriber, 2});
    active.add(facility.is_active);
    bytes.add(512 + facility.error_control);
    bytes.add(768 + facility.data_a);
    data_b.add(facility.data_b);
  }
  bytes.expect_uniform();
  active.expect({0.15, 0.85});
  data_3.expect_uniform();
  data_4.expect_uniform();
  data_b.expect_uniform();
}

TEST(TatpPopulation, CallForwardings) {
  const Population population(5);
  Counts hours(24);
  Counts digits(150);
  for (Number subscriber = 1; subscriber <= kSubscribers; ++subscriber) {
    for (const SmallNumber start : std::initializer_list<SmallNumber>{0, 8, 16}) {
      const CallForwardingRow row = population.row(CallForwardingKey{subscriber, 1, start});
      ASSERT_TRUE(start < row.end_time && row.end_time <= start + 8);
      hours.add(row.end_time - 1);
      ASSERT_EQ(row.number.size(), 15U);
      for (int i = 0; i < 15; ++i) {
        digits.add(i * 10 + row.number.view()[static_cast<std::size_t>(i)] - '0');
      }
    }
  }
  hours.expect_uniform();
  digits.expect_uniform();
}

TEST(TatpPopulation, FollowsFromItsSeedWhateverTheThread) {
  const auto loaded = [](std::uint64_t seed, Number first, Number last) {
    test::ModelDatabase database;
    Population(seed).load(first, last, database);
    return database;
  };
  std::array<test::ModelDatabase, 2> beside;
  {
    std::jthread first([&] { beside[0] = loaded(6, 1, 500); });
    std::jthread second([&] { beside[1] = loaded(6, 400, 900); });
  }
  EXPECT_TRUE(beside[0] == loaded(6, 1, 500));
  EXPECT_TRUE(beside[1] == loaded(6, 400, 900));
  const test::ModelDatabase other = loaded(7, 1, 500);
  EXPECT_NE(beside[0].rows<SubscriberKey>(), other.rows<SubscriberKey>());
  EXPECT_NE(beside[0].rows<AccessInfoKey>(), other.rows<AccessInfoKey>());
  EXPECT_NE(beside[0].rows<SpecialFacilityKey>(), other.rows<SpecialFacilityKey>());
  EXPECT_NE(beside[0].rows<CallForwardingKey>(), other.rows<CallForwardingKey>());
}

TEST(TatpPopulation, NoTwoRowsAreAlike) {
  const Population population(8);
  EXPECT_NE(population.row(AccessInfoKey{1, 1}), population.row(AccessInfoKey{1, 2}));
  EXPECT_NE(population.row(AccessInfoKey{1, 1}), population.row(AccessInfoKey{2, 1}));
  EXPECT_NE(population.row(SpecialFacilityKey{1, 1}).data_b,
            population.row(SpecialFacilityKey{1, 2}).data_b);
  EXPECT_NE(population.row(CallForwardingKey{1, 1, 0}).number,
            population.row(CallForwardingKey{1, 2, 0}).number);
  EXPECT_NE(population.row(CallForwardingKey{1, 1, 0}).number,
            population.row(CallForwardingKey{1, 1, 8}).number);
}

TEST(TatpKeys, AreOrderedByTheirColumnsInTurn) {
  EXPECT_LT((AccessInfoKey{1, 4}), (AccessInfoKey{2, 1}));
  EXPECT_LT((SpecialFacilityKey{1, 4}), (SpecialFacilityKey{2, 1}));
  EXPECT_LT((CallForwardingKey{1, 4, 16}), (CallForwardingKey{2, 1, 0}));
  EXPECT_LT((CallForwardingKey{1, 1, 16}), (CallForwardingKey{1, 2, 0}));
  EXPECT_LT((SubscriberNumberKey{number_of(1), 2}), (SubscriberNumberKey{number_of(2), 1}));
  EXPECT_EQ(describe(CallForwardingKey{7, 2, 16}), "call_forwarding (7, 2, 16)");
  EXPECT_EQ(describe(SubscriberNumberKey{number_of(7), 7}),
            "subscriber_number (000000000000007, 7)");
}

}  // namespace
}  // namespace palimpsest::experiments::tatp
