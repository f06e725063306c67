// What histories imply about time: transactions whose commit status follows only from the reads of
// their writes, writes that are never read, and registers, whose versions are ordered by time.

#include "tests/isolation/real_time.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "tests/isolation/planted.h"
#include "tests/support/seed.h"

namespace palimpsest::isolation {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(UnknownOutcome, HalfOfItIsMissed) {
  EXPECT_THAT(found_in(serial({{kInfo, R"([["append",1,1],["append",2,2]])"},
                               {kOk, R"([["r",1,[1]],["r",2,[]]])"}})),
              ElementsAre(Anomaly::g_single));
  EXPECT_THAT(
      found_in(serial({{kInfo, R"([["w",1,1],["w",2,2]])"}, {kOk, R"([["r",1,1],["r",2,null]])"}})),
      ElementsAre(Anomaly::g_single));
}

TEST(UnknownOutcome, LostAfterItWasRead) {
  EXPECT_THAT(found_in(serial({{kInfo, R"([["append",1,1],["append",2,2]])"},
                               {kOk, R"([["r",1,[1]]])"},
                               {kOk, R"([["r",2,[]]])"}})),
              ElementsAre(Anomaly::lost_write));
  EXPECT_THAT(found_in(serial({{kInfo, R"([["append",1,1],["append",2,2]])"},
                               {kOk, R"([["r",1,[1]]])"},
                               {kOk, R"([["r",2,[]]])"},
                               {kOk, R"([["r",2,[2]]])"}})),
              ElementsAre(Anomaly::stale_read));
  EXPECT_THAT(found_in(serial({{kInfo, R"([["w",1,1],["w",2,2]])"},
                               {kOk, R"([["r",1,1]])"},
                               {kOk, R"([["r",2,null]])"}})),
              ElementsAre(Anomaly::lost_write));
}

TEST(UnknownOutcome, TakesEffectLaterThanItsEnd) {
  EXPECT_THAT(found_in(serial({{kInfo, R"([["append",1,1],["append",2,2]])"},
                               {kOk, R"([["r",1,[]],["r",2,[]]])"},
                               {kOk, R"([["r",1,[1]],["r",2,[2]]])"}})),
              IsEmpty());
  EXPECT_THAT(found_in(serial({{kInfo, R"([["w",1,1],["w",2,2]])"},
                               {kOk, R"([["r",1,null],["w",2,3]])"},
                               {kOk, R"([["r",1,null],["r",2,3]])"},
                               {kOk, R"([["r",1,1],["r",2,2]])"}})),
              IsEmpty());
}

TEST(UnknownOutcome, WasNeverRead) {
  EXPECT_THAT(found_in(serial({{kInfo, R"([["append",1,1],["append",2,2]])"},
                               {kOk, R"([["r",1,[]],["append",2,3]])"},
                               {kOk, R"([["r",1,[]],["r",2,[3]]])"}})),
              IsEmpty());
  EXPECT_THAT(found_in(serial({{kInfo, R"([["w",1,1],["w",2,2]])"},
                               {kOk, R"([["r",1,null],["w",2,3]])"},
                               {kOk, R"([["r",1,null],["r",2,3]])"}})),
              IsEmpty());
  // Only uncommitted transactions have read it.
  EXPECT_THAT(found_in(serial({{kInfo, R"([["append",1,1],["append",2,2]])"},
                               {kFail, R"([["r",1,[1]]])"},
                               {kInfo, R"([["r",1,[1]]])"},
                               {kOk, R"([["r",2,[]]])"}})),
              IsEmpty());
}

TEST(UnreadWrite, HalfOfItsTransactionIsMissed) {
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["append",1,1],["append",2,2]])"},
                                   {kOk, R"([["r",1,[1]],["r",2,[]]])"}})),
              ElementsAre(Anomaly::g_single));
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["append",2,1]])"},
                                   {kOk, R"([["append",1,1],["append",2,2]])"},
                                   {kOk, R"([["r",1,[1]],["r",2,[1]]])"}})),
              ElementsAre(Anomaly::g_single));
  EXPECT_THAT(found_in(concurrent(
                  {{kOk, R"([["w",1,1],["w",2,2]])"}, {kOk, R"([["r",1,1],["r",2,null]])"}})),
              ElementsAre(Anomaly::g_single));
}

TEST(UnreadWrite, ComesAfterAllThatWereRead) {
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["append",1,1],["append",2,1]])"},
                                   {kOk, R"([["append",1,2],["append",2,2]])"},
                                   {kOk, R"([["r",1,[1]],["r",2,[2]]])"}})),
              Contains(Anomaly::g0));
}

/// The second one has not seen the first one's write, or that one would have conflicted.
TEST(UnreadWrite, MayComeInAnyOrder) {
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["append",1,1],["append",2,1]])"},
                                   {kOk, R"([["append",2,2],["append",1,2]])"},
                                   {kOk, R"([["r",1,[]],["r",2,[]]])"}})),
              IsEmpty());
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["r",1,[]],["append",1,1]])"},
                                   {kOk, R"([["append",2,2]])"},
                                   {kOk, R"([["r",2,[]],["r",1,[]]])"}})),
              IsEmpty());
}

TEST(Register, AcknowledgedWriteIsLost) {
  EXPECT_THAT(found_in(serial({{kOk, R"([["w",1,1]])"}, {kOk, R"([["r",1,null]])"}})),
              ElementsAre(Anomaly::lost_write));
  EXPECT_THAT(
      found_in(serial(
          {{kOk, R"([["w",1,1]])"}, {kOk, R"([["r",1,1],["w",1,2]])"}, {kOk, R"([["r",1,1]])"}})),
      ElementsAre(Anomaly::lost_write));
  EXPECT_THAT(
      found_in(serial({{kOk, R"([["w",1,1],["w",2,2]])"}, {kOk, R"([["r",1,1],["r",2,null]])"}})),
      ElementsAre(Anomaly::lost_write));
  // Blind writes, one after the other.
  EXPECT_THAT(
      found_in(serial({{kOk, R"([["w",1,1]])"}, {kOk, R"([["w",1,2]])"}, {kOk, R"([["r",1,1]])"}})),
      ElementsAre(Anomaly::lost_write));
}

TEST(Register, StaleRead) {
  EXPECT_THAT(found_in(serial(
                  {{kOk, R"([["w",1,1]])"}, {kOk, R"([["r",1,null]])"}, {kOk, R"([["r",1,1]])"}})),
              ElementsAre(Anomaly::stale_read));
  // Of two concurrent writes first one is read, then the other one, then the first one again.
  EXPECT_THAT(found_in(history_of({{kInvoke, 0, R"([["w",1,1]])"},
                                   {kInvoke, 1, R"([["w",1,2]])"},
                                   {kOk, 0, R"([["w",1,1]])"},
                                   {kOk, 1, R"([["w",1,2]])"},
                                   {kInvoke, 2, R"([["r",1,1]])"},
                                   {kOk, 2, R"([["r",1,1]])"},
                                   {kInvoke, 3, R"([["r",1,2]])"},
                                   {kOk, 3, R"([["r",1,2]])"},
                                   {kInvoke, 4, R"([["r",1,1]])"},
                                   {kOk, 4, R"([["r",1,1]])"}})),
              Contains(Anomaly::stale_read));
}

/// By time 2 comes before 1, because 1 is read last; but the writer of 2 has read 1.
TEST(Register, OrderOfTransactionsContradictsTime) {
  EXPECT_NE(check_history(serial({{kInfo, R"([["w",1,1]])"},
                                  {kOk, R"([["r",1,1],["w",1,2]])"},
                                  {kOk, R"([["r",1,1]])"}}),
                          Level::read_committed)
                .findings.count_forbidden(Level::read_committed),
            0);
}

TEST(Register, ConcurrentWritesMayComeInAnyOrder) {
  for (const char* const last : {R"([["r",1,1]])", R"([["r",1,2]])"}) {
    EXPECT_THAT(found_in(history_of({{kInvoke, 0, R"([["w",1,1]])"},
                                     {kInvoke, 1, R"([["w",1,2]])"},
                                     {kInvoke, 2, R"([["r",1,null]])"},
                                     {kOk, 0, R"([["w",1,1]])"},
                                     {kOk, 1, R"([["w",1,2]])"},
                                     {kOk, 2, R"([["r",1,null]])"},
                                     {kInvoke, 3, last},
                                     {kOk, 3, last}})),
                IsEmpty());
  }
}

/// Versions are ordered by time, and the reader of the older one has missed the newer.
TEST(Register, ReadSkewOfBlindWrites) {
  EXPECT_THAT(found_in(history_of({{kInvoke, 0, R"([["w",1,1]])"},
                                   {kOk, 0, R"([["w",1,1]])"},
                                   {kInvoke, 1, R"([["r",1,1],["r",2,2]])"},
                                   {kInvoke, 2, R"([["w",1,2],["w",2,2]])"},
                                   {kOk, 2, R"([["w",1,2],["w",2,2]])"},
                                   {kOk, 1, R"([["r",1,1],["r",2,2]])"}})),
              ElementsAre(Anomaly::g_single));
}

/// Registers that are written one after the other; then changes one read to an impossible result.
class PlantedInRegisters : public ::testing::Test {
 protected:
  static constexpr std::int64_t kKeys = 10;
  static constexpr int kTransactions = 200;

  PlantedInRegisters() {
    std::vector<std::vector<std::int64_t>> versions(kKeys);
    for (std::int64_t i = 0; i < kTransactions; ++i) {
      const auto key = static_cast<std::int64_t>(random_.below(kKeys));
      auto& of_key = versions[static_cast<std::size_t>(key)];
      if (random_.one_in(3)) {
        of_key.push_back(i);
        texts_.push_back(fmt::format(R"([["w",{},{}]])", key, i));
      } else {
        reads_.push_back({.transaction = texts_.size(), .key = key, .versions = of_key});
        texts_.push_back(fmt::format(R"([["r",{},{}]])", key,
                                     of_key.empty() ? "null" : std::to_string(of_key.back())));
      }
    }
  }

  [[nodiscard]] static std::uint64_t violations(const std::vector<std::string>& texts) {
    std::vector<Planted> transactions;
    transactions.reserve(texts.size());
    for (const std::string& text : texts) {
      transactions.push_back({kOk, text});
    }
    return check_history(serial(transactions), Level::read_committed)
        .findings.count_forbidden(Level::read_committed);
  }

  struct Read {
    std::size_t transaction;
    std::int64_t key;
    std::vector<std::int64_t> versions;  ///< until then
  };

  Random random_{palimpsest::test::seed()};
  std::vector<std::string> texts_;
  std::vector<Read> reads_;
};

TEST_F(PlantedInRegisters, OldVersion) {
  EXPECT_EQ(violations(texts_), 0);
  for (const Read& read : reads_) {
    for (std::size_t older = 0; older < read.versions.size(); ++older) {
      std::vector<std::string> texts = texts_;
      texts[read.transaction] =
          fmt::format(R"([["r",{},{}]])", read.key,
                      older == 0 ? "null" : std::to_string(read.versions[older - 1]));
      EXPECT_NE(violations(texts), 0) << texts_[read.transaction] << texts[read.transaction];
    }
  }
}

TEST(NoIsolation, ShowsOnlyWhatWasWritten) {
  const auto forbidden = [](const History& history) {
    return check_history(history, Level::none).findings.count_forbidden(Level::none);
  };
  EXPECT_EQ(forbidden(serial({{kOk, R"([["r",1,[7]]])"}})), 1);
  EXPECT_EQ(forbidden(serial({{kOk, R"([["w",2,1],["r",1,7]])"}})), 1);
  EXPECT_EQ(forbidden(concurrent({{kFail, R"([["append",1,7]])"}, {kOk, R"([["r",1,[7]]])"}})), 0);
}

}  // namespace
}  // namespace palimpsest::isolation
