// TATP's transactions on the model: what each reads and changes, how often it finds its rows, and
// that one which does not commit leaves nothing, wherever it conflicts.
#include "experiments/tatp/transactions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "experiments/common/record_key.h"
#include "experiments/tatp/population.h"
#include "tests/experiments/tatp/model_session.h"

namespace palimpsest::experiments::tatp {
namespace {

/// Three subscribers, of which the second has one active and one inactive special facility, an
/// access info, and two call forwardings.
class TatpTransactions : public testing::Test {
 protected:
  TatpTransactions() {
    const Population population(1);
    for (const Number subscriber : {1, 2, 3}) {
      database_.add(SubscriberKey{subscriber}, population.row(SubscriberKey{subscriber}));
      database_.add(SubscriberNumberKey{number_of(subscriber), subscriber});
      for (const SmallNumber type : std::initializer_list<SmallNumber>{2, 3}) {
        SpecialFacilityRow row = population.row(SpecialFacilityKey{subscriber, type});
        row.is_active = type == 2 ? 1 : 0;
        database_.add(SpecialFacilityKey{subscriber, type}, row);
        for (const SmallNumber start : std::initializer_list<SmallNumber>{0, 8}) {
          CallForwardingRow forwarding = population.row(CallForwardingKey{subscriber, type, start});
          forwarding.end_time = static_cast<SmallNumber>(start + 7);
          database_.add(CallForwardingKey{subscriber, type, start}, forwarding);
        }
      }
    }
    database_.add(AccessInfoKey{2, 4}, population.row(AccessInfoKey{2, 4}));
  }

  /// Runs it; nothing has changed unless it commits.
  Outcome run_it(const Input& input) {
    const test::ModelDatabase before = database_;
    const Outcome outcome = run(session_, input, output_);
    EXPECT_FALSE(session_.is_open());
    if (outcome != Outcome::committed) {
      EXPECT_TRUE(database_ == before);
    }
    return outcome;
  }

  /// Whichever operation of the transaction conflicts, it is rolled back and leaves nothing, and
  /// the same input has its normal outcome afterwards.
  void expect_conflicts_leave_nothing(const Input& input, std::uint64_t operations) {
    const test::ModelDatabase before = database_;
    for (std::uint64_t n = 1; n <= operations; ++n) {
      session_.conflict_at(n);
      ASSERT_EQ(run(session_, input, output_), Outcome::conflict) << "operation " << n;
      ASSERT_FALSE(session_.is_open());
      ASSERT_FALSE(session_.conflict_is_due());
      ASSERT_TRUE(database_ == before) << "operation " << n;
    }
    session_.conflict_at(operations + 1);
    EXPECT_EQ(run(session_, input, output_), Outcome::committed);
    EXPECT_TRUE(session_.conflict_is_due());
  }

  [[nodiscard]] static InsertCallForwardingInput insertion(SmallNumber facility,
                                                           SmallNumber start) {
    return {.subscriber = number_of(2),
            .facility = facility,
            .start_time = start,
            .row = {.end_time = 20, .number = PhoneNumber("123456789012345")}};
  }

  test::ModelDatabase database_;
  test::ModelSession session_{database_};
  Output output_;
};

TEST_F(TatpTransactions, GetSubscriberDataReadsTheRow) {
  ASSERT_EQ(run_it(GetSubscriberDataInput{{3}}), Outcome::committed);
  EXPECT_TRUE(output_.found);
  EXPECT_EQ(output_.subscriber, database_.at(SubscriberKey{3}));
}

TEST_F(TatpTransactions, GetAccessDataReadsTheRowIfThereIsOne) {
  ASSERT_EQ(run_it(GetAccessDataInput{{2, 4}}), Outcome::committed);
  EXPECT_TRUE(output_.found);
  EXPECT_EQ(output_.access_info, database_.at(AccessInfoKey{2, 4}));
  ASSERT_EQ(run_it(GetAccessDataInput{{2, 3}}), Outcome::committed);
  EXPECT_FALSE(output_.found);
}

TEST_F(TatpTransactions, GetNewDestinationReadsForwardingsThatHold) {
  const auto ask = [&](Number subscriber, SmallNumber type, SmallNumber start, SmallNumber end) {
    EXPECT_EQ(run_it(GetNewDestinationInput{{subscriber, type}, start, end}), Outcome::committed);
    EXPECT_EQ(output_.found, output_.destination_count != 0);
    return std::vector<PhoneNumber>(
        output_.destinations.begin(),
        output_.destinations.begin() + static_cast<std::ptrdiff_t>(output_.destination_count));
  };
  const PhoneNumber early = database_.at(CallForwardingKey{2, 2, 0}).number;  // 0 to 7
  const PhoneNumber late = database_.at(CallForwardingKey{2, 2, 8}).number;   // 8 to 15
  const std::vector<PhoneNumber> none;
  EXPECT_EQ(ask(2, 2, 0, 6), (std::vector{early}));
  EXPECT_EQ(ask(2, 2, 0, 7), none);
  EXPECT_EQ(ask(2, 2, 8, 6), (std::vector{early, late}));
  EXPECT_EQ(ask(2, 2, 8, 14), (std::vector{late}));
  EXPECT_EQ(ask(2, 2, 16, 14), (std::vector{late}));
  EXPECT_EQ(ask(2, 2, 16, 15), none);
  EXPECT_EQ(ask(2, 3, 8, 6), none) << "not active";
  EXPECT_EQ(ask(2, 1, 8, 6), none) << "no such facility";
}

TEST_F(TatpTransactions, UpdateSubscriberDataChangesBothRows) {
  for (const SmallNumber bit : std::initializer_list<SmallNumber>{0, 1}) {
    SubscriberRow subscriber = database_.at(SubscriberKey{2});
    SpecialFacilityRow facility = database_.at(SpecialFacilityKey{2, 3});
    const auto data_a = static_cast<SmallNumber>(facility.data_a + 1);
    ASSERT_EQ(run_it(UpdateSubscriberDataInput{{2, 3}, bit, data_a}), Outcome::committed);
    subscriber.bits[0] = bit;
    facility.data_a = data_a;
    EXPECT_EQ(database_.at(SubscriberKey{2}), subscriber);
    EXPECT_EQ(database_.at(SpecialFacilityKey{2, 3}), facility);
  }
}

TEST_F(TatpTransactions, UpdateSubscriberDataWithoutFacilityLeavesNothing) {
  const auto other = static_cast<SmallNumber>(1 - database_.at(SubscriberKey{2}).bits[0]);
  EXPECT_EQ(run_it(UpdateSubscriberDataInput{{2, 1}, other, 7}), Outcome::rolled_back);
}

TEST_F(TatpTransactions, UpdateLocationChangesTheRow) {
  SubscriberRow row = database_.at(SubscriberKey{3});
  row.vlr_location = 4'000'000'000U;
  ASSERT_EQ(run_it(UpdateLocationInput{number_of(3), 4'000'000'000U}), Outcome::committed);
  EXPECT_EQ(database_.at(SubscriberKey{3}), row);
}

TEST_F(TatpTransactions, InsertCallForwardingInsertsTheRow) {
  const InsertCallForwardingInput input = insertion(3, 16);
  ASSERT_EQ(run_it(input), Outcome::committed);
  EXPECT_EQ(database_.at(CallForwardingKey{2, 3, 16}), input.row);
  EXPECT_EQ(run_it(input), Outcome::rolled_back) << "it is there";
  EXPECT_EQ(run_it(insertion(1, 16)), Outcome::rolled_back) << "no such facility";
  EXPECT_EQ(run_it(insertion(4, 16)), Outcome::rolled_back) << "no such facility";
}

TEST_F(TatpTransactions, DeleteCallForwardingDeletesTheRow) {
  const DeleteCallForwardingInput input{number_of(2), 2, 8};
  test::ModelDatabase expected = database_;
  expected.rows<CallForwardingKey>().erase({2, 2, 8});
  ASSERT_EQ(run_it(input), Outcome::committed);
  EXPECT_TRUE(database_ == expected);
  EXPECT_EQ(run_it(input), Outcome::rolled_back);
}

TEST_F(TatpTransactions, MissingRowsVoidTheRun) {
  const test::ModelDatabase before = database_;
  const std::array<Input, 5> inputs = {
      GetSubscriberDataInput{{4}}, UpdateSubscriberDataInput{{4, 1}, 0, 0},
      UpdateLocationInput{number_of(4), 1}, InsertCallForwardingInput{number_of(4), 1, 0, {}},
      DeleteCallForwardingInput{number_of(4), 1, 0}};
  for (const Input& input : inputs) {
    EXPECT_THROW((void)run(session_, input, output_), DamagedRecord);
    EXPECT_FALSE(session_.is_open());
    EXPECT_TRUE(database_ == before);
  }
}

TEST_F(TatpTransactions, ConflictsLeaveNothing) {
  expect_conflicts_leave_nothing(GetSubscriberDataInput{{2}}, 2);
  expect_conflicts_leave_nothing(GetNewDestinationInput{{2, 2}, 8, 6}, 3);
  expect_conflicts_leave_nothing(GetAccessDataInput{{2, 4}}, 2);
  expect_conflicts_leave_nothing(UpdateSubscriberDataInput{{2, 2}, 1, 7}, 3);
  expect_conflicts_leave_nothing(UpdateLocationInput{number_of(2), 7}, 3);
  expect_conflicts_leave_nothing(insertion(2, 16), 4);
  expect_conflicts_leave_nothing(DeleteCallForwardingInput{number_of(2), 2, 0}, 3);
}

/// How many of 100 inputs find their rows in the population as loaded: undoes the changes of each
/// transaction.
class Shares {
 public:
  double of(TransactionType type) { return percent_[static_cast<std::size_t>(type)]; }

  Shares() {
    constexpr Number kSubscribers = 5'000;
    constexpr int kDraws = 20'000;
    test::ModelDatabase database;
    const Population population(2);
    population.load(1, kSubscribers, database);
    test::ModelSession session(database);
    InputSource source(3, kSubscribers, Choice::uniform);
    std::array<int, kTransactionTypes> found{};
    Output output;
    for (int i = 0; i < kDraws; ++i) {
      const std::array<Input, kTransactionTypes> inputs = {
          source.get_subscriber_data(),    source.get_new_destination(),
          source.get_access_data(),        source.update_subscriber_data(),
          source.update_location(),        source.insert_call_forwarding(),
          source.delete_call_forwarding(),
      };
      for (const Input& input : inputs) {
        found[input.index()] += finds(session, population, database, input, output) ? 1 : 0;
      }
    }
    for (std::size_t type = 0; type < kTransactionTypes; ++type) {
      percent_[type] = 100.0 * found[type] / kDraws;
    }
  }

 private:
  static bool finds(test::ModelSession& session, const Population& population,
                    test::ModelDatabase& database, const Input& input, Output& output) {
    output.found = true;
    if (run(session, input, output) != Outcome::committed) {
      return false;
    }
    if (const auto* insert = std::get_if<InsertCallForwardingInput>(&input)) {
      const Number of = std::stoi(std::string(insert->subscriber.view()));
      database.rows<CallForwardingKey>().erase({of, insert->facility, insert->start_time});
    } else if (const auto* erase = std::get_if<DeleteCallForwardingInput>(&input)) {
      const Number of = std::stoi(std::string(erase->subscriber.view()));
      const CallForwardingKey key{of, erase->facility, erase->start_time};
      database.add(key, population.row(key));
    }
    return output.found;
  }

  std::array<double, kTransactionTypes> percent_{};
};

// 62.5 % of the types are there, and half of the start times of those. New destinations: README.md.
TEST(TatpShares, OfInputsThatFindWhatTheyAskFor) {
  Shares shares;
  EXPECT_EQ(shares.of(TransactionType::get_subscriber_data), 100);
  EXPECT_EQ(shares.of(TransactionType::update_location), 100);
  EXPECT_NEAR(shares.of(TransactionType::get_access_data), 62.5, 2);
  EXPECT_NEAR(shares.of(TransactionType::update_subscriber_data), 62.5, 2);
  EXPECT_NEAR(shares.of(TransactionType::insert_call_forwarding), 31.25, 2);
  EXPECT_NEAR(shares.of(TransactionType::delete_call_forwarding), 31.25, 2);
  EXPECT_NEAR(shares.of(TransactionType::get_new_destination), 14.8, 1);
}

}  // namespace
}  // namespace palimpsest::experiments::tatp
