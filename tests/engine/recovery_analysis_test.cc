// The analysis of hand-made logs: which transactions lost, which pages are in use, what is pending.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "btree/log/tree_record_encode.h"
#include "tests/btree/tree_log_support.h"
#include "tests/engine/recovery_fixture.h"
#include "tests/support/error_of.h"
#include "wal/segments.h"

namespace palimpsest::engine::test {
namespace {

using btree::kLargeValue;
using btree::test::encoded;
using btree::test::inverse;
using buffer::PageRun;
using palimpsest::test::CrashKeeps;
using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wal::kNoLsn;
using wal::TransactionName;

constexpr TreeId kTree{3};
constexpr PageId kLeaf{500};

Body insertion(const std::string& key) {
  return encoded(btree::LoggedInsert{{kTree, kLeaf, 0, key}, {"value"}});
}

/// A large value in these runs.
std::string descriptor(const std::vector<PageRun>& runs) {
  std::uint64_t pages = 0;
  for (const PageRun& run : runs) {
    pages += run.pages;
  }
  const std::uint64_t size = pages * (kPageSize - 96);
  return std::string(
      btree::LargeValueDescriptor::make(size, {1, 1}, runs, kPageSize).encode().view());
}

Body large_insertion(const std::vector<PageRun>& runs) {
  return encoded(btree::LoggedInsert{{kTree, kLeaf, 0, "k"}, {descriptor(runs), kLargeValue}});
}

/// A small value replaces the large one.
Body large_replaced(const std::vector<PageRun>& runs) {
  return encoded(
      btree::LoggedUpdate{{kTree, kLeaf, 0, "k"}, {descriptor(runs), kLargeValue}, {"small"}});
}

Body undone(const Body& change) {
  return inverse(change, kPageSize, kLeaf, 0);
}

/// "500+3 used" and the like.
std::vector<std::string> space_of(const RecoveryAnalysis& analysis) {
  std::vector<std::string> ranges;
  analysis.space.visit([&](const PageRange& range) {
    ranges.push_back(std::to_string(raw(range.begin)) + "+" +
                     std::to_string(raw(range.end) - raw(range.begin)) +
                     (range.in_use ? " used" : " free"));
  });
  return ranges;
}

class RecoveryAnalysisTest : public ::testing::Test {
 protected:
  /// Continues the log where a crash, which keeps everything by default, has left it.
  LogWriter& reopen(CrashKeeps keeps = CrashKeeps::everything) {
    const SimDisk next = disk_.crash(1, keeps);
    log_.reset();
    device_.reset();
    disk_ = next;
    device_ = disk_.device();
    log_ = std::make_unique<LogWriter>(*device_);
    return *log_;
  }
  /// The analysis of what is durable now.
  RecoveryAnalysis analyse_now() {
    return analysis_of(*disk_.crash(1, CrashKeeps::nothing).device());
  }
  LogWriter& log() { return *log_; }
  /// The record at which undo of a loser begins, read as undo does.
  wal::TransactionRecord read(const LoserTransaction& loser, std::vector<std::byte>& memory) {
    const SimDisk disk = disk_.crash(1, CrashKeeps::nothing);
    const auto device = disk.device();
    const wal::LogStore store = wal::LogStore::open(*device, kFiles, true);
    wal::LogCursor cursor;
    const wal::RecordView found =
        cursor.find(store.segments(), loser.name.slot, loser.undo_next, loser.newest_chunk);
    memory.assign(found.payload.begin(), found.payload.end());
    const auto record = wal::decode({found.type, found.gsn, memory});
    EXPECT_TRUE(record.has_value());
    return record.value();
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_ = disk_.device();
  std::unique_ptr<LogWriter> log_ = std::make_unique<LogWriter>(*device_);
};

TEST_F(RecoveryAnalysisTest, AnEmptyLogHasNothing) {
  log().harden();
  const RecoveryAnalysis analysis = analyse_now();
  EXPECT_THAT(analysis.losers, IsEmpty());
  EXPECT_THAT(space_of(analysis), IsEmpty());
  EXPECT_EQ(analysis.page_count_min, 0U);
}

TEST_F(RecoveryAnalysisTest, ThoseWithoutACommitLose) {
  log().change(0, insertion("a"));
  log().change(1, insertion("b"));
  const TransactionName loser = log().of(1).name();
  log().change(0, insertion("c"));
  log().change(1, insertion("d"));
  const Lsn undo_next = log().of(1).next_to_undo();
  log().commit(0);
  log().change(0, insertion("e"));
  log().commit(0);
  log().harden();
  const RecoveryAnalysis analysis = analyse_now();
  ASSERT_EQ(analysis.losers.size(), 1U);
  EXPECT_EQ(analysis.losers[0].name, loser);
  EXPECT_EQ(analysis.losers[0].undo_next, undo_next);
  std::vector<std::byte> memory;
  const wal::TransactionRecord record = read(analysis.losers[0], memory);
  EXPECT_EQ(record.back, log().back_of(1));
  EXPECT_EQ(Body(record.body.begin(), record.body.end()), insertion("d"));
  EXPECT_GE(analysis.newest_gsn, log().log().clock().now());
}

TEST_F(RecoveryAnalysisTest, ALoserIsReadBackThroughManyChunks) {
  log().change(2, insertion("first"));
  for (int i = 0; i < 20; ++i) {
    log().change(2, insertion("later"));
    log().harden();
  }
  const RecoveryAnalysis analysis = analyse_now();
  ASSERT_EQ(analysis.losers.size(), 1U);
  LoserTransaction at = analysis.losers[0];
  std::vector<std::byte> memory;
  int changes = 1;
  for (wal::TransactionRecord record = read(at, memory); record.back != 0; ++changes) {
    at.undo_next = Lsn{raw(at.undo_next) - record.back};
    record = read(at, memory);
  }
  EXPECT_EQ(changes, 21);
  EXPECT_EQ(at.undo_next, at.name.first);
}

TEST_F(RecoveryAnalysisTest, RolledBackTransactionsAreDone) {
  log().change(0, insertion("a"));
  log().compensate(0, undone(insertion("a")), 0);
  log().rolled_back(0);
  log().change(0, insertion("b"));
  log().commit(0);
  log().harden();
  EXPECT_THAT(analyse_now().losers, IsEmpty());
}

TEST_F(RecoveryAnalysisTest, UndoGoesOnWhereItWasInterrupted) {
  log().change(0, insertion("a"));
  const Lsn first = log().of(0).next_to_undo();
  log().change(0, insertion("b"));
  const std::uint32_t back = log().back_of(0);
  log().compensate(0, undone(insertion("b")), back);
  log().harden();
  const RecoveryAnalysis once = analyse_now();
  ASSERT_EQ(once.losers.size(), 1U);
  EXPECT_EQ(once.losers[0].undo_next, first);
  log().compensate(0, undone(insertion("a")), 0);
  log().harden();
  const RecoveryAnalysis all = analyse_now();
  ASSERT_EQ(all.losers.size(), 1U) << "no record says that it is rolled back";
  EXPECT_EQ(all.losers[0].undo_next, kNoLsn);
}

TEST_F(RecoveryAnalysisTest, CompensationByALaterIncarnationCounts) {
  log().change(3, insertion("a"));
  const TransactionName loser = log().of(3).name();
  log().change(3, insertion("b"));
  log().harden();
  reopen();
  // A recovery writes into slot 0, which later has a transaction of its own.
  log().compensate_as(0, {loser, loser.first}, undone(insertion("b")));
  log().harden();
  const RecoveryAnalysis half = analyse_now();
  ASSERT_EQ(half.losers.size(), 1U);
  EXPECT_EQ(half.losers[0].name, loser);
  EXPECT_EQ(half.losers[0].undo_next, loser.first);
  std::vector<std::byte> memory;
  EXPECT_EQ(read(half.losers[0], memory).back, 0U);
  reopen();
  log().compensate_as(1, {loser, kNoLsn}, undone(insertion("a")));
  log().rolled_back_as(1, loser);
  log().change(3, insertion("c"));
  const TransactionName next = log().of(3).name();
  log().harden();
  const RecoveryAnalysis done = analyse_now();
  ASSERT_EQ(done.losers.size(), 1U);
  EXPECT_EQ(done.losers[0].name, next);
  EXPECT_EQ(next.first, loser.first) << "LSNs begin anew in each incarnation";
}

// Slot 0 is in the middle of an append while slot 1 commits: no durable GSN covers that commit.
TEST_F(RecoveryAnalysisTest, WhatLiesBeyondTheCutDoesNotCount) {
  log().change(1, insertion("a"));
  const TransactionName name = log().of(1).name();
  log().harden();
  const Body body = insertion("b");
  Gsn beyond{0};
  const bool reserved = log().of(0).try_reserve({.change_bytes = body.size(), .system_bytes = 0},
                                                [] { return false; });
  ASSERT_TRUE(reserved);
  SimDisk crashed = disk_;
  log().of(0).append_change(Gsn{0}, wal::BodyKind::tree, body.size(), [&](MutableBytes into) {
    std::memcpy(into.data(), body.data(), body.size());
    beyond = log().commit(1);
    log().log().log().write_pending();
    crashed = disk_.crash(1, CrashKeeps::everything);
  });
  disk_ = crashed;
  const RecoveryAnalysis analysis = analysis_of(*crashed.device());
  ASSERT_EQ(analysis.losers.size(), 1U);
  EXPECT_EQ(analysis.losers[0].name, name);
  EXPECT_GE(analysis.newest_gsn, beyond) << "the clock restarts above what does not count";
  EXPECT_LT(analysis.records_counted, analysis.records);
}

TEST_F(RecoveryAnalysisTest, ATransactionThatBeganBeforeTheStartHasEnded) {
  log().change(0, insertion("a"));
  log().harden();
  log().log().forget();
  log().change(0, insertion("b"));
  log().commit(0);
  log().change(0, insertion("c"));
  const TransactionName loser = log().of(0).name();
  log().harden();
  const RecoveryAnalysis analysis = analyse_now();
  ASSERT_EQ(analysis.losers.size(), 1U);
  EXPECT_EQ(analysis.losers[0].name, loser);
}

TEST_F(RecoveryAnalysisTest, ATransactionWithoutBeginningOrEndIsCorruption) {
  log().change(5, insertion("a"));
  log().harden();
  log().log().forget();
  log().change(5, insertion("b"));
  log().harden();
  EXPECT_EQ(error_of([&] { return analyse_now(); }, "slot 5"), ErrorCode::corruption);
}

TEST_F(RecoveryAnalysisTest, HalfUndoneBeforeTheStartIsCorruption) {
  log().change(0, insertion("a"));
  log().change(0, insertion("b"));
  log().harden();
  log().log().forget();
  log().compensate(0, undone(insertion("b")), log().back_of(0));
  log().harden();
  EXPECT_EQ(error_of([&] { return analyse_now(); }, "before the start of replay"),
            ErrorCode::corruption);
  log().compensate(0, undone(insertion("a")), 0);
  log().harden();
  EXPECT_EQ(analyse_now().losers.size(), 1U) << "all is undone, and its end is missing";
  log().rolled_back(0);
  log().harden();
  EXPECT_THAT(analyse_now().losers, IsEmpty());
}

TEST_F(RecoveryAnalysisTest, CompensationOfWinnersIsCorruption) {
  log().change(0, insertion("a"));
  const TransactionName winner = log().of(0).name();
  log().commit(0);
  log().compensate_as(1, {winner, kNoLsn}, undone(insertion("a")));
  log().harden();
  EXPECT_EQ(error_of([&] { return analyse_now(); }, "has ended"), ErrorCode::corruption);
}

TEST_F(RecoveryAnalysisTest, UndoingTwiceIsCorruption) {
  log().change(0, insertion("a"));
  const TransactionName name = log().of(0).name();
  log().change(0, insertion("b"));
  const Lsn second = log().of(0).next_to_undo();
  log().compensate_as(1, {name, name.first}, undone(insertion("b")));
  log().compensate_as(1, {name, second}, undone(insertion("b")));
  log().harden();
  EXPECT_EQ(error_of([&] { return analyse_now(); }, "a change that is undone already"),
            ErrorCode::corruption);
}

TEST_F(RecoveryAnalysisTest, BodiesMustSuitTheirRoles) {
  log().change(0, undone(insertion("a")));
  log().harden();
  EXPECT_EQ(error_of([&] { return analyse_now(); }, "role"), ErrorCode::corruption);
}

// Space

TEST_F(RecoveryAnalysisTest, PagesOfStructureChanges) {
  log().system(0, encoded(btree::LoggedFormatRoot{kTree, PageId{600}}));
  const Gsn freed = log().system(1, space_body({{PageId{600}, 1}, {PageId{700}, 3}}), Gsn{1000},
                                 wal::BodyKind::space);
  log().system(0, encoded(btree::LoggedFormatRoot{kTree, PageId{701}}), freed);
  log().harden();
  const RecoveryAnalysis analysis = analyse_now();
  EXPECT_THAT(space_of(analysis),
              ElementsAre("600+1 free", "700+1 free", "701+1 used", "702+1 free"));
  EXPECT_EQ(analysis.ended.gsn_of(PageId{600}), freed);
  EXPECT_EQ(analysis.ended.gsn_of(PageId{701}), freed);
  EXPECT_EQ(analysis.ended.gsn_of(PageId{703}), Gsn{0});
  EXPECT_EQ(analysis.page_count_min, 702U);
}

// The stream shows slot 0 first, whatever the GSNs.
TEST_F(RecoveryAnalysisTest, TheNewestGsnDecidesNotTheOrderOfTheStream) {
  const Gsn used = log().change(0, large_insertion({{PageId{800}, 4}}), Gsn{2000});
  log().system(1, space_body({{PageId{800}, 4}}), Gsn{1000}, wal::BodyKind::space);
  log().harden();
  const RecoveryAnalysis analysis = analyse_now();
  EXPECT_THAT(space_of(analysis), ElementsAre("800+4 used"));
  EXPECT_EQ(analysis.ended.gsn_of(PageId{803}), used);
}

TEST_F(RecoveryAnalysisTest, WhatWinnersGaveUpIsPending) {
  log().change(0, large_replaced({{PageId{800}, 4}, {PageId{900}, 2}}));
  log().change(1, large_replaced({{PageId{1000}, 4}}));
  log().commit(0);
  log().harden();
  const RecoveryAnalysis analysis = analyse_now();
  EXPECT_THAT(analysis.given_up, ElementsAre(PageRun{PageId{800}, 4}, PageRun{PageId{900}, 2}))
      << "what a loser gave up is not";
  EXPECT_THAT(space_of(analysis), IsEmpty()) << "they are in use as they were";
  log().system(1, space_body({{PageId{801}, 2}}), Gsn{1'000'000}, wal::BodyKind::space);
  log().harden();
  EXPECT_THAT(analyse_now().given_up, ElementsAre(PageRun{PageId{800}, 1}, PageRun{PageId{803}, 1},
                                                  PageRun{PageId{900}, 2}));
}

TEST_F(RecoveryAnalysisTest, RollingBackFreesWhatWasTakenAndTakesBackWhatWasGivenUp) {
  const Body taken = large_insertion({{PageId{800}, 4}});
  const Body given = large_replaced({{PageId{900}, 4}});
  const Body other = large_replaced({{PageId{950}, 4}});
  log().change(0, other);
  log().change(0, taken);
  log().change(0, given);
  log().compensate(0, undone(given), log().back_of(0));
  log().compensate(
      0, undone(taken),
      static_cast<std::uint32_t>(raw(log().of(0).next_to_undo()) - raw(log().of(0).name().first)));
  log().harden();
  EXPECT_THAT(space_of(analyse_now()), ElementsAre("800+4 free"));
  log().commit(0);  // the rest of it
  log().harden();
  EXPECT_THAT(analyse_now().given_up, ElementsAre(PageRun{PageId{950}, 4}));
}

TEST_F(RecoveryAnalysisTest, ReportsProgressFromBeginningToEnd) {
  for (int i = 0; i < 200; ++i) {
    log().change(0, insertion("a"));
  }
  log().commit(0);
  log().harden();
  std::vector<Progress> seen;
  const auto device = disk_.crash(1, CrashKeeps::nothing).device();
  static_cast<void>(
      analysis_of(*device, [&](const Progress& progress) { seen.push_back(progress); }));
  ASSERT_GE(seen.size(), 2U);
  EXPECT_EQ(seen.front().phase, RecoveryPhase::analysis);
  EXPECT_EQ(seen.front().bytes_done, 0U);
  EXPECT_GT(seen.front().bytes_total, 0U);
  EXPECT_EQ(seen.back().bytes_done, seen.back().bytes_total);
  EXPECT_EQ(seen.back().estimated_remaining, std::chrono::milliseconds(0));
}

}  // namespace
}  // namespace palimpsest::engine::test
