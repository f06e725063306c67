// Rounds that meet an append at each of its steps, and appends that meet a round: everything that a
// round has stated as durable survives a crash (worker_slots.h, argument for (3)).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/sync_point.h"
#include "tests/wal/log_fixture.h"

#ifdef PALIMPSEST_SYNC_POINTS

namespace palimpsest::wal::test {
namespace {

using palimpsest::test::CrashKeeps;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using palimpsest::test::SimOperation;

class LogInterleaving : public ::testing::Test {
 protected:
  LogInterleaving()
      : device_(disk_.device()), open_(*device_), a_(open_.claim()), b_(open_.claim()) {}

  void change(SlotId slot) { appended_.push_back(open_.change(slot, ++number_, 40, Gsn{0})); }
  void commit(SlotId slot) { appended_.push_back(open_.commit(slot, ++number_)); }
  void round() { open_.log().write_pending(); }

  /// Everything stated as durable now survives a crash.
  void expect_claim_holds() {
    const SimDisk crashed = disk_.crash(1, CrashKeeps::nothing);
    EXPECT_EQ(missing(appended_, open_.log().durable_gsn(), read_log(*crashed.device())), "");
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  OpenLog open_;
  SlotId a_;
  SlotId b_;
  std::uint64_t number_ = 0;
  std::vector<Remembered> appended_;
};

TEST_F(LogInterleaving, RoundMeetsARecordBeingPublished) {
  commit(b_);  // there is something to write
  {
    bool first = true;
    SyncHook hook("wal.append.published", [&] {
      if (first) {
        first = false;
        round();
      }
    });
    change(a_);
    EXPECT_EQ(hook.hits(), 1U);
  }
  expect_claim_holds();
  round();
  expect_claim_holds();
}

TEST_F(LogInterleaving, RoundMeetsACommitThatDrawsItsTimestamp) {
  change(b_);
  {
    SyncHook hook("wal.commit.marked", [&] { round(); });
    commit(a_);
    EXPECT_EQ(hook.hits(), 1U);
  }
  expect_claim_holds();
  open_.log().wait_durable(appended_.back().gsn);
  expect_claim_holds();
}

TEST_F(LogInterleaving, AppendsMeetARound) {
  commit(a_);
  {
    bool first = true;
    SyncHook hook("wal.round.contributed", [&] {
      if (first) {
        first = false;
        change(a_);
        change(b_);
        commit(b_);
      }
    });
    round();
    EXPECT_GT(hook.hits(), 0U);
  }
  expect_claim_holds();
  round();
  expect_claim_holds();
}

// A round that checks pages before it captures could write records whose pages were not yet there.
TEST_F(LogInterleaving, WhatNeedsPagesIsWrittenWhenTheyAreDurable) {
  SimDisk disk;
  const auto device = disk.device();
  std::vector<std::string> events;
  LogOptions options = small_options();
  options.harden_pages = [&] { events.emplace_back("pages"); };
  OpenLog open(*device, kSmallFiles, options);
  const SlotId slot = open.claim();
  disk.set_hook([&](const SimOperation& operation) {
    events.emplace_back(operation.kind == SimKind::sync ? "sync" : "write");
  });
  const SyncHook hook("wal.round.contributed", [&] { events.emplace_back("begin"); });
  open.log().need_pages();
  open.commit(slot, 1);
  open.log().write_pending();
  open.commit(slot, 2);
  open.log().write_pending();
  disk.set_hook({});
  EXPECT_EQ(events, (std::vector<std::string>{"begin", "pages", "write", "sync",  // with them
                                              "begin", "write", "sync"}));
}

// A commit that comes too late for a round's GSN but in time for its batch is not covered: another
// round is needed, though nothing waits to be written.
TEST_F(LogInterleaving, CommitWrittenBeyondTheStatedGsnIsStillPending) {
  change(b_);
  {
    bool first = true;
    SyncHook hook("wal.round.contributed", [&] {
      if (first) {
        first = false;
        commit(a_);
      }
    });
    round();
    EXPECT_EQ(hook.hits(), 1U);
  }
  ASSERT_LT(open_.log().durable_gsn(), appended_.back().gsn);
  EXPECT_TRUE(open_.log().has_pending());
  round();
  EXPECT_GE(open_.log().durable_gsn(), appended_.back().gsn);
  EXPECT_FALSE(open_.log().has_pending());
}

// An idle slot appends when the round has read the ends of all logs: its record is not in the
// batch, so its GSN lies above what the batch states (argument for C4 before A1).
TEST_F(LogInterleaving, IdleSlotAppendsBehindARound) {
  for (int i = 0; i < 5; ++i) {
    commit(a_);  // the clock leaves the other slot behind
  }
  {
    bool first = true;
    SyncHook hook("wal.batch.written", [&] {
      if (first) {
        first = false;
        change(b_);
      }
    });
    round();
    EXPECT_EQ(hook.hits(), 1U);
  }
  EXPECT_GT(appended_.back().gsn, open_.log().durable_gsn());
  expect_claim_holds();
  round();
  EXPECT_LE(appended_.back().gsn, open_.log().durable_gsn());
  expect_claim_holds();
}

// Power fails when a batch is written and not synced: nothing of it is acknowledged.
TEST_F(LogInterleaving, NothingIsStatedBeforeTheSync) {
  change(a_);
  commit(a_);
  int syncs = 0;
  disk_.set_hook([&](const palimpsest::test::SimOperation& operation) {
    if (operation.kind == palimpsest::test::SimKind::sync) {
      ++syncs;
      expect_claim_holds();
    }
  });
  round();
  disk_.set_hook({});
  EXPECT_EQ(syncs, 1);
  expect_claim_holds();
}

}  // namespace
}  // namespace palimpsest::wal::test

#endif
