// The bounds of a log in use: the rings of its slots, and the credit that keeps it within its
// segments.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "palimpsest/error.h"

#include "tests/support/error_of.h"
#include "tests/wal/log_fixture.h"
#include "wal/log.h"
#include "wal/transaction_log.h"

namespace palimpsest::wal::test {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using palimpsest::test::SimOperation;

class LogBounds : public ::testing::Test {
 protected:
  LogBounds() : device_(disk_.device()) {}

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
};

// During the write of a batch, only the ring contains its records: their slot may append more, but
// not over them.
TEST_F(LogBounds, RecordsOnTheirWayToTheDiskStayInTheRing) {
  OpenLog open(*device_);
  const SlotId slot = open.claim();
  constexpr std::size_t kPayload = 1000;
  constexpr std::size_t kRecord = kRecordHeaderBytesMax + kPayload;
  std::vector<Remembered> appended;
  appended.reserve(8);
  for (std::uint64_t i = 0; i < 7; ++i) {
    appended.push_back(open.change(slot, i, kPayload, Gsn{0}));
  }
  int met = 0;
  disk_.set_hook([&](const SimOperation& operation) {
    if (operation.kind != SimKind::write || ++met > 1) {
      return;
    }
    while (open.log().slot_log(slot).has_room(kRecord)) {
      appended.push_back(open.change(slot, appended.size(), kPayload, Gsn{0}));
    }
    EXPECT_EQ(appended.size(), 8U);  // the ring has 8 KiB
    LogCursor cursor;
    std::vector<std::byte> bytes;
    for (const Remembered& record : appended) {
      open.log().read_back(slot, record.lsn, cursor, bytes);
      const auto view = record_at(bytes, 0);
      ASSERT_TRUE(view);
      EXPECT_EQ(number_of(slot, view->payload), record.number);
    }
  });
  open.log().write_pending();
  disk_.set_hook({});
  EXPECT_GE(met, 1);
  open.log().write_pending();
  EXPECT_EQ(missing(appended, open.log().durable_gsn(), read_log(*disk_.snapshot().device())), "");
}

// The memory budget counts larger logs for the first slots only; no other slot may take as much.
TEST_F(LogBounds, OnlyTheFirstSlotsHaveTheLargerLogs) {
  LogOptions options = small_options();
  options.first_slot_log_bytes = 2 * options.slot_log_bytes;
  options.first_slot_logs = 1;
  OpenLog open(*device_, kSmallFiles, options);
  const SlotId first = open.claim();
  const SlotId second = open.claim();
  ASSERT_EQ(first, SlotId{0});
  open.log().reserve(first, {.bytes = 100, .credit_bytes = 100});
  open.log().reserve(second, {.bytes = 100, .credit_bytes = 100});
  EXPECT_TRUE(open.log().slot_log(first).has_room(options.first_slot_log_bytes));
  EXPECT_TRUE(open.log().slot_log(second).has_room(options.slot_log_bytes));
  EXPECT_FALSE(open.log().slot_log(second).has_room(options.slot_log_bytes + 1));
}

// Credit does not cover padding: a writer of small commits uses more of the log than its credit.
// When nothing is left, remaining credit does not help; only threads that free space go on.
TEST_F(LogBounds, CreditInHandDoesNotPassPadding) {
  OpenLog open(*device_);
  const SlotId slot = open.claim();
  const SlotId other = open.claim();
  const auto try_reserve = [&](SlotId whose, std::size_t credit_bytes, bool goes_first) {
    return open.log().try_reserve(
        whose, {.bytes = 100, .credit_bytes = credit_bytes, .goes_first = goes_first},
        [] { return true; });
  };
  for (std::uint64_t i = 0; i < 150; ++i) {  // more than a segment, freed below
    open.log().wait_durable(open.commit(slot, i).gsn);
  }
  ASSERT_TRUE(try_reserve(slot, std::size_t{2} << 16U, false));
  constexpr std::size_t kStep = 4096;
  for (std::size_t bytes = kStep; try_reserve(other, bytes, false); bytes += kStep) {
  }
  int appended = 0;
  const auto append_and_wait = [&] {
    const auto payload = payload_of(slot, 1, 16);
    const Appended record =
        open.log().append(slot, Gsn{0}, kChange, payload.size(),
                          [&](MutableBytes into) { std::ranges::copy(payload, into.begin()); });
    open.log().wait_durable(record.gsn);
    ++appended;
  };
  while (appended < 50 && try_reserve(slot, 100, false)) {
    append_and_wait();
  }
  EXPECT_LT(appended, 50);
  EXPECT_TRUE(try_reserve(slot, 100, true));
  append_and_wait();
  EXPECT_FALSE(try_reserve(slot, 100, false));
  open.forget();
  EXPECT_TRUE(try_reserve(slot, 100, false));
}

// Credit does not cover padding: small commits of many slots use more than their credit. They have
// to wait, and the log keeps working.
TEST_F(LogBounds, PaddingOfSmallCommitsPushesBack) {
  OpenLog open(*device_);
  std::vector<SlotId> slots;
  for (int i = 0; i < 12; ++i) {
    slots.push_back(open.claim());
    open.log().reserve(slots.back(), {.bytes = 100, .credit_bytes = 12 << 10U});
  }
  for (int round = 0; round < 3; ++round) {
    std::uint64_t commits = 0;
    while (open.log().try_reserve(slots[commits % 12], {.bytes = 100, .credit_bytes = 100},
                                  [] { return true; })) {
      open.log().wait_durable(open.commit(slots[commits % 12], commits + 1).gsn);
      ++commits;
    }
    EXPECT_GT(commits, 100U);
    EXPECT_FALSE(open.log().failed());
    EXPECT_LE(open.store().segments().files(), kSmallFiles.segments_max);
    open.forget();
  }
  open.log().wait_durable(open.commit(slots[0], 1).gsn);
}

TEST_F(LogBounds, MoreThanTheLogIsRefusedAndWaitersMayGiveUp) {
  OpenLog open(*device_);
  const SlotId slot = open.claim();
  const auto reserve = [&](std::size_t credit) {
    return open.log().try_reserve(slot, {.bytes = 100, .credit_bytes = credit},
                                  [] { return true; });
  };
  EXPECT_EQ(
      error_of([&] { return reserve(7 * kSmallFiles.segment_bytes); }, "but the log is limited to"),
      ErrorCode::invalid_argument);
  EXPECT_TRUE(reserve(5 * kSmallFiles.segment_bytes));
  const SlotId other = open.claim();
  EXPECT_FALSE(
      open.log().try_reserve(other, {.bytes = 100, .credit_bytes = 3 << 16U}, [] { return true; }));
  open.log().release_credit(slot);
  EXPECT_TRUE(
      open.log().try_reserve(other, {.bytes = 100, .credit_bytes = 3 << 16U}, [] { return true; }));
}

// The compensation of a change may be much shorter than the change.
TEST_F(LogBounds, WhatIsUndoneIsOwedNoMore) {
  constexpr std::size_t kChangeBytes = 1000;
  OpenLog open(*device_);
  TransactionLog log(open.log(), open.clock(), open.claim());
  const auto nothing = [](MutableBytes into) { std::ranges::fill(into, std::byte{0}); };
  std::vector<std::uint32_t> back;
  for (int i = 0; i < 5; ++i) {
    log.reserve({.change_bytes = kChangeBytes});
    const Lsn before = log.next_to_undo();
    log.append_change(Gsn{0}, BodyKind::tree, kChangeBytes, nothing);
    back.push_back(i == 0 ? 0 : static_cast<std::uint32_t>(raw(log.next_to_undo()) - raw(before)));
  }
  for (; !back.empty(); back.pop_back()) {
    EXPECT_EQ(log.owed_bytes(), back.size() * compensation_bytes_max(kChangeBytes));
    log.reserve_compensation(kChangeBytes);
    log.append_compensation(Gsn{0}, {.back = back.back(), .body_bytes = kChangeBytes},
                            BodyKind::tree, 10, nothing);
  }
  EXPECT_EQ(log.owed_bytes(), 0U);
  log.reserve_end();
  log.append_rolled_back();
}

// A transaction that works for another one, within a call of that one, is cancelled with it: the
// log space of both decides whether another attempt would fail again.
TEST_F(LogBounds, AHelperOfATransactionThatFillsAShortLogGetsNoSpace) {
  constexpr std::size_t kChangeBytes = 1000;
  LogFileOptions files = kSmallFiles;
  files.segments_max = 64;
  OpenLog open(*device_, files);
  disk_.inject(
      {.error = ENOSPC, .kinds = static_cast<unsigned>(SimKind::create), .for_good = true});
  TransactionLog large(open.log(), open.clock(), open.claim());
  TransactionLog helper(open.log(), open.clock(), open.claim());
  for (TransactionLog* const log : {&large, &helper}) {
    log->begin();
    log->begin_changes(open.clock().now());
  }
  helper.work_for(&large);
  large.cancel(open.clock().now());
  const auto told = [&] { return error_of([&] { helper.reserve({.change_bytes = 100}); }); };
  EXPECT_EQ(told(), ErrorCode::transaction_too_old) << "neither takes much";
  large.cancel(Gsn{0});
  for (int i = 0; i < 45; ++i) {  // of a log of 128 KiB
    large.reserve({.change_bytes = kChangeBytes});
    large.append_change(Gsn{0}, BodyKind::tree, kChangeBytes,
                        [](MutableBytes into) { std::ranges::fill(into, std::byte{0}); });
  }
  large.cancel(open.clock().now());
  EXPECT_EQ(told(), ErrorCode::no_space);
}

}  // namespace
}  // namespace palimpsest::wal::test
