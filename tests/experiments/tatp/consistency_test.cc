// TATP's consistency conditions: they hold for the initial population and after a hundred thousand
// transactions, and each notices its violation.
#include "experiments/tatp/consistency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "experiments/tatp/transactions.h"
#include "tests/experiments/tatp/model_session.h"

namespace palimpsest::experiments::tatp {
namespace {

/// More than one pass.
constexpr Number kSubscribers = kSubscribersOfPass + 500;
const Population kPopulation(11);

std::string texts_of(const Violations& violations) {
  std::string text;
  for (const std::string& violation : violations.first()) {
    text += violation + "\n";
  }
  return text;
}

/// Populated, and run by either choice of subscribers; a test that changes it works on a copy.
class TatpConsistency : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    kPopulation.load(1, kSubscribers, shared().database);
    shared().loaded = check(shared().database);
    run_mix(Choice::uniform);
    run_mix(Choice::non_uniform);
  }
  static void TearDownTestSuite() { shared() = {}; }

  static Violations check(const test::ModelDatabase& database) {
    return check_consistency(database, kPopulation, kSubscribers, shared().changes);
  }

  struct Shared {
    test::ModelDatabase database;
    Violations loaded;
    ForwardingChanges changes;
    std::array<int, 3> outcomes{};
  };
  static Shared& shared() {
    static Shared shared;
    return shared;
  }

 private:
  /// Every 50th transaction conflicts first and is run again.
  static void run_mix(Choice choice) {
    InputSource source(12, kSubscribers, choice);
    test::ModelSession session(shared().database);
    Output output;
    for (int i = 0; i < 50'000; ++i) {
      const Input input = source.next();
      if (i % 50 == 0) {
        session.conflict_at(static_cast<std::uint64_t>(i) / 50 % 2 + 1);
      }
      Outcome outcome = Outcome::conflict;
      while (outcome == Outcome::conflict) {
        outcome = run(session, input, output);
        ++shared().outcomes[static_cast<std::size_t>(outcome)];
      }
      count(type_of(input), outcome);
    }
  }
  static void count(TransactionType type, Outcome outcome) {
    const std::uint64_t one = outcome == Outcome::committed ? 1 : 0;
    shared().changes.inserted += type == TransactionType::insert_call_forwarding ? one : 0;
    shared().changes.deleted += type == TransactionType::delete_call_forwarding ? one : 0;
  }
};

TEST_F(TatpConsistency, HoldsForTheInitialPopulation) {
  EXPECT_EQ(shared().loaded.count(), 0U) << texts_of(shared().loaded);
}

TEST_F(TatpConsistency, HoldsAfterTransactions) {
  const Violations violations = check(shared().database);
  EXPECT_EQ(violations.count(), 0U) << texts_of(violations);
  const auto of = [](Outcome outcome) {
    return shared().outcomes[static_cast<std::size_t>(outcome)];
  };
  EXPECT_EQ(of(Outcome::conflict), 2'000);
  EXPECT_GT(of(Outcome::rolled_back), 2'000);
  EXPECT_EQ(of(Outcome::committed) + of(Outcome::rolled_back), 100'000);
  EXPECT_GT(shared().changes.inserted, 400U);
  EXPECT_GT(shared().changes.deleted, 400U);
}

TEST_F(TatpConsistency, RowsMayBeCountedLaterThanAfterTheLoad) {
  const test::ModelDatabase& database = shared().database;
  const std::uint64_t rows = count_call_forwardings(database);
  EXPECT_EQ(rows, database.rows<CallForwardingKey>().size());
  const auto violations = [&](const ForwardingChanges& changes) {
    return check_consistency(database, kPopulation, kSubscribers, changes).count();
  };
  EXPECT_EQ(violations({.rows_before = rows}), 0U);
  EXPECT_EQ(violations({.rows_before = rows - 5, .inserted = 8, .deleted = 3}), 0U);
  EXPECT_EQ(violations({.rows_before = rows, .inserted = 1}), 1U);
  EXPECT_EQ(violations({.rows_before = rows, .deleted = 1}), 1U);
}

TEST_F(TatpConsistency, TransactionsHaveHappened) {
  test::ModelDatabase loaded;
  kPopulation.load(1, kSubscribers, loaded);
  int moved = 0;
  int bits = 0;
  for (const auto& [key, row] : loaded.rows<SubscriberKey>()) {
    const SubscriberRow& now = shared().database.at(key);
    moved += now.vlr_location != row.vlr_location ? 1 : 0;
    bits += now.bits[0] != row.bits[0] ? 1 : 0;
  }
  int data = 0;
  for (const auto& [key, row] : loaded.rows<SpecialFacilityKey>()) {
    data += shared().database.at(key).data_a != row.data_a ? 1 : 0;
  }
  EXPECT_GT(moved, 1'200);
  EXPECT_GT(bits, 200);
  EXPECT_GT(data, 400);
  EXPECT_NE(shared().database.rows<CallForwardingKey>(), loaded.rows<CallForwardingKey>());
}

/// A change that breaks one condition, and its report.
struct Damage {
  std::string report;
  std::function<void(test::ModelDatabase&)> change;
};

template <class Key>
auto erased(const Key& key) {
  return [=](test::ModelDatabase& database) { ASSERT_EQ(database.rows<Key>().erase(key), 1U); };
}

template <class Key, class Change>
auto changed(const Key& key, Change change) {
  return [=](test::ModelDatabase& database) { change(database.rows<Key>().at(key)); };
}

template <class Key>
auto added(const Key& key) {
  return [=](test::ModelDatabase& database) {
    ASSERT_TRUE(database.rows<Key>().emplace(key, RowOf<Key>{}).second);
  };
}

/// Replaces a row by another, so that their number stays the same.
auto replaced(const CallForwardingKey& key, const CallForwardingRow& row) {
  return [=](test::ModelDatabase& database) {
    auto& table = database.rows<CallForwardingKey>();
    table.erase(table.begin());
    ASSERT_TRUE(table.emplace(key, row).second);
  };
}

/// The first key of the population that exists, or that does not.
template <class Key>
Key some_key(bool there, Number from) {
  for (Number subscriber = from;; ++subscriber) {
    for (SmallNumber type = 1; type <= 4; ++type) {
      if (kPopulation.has(Key{subscriber, type}) == there) {
        return {subscriber, type};
      }
    }
  }
}

constexpr const char* kMissing = " is missing";
constexpr const char* kStrange = " was never loaded";
constexpr const char* kOther = " has values that no transaction wrote";

std::vector<Damage> damages_of_subscribers() {
  const auto report = [](int condition, const auto& key, const char* what) {
    return "condition " + std::to_string(condition) + ": " + describe(key) + what;
  };
  std::vector<Damage> damages;
  for (const Number subscriber : {1, kSubscribersOfPass, kSubscribersOfPass + 1, kSubscribers}) {
    const SubscriberKey key{subscriber};
    damages.push_back({report(1, key, kMissing), erased(key)});
    damages.push_back(
        {report(1, key, kOther), changed(key, [](SubscriberRow& row) { row.bits[0] = 2; })});
    damages.push_back(
        {report(1, key, kOther), changed(key, [](SubscriberRow& row) { row.bits[9] ^= 1; })});
    damages.push_back(
        {report(1, key, kOther), changed(key, [](SubscriberRow& row) { row.vlr_location = 0; })});
    damages.push_back(
        {report(1, key, kOther), changed(key, [](SubscriberRow& row) { ++row.msc_location; })});
    const SubscriberNumberKey entry{number_of(subscriber), subscriber};
    damages.push_back({report(1, entry, kMissing), [=](test::ModelDatabase& database) {
                         ASSERT_EQ(database.numbers.erase(entry), 1U);
                       }});
    const SubscriberNumberKey strange{number_of(subscriber), subscriber + 1};
    damages.push_back({report(1, strange, kStrange), [=](test::ModelDatabase& database) {
                         ASSERT_TRUE(database.numbers.insert(strange).second);
                       }});
  }
  for (const Number nobody : {-1, 0, kSubscribers + 1}) {
    const SubscriberNumberKey entry{number_of(std::max(nobody, 0)), nobody};
    damages.push_back({report(1, entry, kStrange), [=](test::ModelDatabase& database) {
                         ASSERT_TRUE(database.numbers.insert(entry).second);
                       }});
    damages.push_back({report(1, SubscriberKey{nobody}, kStrange), added(SubscriberKey{nobody})});
    damages.push_back(
        {report(2, AccessInfoKey{nobody, 1}, kStrange), added(AccessInfoKey{nobody, 1})});
    damages.push_back(
        {report(3, SpecialFacilityKey{nobody, 1}, kStrange), added(SpecialFacilityKey{nobody, 1})});
  }
  return damages;
}

std::vector<Damage> damages_of_their_rows() {
  const auto info = some_key<AccessInfoKey>(true, kSubscribersOfPass);
  const auto no_info = some_key<AccessInfoKey>(false, kSubscribersOfPass);
  const auto facility = some_key<SpecialFacilityKey>(true, 7);
  const auto no_facility = some_key<SpecialFacilityKey>(false, 7);
  const PhoneNumber number("123456789012345");
  const auto report = [](int condition, const auto& key, const std::string& what) {
    return "condition " + std::to_string(condition) + ": " + describe(key) + what;
  };
  const CallForwardingKey without{no_facility.subscriber, no_facility.type, 8};
  const CallForwardingKey at_seven{facility.subscriber, facility.type, 7};
  const CallForwardingKey at_night{facility.subscriber, facility.type, 24};
  std::vector<Damage> damages = {
      {report(2, info, kMissing), erased(info)},
      {report(2, no_info, kStrange), added(no_info)},
      {report(2, info, kOther), changed(info, [](AccessInfoRow& row) { ++row.data_2; })},
      {report(3, facility, kMissing), erased(facility)},
      {report(3, no_facility, kStrange), added(no_facility)},
      {report(3, facility, kOther),
       changed(facility, [](SpecialFacilityRow& row) { row.is_active ^= 1; })},
      {report(4, without, " has no special facility"),
       replaced(without, {.end_time = 9, .number = number})},
      {report(4, at_seven, " has a start time that does not exist"),
       replaced(at_seven, {.end_time = 9, .number = number})},
      {report(4, at_night, " has a start time that does not exist"),
       replaced(at_night, {.end_time = 9, .number = number})},
  };
  const auto first = [](auto change) {
    return [=](test::ModelDatabase& database) {
      change(database.rows<CallForwardingKey>().begin()->second);
    };
  };
  for (const SmallNumber hour : std::initializer_list<SmallNumber>{0, 25}) {
    damages.push_back({"has an end time that does not exist",
                       first([=](CallForwardingRow& row) { row.end_time = hour; })});
  }
  for (const char* text : {"12345678901234", "12345678901234x"}) {
    damages.push_back({"has a malformed number",
                       first([=](CallForwardingRow& row) { row.number.assign(text); })});
  }
  damages.push_back({"condition 5: call_forwarding has ", [](test::ModelDatabase& database) {
                       auto& table = database.rows<CallForwardingKey>();
                       table.erase(table.begin());
                     }});
  return damages;
}

TEST_F(TatpConsistency, EveryConditionNotices) {
  std::vector<Damage> damages = damages_of_subscribers();
  const std::vector<Damage> others = damages_of_their_rows();
  damages.insert(damages.end(), others.begin(), others.end());
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.report);
    test::ModelDatabase database = shared().database;
    damage.change(database);
    const Violations violations = check(database);
    ASSERT_GE(violations.count(), 1U);
    EXPECT_NE(violations.first()[0].find(damage.report), std::string::npos) << texts_of(violations);
    // A removed facility may leave call forwardings behind.
    const bool is_facility = damage.report.find("3: special_facility") != std::string::npos;
    EXPECT_TRUE(violations.count() == 1 || is_facility) << texts_of(violations);
  }
}

TEST(TatpViolations, AreAllCountedAndTheFirstAreKept) {
  Violations violations;
  for (int i = 0; i < 250; ++i) {
    violations.add(1, "it", "is " + std::to_string(i));
  }
  EXPECT_EQ(violations.count(), 250U);
  ASSERT_EQ(violations.first().size(), Violations::kKept);
  EXPECT_EQ(violations.first()[0], "condition 1: it is 0");
}

}  // namespace
}  // namespace palimpsest::experiments::tatp
