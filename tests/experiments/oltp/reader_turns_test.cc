// The share of the throughput that a reader leaves, computed from the commits with and without it.
#include "experiments/oltp/reader_turns.h"

#include <gtest/gtest.h>

#include <vector>

namespace palimpsest::experiments::oltp {
namespace {

/// Turns of four seconds, with so many transactions a second.
class Turns {
 public:
  void add(std::uint64_t beside, std::uint64_t after, std::uint64_t without) {
    ReaderTurn turn;
    turn.opened = now_;
    turn.closed = go_on(4, beside);
    turn.settled = go_on(2, after);
    turn.ended = go_on(2, without);
    turns_.push_back(turn);
  }
  [[nodiscard]] ReaderShare share() const { return share_of(turns_).value(); }

 private:
  CommitMark go_on(std::uint64_t seconds, std::uint64_t rate) {
    now_.seconds += static_cast<double>(seconds);
    now_.commits += seconds * rate;
    return now_;
  }

  CommitMark now_{.seconds = 17, .commits = 12'345};
  std::vector<ReaderTurn> turns_;
};

TEST(ReaderTurns, WithoutThemNothingIsKnown) {
  EXPECT_FALSE(share_of({}).has_value());
}

TEST(ReaderTurns, AReaderThatCostsNothingLeavesAll) {
  Turns turns;
  turns.add(1000, 1000, 1000);
  EXPECT_DOUBLE_EQ(turns.share().median, 1);
}

TEST(ReaderTurns, WhatItCostsAfterItsEndIsItsOwn) {
  Turns turns;
  turns.add(900, 800, 1000);  // 400 fewer while it is open, 400 fewer after
  EXPECT_DOUBLE_EQ(turns.share().median, 0.8);
}

TEST(ReaderTurns, EachIsComparedWithWhatWasBeforeAndAfter) {
  Turns turns;
  turns.add(1000, 1000, 1000);
  turns.add(750, 1500, 2000);  // the machine has become faster meanwhile: 1500 without
  EXPECT_DOUBLE_EQ(turns.share().least, 0.5);
  EXPECT_DOUBLE_EQ(turns.share().most, 1);
}

TEST(ReaderTurns, OfManyTheMedianCounts) {
  Turns turns;
  for (const std::uint64_t beside : {900U, 500U, 800U, 700U}) {
    turns.add(beside, 1000, 1000);
  }
  EXPECT_EQ(turns.share().turns, 4U);
  EXPECT_DOUBLE_EQ(turns.share().median, 0.75);
  turns.add(100, 1000, 1000);
  EXPECT_DOUBLE_EQ(turns.share().median, 0.7);
  EXPECT_DOUBLE_EQ(turns.share().least, 0.1);
  EXPECT_DOUBLE_EQ(turns.share().most, 0.9);
}

}  // namespace
}  // namespace palimpsest::experiments::oltp
