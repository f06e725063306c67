// Which records redo receives, and when: windows, and records that come late in the stream.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "btree/log/tree_record_encode.h"
#include "tests/btree/tree_log_support.h"
#include "tests/engine/recovery_fixture.h"

namespace palimpsest::engine::test {
namespace {

using btree::test::encoded;
using palimpsest::test::CrashKeeps;
using palimpsest::test::SimDisk;

constexpr TreeId kTree{1};

class RecoveryWindow : public ::testing::Test {
 protected:
  RecoveryWindow() {
    const auto file = buffer::PageFile::create(*device_, "pages", {.page_size_bytes = kPageSize});
    page_ = file->first_page();
    log_ = std::make_unique<LogWriter>(*device_);
    newest_ = log_->system(0, encoded(btree::LoggedFormatRoot{kTree, page_}));
  }

  /// Logs the insertion of the next record, and returns the GSN.
  Gsn insert(std::uint32_t slot, std::size_t bytes) {
    newest_ = log_->change(slot, insertion(bytes), newest_);
    ++records_;
    return newest_;
  }
  [[nodiscard]] Body insertion(std::size_t bytes) const {
    const std::string key = "key" + std::to_string(100'000 + records_);
    return encoded(btree::LoggedInsert{{kTree, page_, static_cast<btree::SlotIndex>(records_), key},
                                       {std::string(bytes, 'v')}});
  }
  /// Fills several windows of the smallest memory, in batches of their own, with changes of another
  /// page.
  void fill_windows() {
    const PageId other{raw(page_) + 1};
    const auto value = [](int i) { return std::string(900, i % 2 == 0 ? 'a' : 'b'); };
    log_->system(2, encoded(btree::LoggedFormatRoot{TreeId{9}, other}));
    log_->change(2, encoded(btree::LoggedInsert{{TreeId{9}, other, 0, "k"}, {value(0)}}));
    for (int i = 0; i < 200; ++i) {
      log_->change(
          2, encoded(btree::LoggedUpdate{{TreeId{9}, other, 0, "k"}, {value(i)}, {value(i + 1)}}));
      if (i % 20 == 0) {
        log_->log().log().write_pending();
      }
    }
  }
  /// Records in the page after redo of the disk.
  static std::size_t replayed(const SimDisk& disk, PageId page) {
    const auto device = disk.device();
    recover(*device, {.memory_bytes = 1});
    const auto file = buffer::PageFile::open(*device, "pages", {.allow_unclean = true});
    const AlignedMemory image(kPageSize, kPageSize);
    file->read_page(page, image.bytes());
    return btree::LeafView(image.data(), kPageSize).count();
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_ = disk_.device();
  std::unique_ptr<LogWriter> log_;
  PageId page_{};
  Gsn newest_{};
  std::size_t records_ = 0;
};

// Slot 0 has taken its GSN and not published its record; a round passes, which must not state a
// later horizon. Then the record comes in a later batch than its successors on the page.
TEST_F(RecoveryWindow, ARecordThatComesLateInTheStreamIsRedoneInItsTurn) {
  const Body late = insertion(8);
  const bool reserved = log_->of(0).try_reserve({.change_bytes = late.size(), .system_bytes = 0},
                                                [] { return false; });
  ASSERT_TRUE(reserved);
  ++records_;
  log_->of(0).append_change(newest_, wal::BodyKind::tree, late.size(), [&](MutableBytes into) {
    std::memcpy(into.data(), late.data(), late.size());
    newest_ = log_->log().slots()[SlotId{0}].gsn();
    insert(1, 8);
    fill_windows();
  });
  log_->harden();
  EXPECT_EQ(replayed(disk_.crash(1, CrashKeeps::nothing), page_), records_);
}

// A batch has the records of one slot after those of another, whatever their GSNs.
TEST_F(RecoveryWindow, RecordsOfAPageThatLieUnsortedInAWindowAreRedoneInTheirTurn) {
  for (std::uint32_t i = 0; i < 60; ++i) {
    insert((i * 7 + i / 9) % 4, 8);
  }
  log_->harden();
  EXPECT_EQ(replayed(disk_.crash(1, CrashKeeps::nothing), page_), records_);
}

// Records adjacent in memory belong to other pages: no page may get another's.
TEST_F(RecoveryWindow, OnlyWhatFollowsTheLastFormatOfAPageIsApplied) {
  const PageId next{raw(page_) + 1};
  log_->system(1, encoded(btree::LoggedFormatRoot{TreeId{2}, next}));
  for (std::uint32_t i = 0; i < 12; ++i) {
    insert(i % 3, 8);
  }
  newest_ = log_->system(3, encoded(btree::LoggedFormatRoot{kTree, page_}), newest_);
  records_ = 0;
  for (std::uint32_t i = 0; i < 5; ++i) {
    insert(2 - i % 3, 8);
  }
  log_->harden();
  const SimDisk disk = disk_.crash(1, CrashKeeps::nothing);
  const RedoStatistics redone = recover(*disk.device(), {});
  EXPECT_EQ(redone.changes, 1U + 1U + 12U + 1U + 5U);
  EXPECT_EQ(redone.changes_applied, 1U + 1U + 5U);
  EXPECT_EQ(redone.pages_read, 0U);
  EXPECT_EQ(replayed(disk, page_), records_);
}

TEST_F(RecoveryWindow, WhatLiesBeyondTheCutIsNotRedone) {
  insert(1, 8);
  log_->harden();
  const Body unpublished = insertion(8);
  const bool reserved = log_->of(0).try_reserve(
      {.change_bytes = unpublished.size(), .system_bytes = 0}, [] { return false; });
  ASSERT_TRUE(reserved);
  SimDisk crashed = disk_;
  const std::size_t durable = records_;
  log_->of(0).append_change(Gsn{0}, wal::BodyKind::tree, unpublished.size(),
                            [&](MutableBytes into) {
                              std::memcpy(into.data(), unpublished.data(), unpublished.size());
                              insert(1, 8);
                              log_->log().log().write_pending();
                              crashed = disk_.crash(1, CrashKeeps::everything);
                            });
  EXPECT_EQ(replayed(crashed, page_), durable);
  EXPECT_GT(analysis_of(*crashed.device()).records, durable + 1) << "it is in the stream";
}

}  // namespace
}  // namespace palimpsest::engine::test
