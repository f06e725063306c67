// TATP's session on a store of bytes equals the model, on maps in memory and on Palimpsest: the
// same results, the same changes.
#include "experiments/tatp/table_session.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "experiments/engines/palimpsest/store.h"
#include "experiments/oltp/batch_inserter.h"
#include "experiments/oltp/table_reader.h"
#include "experiments/tatp/bench.h"
#include "experiments/tatp/transactions.h"
#include "tests/experiments/oltp/memory_store.h"
#include "tests/experiments/tatp/model_session.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments::tatp {
namespace {

constexpr Number kSubscribers = 250;
constexpr SmallNumber kMost = std::numeric_limits<SmallNumber>::max();

class InMemory {
 public:
  using Store = oltp::test::MemoryStore;

  std::unique_ptr<Store> open(const StoreSettings& settings) {
    return std::make_unique<Store>(disk_, settings);
  }
  /// Every n-th operation from here on is a conflict; 0: none.
  void set_conflict_every(std::uint64_t n) { disk_->conflict_every = n; }

 private:
  std::shared_ptr<oltp::test::MemoryDisk> disk_ = std::make_shared<oltp::test::MemoryDisk>();
};

/// A session that is alone there meets no conflict.
class OnPalimpsest {
 public:
  using Store = PalimpsestStore;

  std::unique_ptr<Store> open(StoreSettings settings) {
    settings.directory = directory_.path();
    return palimpsest_store().open(settings);
  }
  void set_conflict_every(std::uint64_t) {}

 private:
  palimpsest::test::TemporaryDirectory directory_;
};

template <class Engine>
class TatpTableSession : public testing::Test {
 protected:
  using StoreSession = typename Engine::Store::Session;

  static_assert(Session<TableSession<StoreSession>>);

  TatpTableSession() : store_(engine_.open(settings())) {
    const Population population(5);
    population.load(1, kSubscribers, model_);
    const auto session = store_->open_session(SessionUse::load);
    oltp::LoadProgress progress;
    oltp::BatchInserter inserter(*session, progress);
    population.load(1, kSubscribers, inserter);
    inserter.finish();
    session_.emplace(store_->open_session(SessionUse::read_write));
  }
  void TearDown() override {
    session_.reset();
    store_->close();
  }

  static StoreSettings settings() {
    StoreSettings settings;
    settings.tables = workload().tables;
    settings.memory_bytes = std::uint64_t{64} << 20U;
    settings.data_bytes = workload().scale_of(kSubscribers).data_bytes;
    settings.sessions_max = 4;
    return settings;
  }

  /// The contents of the store.
  test::ModelDatabase stored() {
    test::ModelDatabase found;
    oltp::TableReader<StoreSession> reader(*session_);
    const auto add = [&](const auto&... row) { found.add(row...); };
    const Number last = kSubscribers + 10;
    reader.scan(SubscriberKey{-1}, SubscriberKey{last}, add);
    reader.scan(AccessInfoKey{-1, 0}, AccessInfoKey{last, kMost}, add);
    reader.scan(SpecialFacilityKey{-1, 0}, SpecialFacilityKey{last, kMost}, add);
    reader.scan(CallForwardingKey{-1, 0, 0}, CallForwardingKey{last, kMost, kMost}, add);
    reader.scan(SubscriberNumberKey{}, SubscriberNumberKey{number_of(last), last}, add);
    return found;
  }

  /// Runs the input in the store and in the model; the outcomes must be equal.
  void expect_same_outcome(const Input& input) {
    Outcome outcome = run(*session_, input, output_);
    while (outcome == Outcome::conflict) {
      engine_.set_conflict_every(0);
      outcome = run(*session_, input, output_);
    }
    ASSERT_EQ(outcome, run(model_session_, input, model_output_)) << name_of(type_of(input));
    ++outcomes_[static_cast<std::size_t>(outcome)];
    switch (type_of(input)) {
      case TransactionType::get_subscriber_data:
        ASSERT_TRUE(output_.subscriber == model_output_.subscriber);
        break;
      case TransactionType::get_access_data:
        ASSERT_EQ(output_.found, model_output_.found);
        ASSERT_TRUE(!output_.found || output_.access_info == model_output_.access_info);
        break;
      case TransactionType::get_new_destination:
        ASSERT_EQ(output_.destination_count, model_output_.destination_count);
        for (std::size_t i = 0; i < output_.destination_count; ++i) {
          ASSERT_TRUE(output_.destinations[i] == model_output_.destinations[i]);
        }
        break;
      default: break;
    }
  }

  Engine engine_;
  test::ModelDatabase model_;
  test::ModelSession model_session_{model_};
  std::unique_ptr<typename Engine::Store> store_;
  std::optional<TableSession<StoreSession>> session_;
  Output output_;
  Output model_output_;
  std::array<int, 3> outcomes_{};
};

using Engines = testing::Types<InMemory, OnPalimpsest>;
TYPED_TEST_SUITE(TatpTableSession, Engines);

TYPED_TEST(TatpTableSession, HoldsWhatWasInserted) {
  EXPECT_TRUE(this->stored() == this->model_);
}

TYPED_TEST(TatpTableSession, FindsWhatTheModelFinds) {
  auto& session = *this->session_;
  session.begin(Intent::read_only);
  this->model_session_.begin(Intent::read_only);
  std::size_t visited = 0;
  const auto rows_of = [&visited](auto& of, auto visit) {
    std::vector<std::string> rows;
    const auto add = [&](const auto& key, const auto& row) {
      rows.push_back(describe(key));
      rows.emplace_back(EncodedRow(row).view());
      ++visited;
    };
    EXPECT_EQ(visit(of, add), Access::done);
    return rows;
  };
  for (Number number = 1; number <= kSubscribers; ++number) {
    SubscriberKey subscriber;
    ASSERT_EQ(session.find_subscriber(number_of(number), subscriber), Access::done);
    ASSERT_EQ(subscriber.subscriber, number);
    const auto facilities = [&](auto& of, auto add) {
      return of.visit_special_facilities(subscriber, add);
    };
    ASSERT_EQ(rows_of(session, facilities), rows_of(this->model_session_, facilities));
    for (SmallNumber type = 0; type <= 5; ++type) {
      const auto forwardings = [&](auto& of, auto add) {
        return of.visit_call_forwardings(SpecialFacilityKey{number, type}, add);
      };
      ASSERT_EQ(rows_of(session, forwardings), rows_of(this->model_session_, forwardings));
    }
  }
  EXPECT_GT(visited, 2U * kSubscribers * 5) << "on average 6.25 of each, in both";
  session.rollback();
}

TYPED_TEST(TatpTableSession, MissesWhatIsNotThere) {
  auto& session = *this->session_;
  session.begin(Intent::read_only);
  const auto none = [](const auto&...) { ADD_FAILURE() << "there is no such row"; };
  EXPECT_EQ(session.read(SubscriberKey{0}, none), Access::missing);
  SubscriberKey subscriber{77};
  for (const PhoneNumber& number : {number_of(0), number_of(kSubscribers + 1), PhoneNumber("1")}) {
    EXPECT_EQ(session.find_subscriber(number, subscriber), Access::missing);
  }
  EXPECT_EQ(subscriber.subscriber, 77);
  EXPECT_EQ(session.visit_special_facilities(SubscriberKey{kSubscribers + 1}, none), Access::done);
  EXPECT_EQ(session.visit_call_forwardings(SpecialFacilityKey{1, 5}, none), Access::done);
  session.rollback();
}

TYPED_TEST(TatpTableSession, TransactionsChangeWhatTheyChangeInTheModel) {
  const test::ModelDatabase loaded = this->model_;
  Random random(palimpsest::test::seed());
  InputSource source(random(), kSubscribers, Choice::uniform);
  for (int i = 0; i < 5'000; ++i) {
    this->engine_.set_conflict_every(random.below(3) == 0 ? 7 : 0);
    ASSERT_NO_FATAL_FAILURE(this->expect_same_outcome(source.next()));
  }
  this->engine_.set_conflict_every(0);
  EXPECT_GT(this->outcomes_[static_cast<std::size_t>(Outcome::committed)], 4'500);
  EXPECT_GT(this->outcomes_[static_cast<std::size_t>(Outcome::rolled_back)], 50);
  EXPECT_FALSE(this->model_ == loaded);
  EXPECT_TRUE(this->stored() == this->model_);
}

TYPED_TEST(TatpTableSession, BytesThatAreNoRowAreReported) {
  const SubscriberKey key{7};
  {
    const auto session = this->store_->open_session(SessionUse::read_write);
    session->begin(Intent::read_write);
    ASSERT_EQ(session->rewrite(oltp::kTableOf<SubscriberKey>, EncodedKey(key).view(),
                               [](ByteView bytes) { return bytes.substr(1); }),
              Access::done);
    ASSERT_EQ(session->commit(), Access::done);
  }
  auto& session = *this->session_;
  session.begin(Intent::read_write);
  EXPECT_THROW((void)session.read(key, [](const SubscriberRow&) {}), DamagedRecord);
  EXPECT_THROW((void)session.update(key, [](SubscriberRow&) {}), DamagedRecord);
  session.rollback();
  EXPECT_THROW((void)this->stored(), DamagedRecord);
}

using OnPalimpsestSession = TatpTableSession<OnPalimpsest>;

TEST_F(OnPalimpsestSession, AnotherTransactionIsInTheWayUntilItEnds) {
  const UpdateLocationInput input{.subscriber = number_of(9), .vlr_location = 1'234};
  TableSession<StoreSession> other(store_->open_session(SessionUse::read_write));
  other.begin(Intent::read_write);
  ASSERT_EQ(other.update(SubscriberKey{9}, [](SubscriberRow& row) { row.bits[0] ^= 1; }),
            Access::done);
  EXPECT_EQ(run(*session_, input, output_), Outcome::conflict);
  EXPECT_EQ(session_->conflict_reason(), ConflictReason::write_conflict);
  other.rollback();
  EXPECT_EQ(run(*session_, input, output_), Outcome::committed);
  EXPECT_EQ(run(model_session_, input, output_), Outcome::committed);
  EXPECT_TRUE(stored() == model_);
}

}  // namespace
}  // namespace palimpsest::experiments::tatp
