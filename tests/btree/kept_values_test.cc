// Values that are cached in frames, and values whose write waits for a round of the log.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "btree/large/large_value_store.h"
#include "tests/btree/large_value_test_support.h"
#include "tests/support/error_of.h"
#include "tests/support/sim_disk.h"
#include "tests/wal/log_fixture.h"

namespace palimpsest::btree::test {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using palimpsest::test::SimOperation;

constexpr std::uint32_t kPageSize = 4096;
constexpr std::uint32_t kFrames = 2048;
/// The most blocks that may wait, and those of one value.
constexpr std::uint64_t kWaitingMax = kFrames / 128;
constexpr std::uint64_t kWaitingOfOneMax = kWaitingMax / 4;

class KeptValues : public ::testing::Test {
 public:
  ~KeptValues() override { disk_.set_hook({}); }

 protected:
  KeptValues()
      : device_(disk_.device()),
        log_(*device_),
        db_(LargeValueFile::create(*device_, kPageSize, kFrames, log_.log())) {
    db_->store.free(db_->store.write("an empty file has no map page yet"));
    disk_.set_hook([this](const SimOperation& operation) {
      if (operation.file == kFileName) {
        writes_ += operation.kind == SimKind::write ? 1 : 0;
      }
    });
  }

  void expect_holds(const LargeValueDescriptor& value, std::uint64_t seed) {
    std::string found;
    ASSERT_EQ(db_->store.read_all(value, found), ReadOutcome::complete) << print_descriptor(value);
    EXPECT_TRUE(found == pattern(seed, value.size_bytes())) << print_descriptor(value);
  }
  /// Drops the value from the frames.
  void forget(const LargeValueDescriptor& value) {
    for (std::uint32_t block = 0; block < value.block_count(); ++block) {
      db_->pool->blocks().forget(value.page_of(block));
    }
  }
  /// As a simulated disk counts them: no hook runs for a read.
  std::uint64_t reads_of(const LargeValueDescriptor& value, std::uint64_t seed) {
    const std::uint64_t before = disk_.operations();
    expect_holds(value, seed);
    return disk_.operations() - before;
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  wal::test::OpenLog log_;
  std::unique_ptr<LargeValueFile> db_;
  std::atomic<int> writes_{0};
};

TEST_F(KeptValues, WhatWasWrittenIsReadFromFrames) {
  for (const std::uint64_t size : {1UL, 1500UL, 9'000UL, 200'000UL}) {
    const LargeValueDescriptor value = db_->store.write(pattern(size, size));
    EXPECT_EQ(reads_of(value, size), 0U) << size;
    std::string piece;
    const std::uint64_t before = disk_.operations();
    ASSERT_EQ(read_piece(db_->store, value, size / 2, size - size / 2, piece),
              ReadOutcome::complete);
    EXPECT_TRUE(piece == pattern(size, size - size / 2, size / 2));
    EXPECT_EQ(disk_.operations(), before);
  }
}

TEST_F(KeptValues, WhatWasReadIsReadFromFrames) {
  const LargeValueDescriptor value = db_->store.write(pattern(1, 9'000));
  forget(value);
  EXPECT_EQ(reads_of(value, 1), 1U);
  EXPECT_EQ(reads_of(value, 1), 0U);
  db_->pool->blocks().forget(value.page_of(1));
  EXPECT_GT(reads_of(value, 1), 0U);
  EXPECT_EQ(reads_of(value, 1), 0U);
}

TEST_F(KeptValues, AValueOfManyBlocksTakesNoFrames) {
  const std::uint32_t free_before = db_->pool->free_frame_count();
  const LargeValueDescriptor value = db_->store.write(pattern(1, std::uint64_t{65} * kPageSize));
  EXPECT_GT(reads_of(value, 1), 0U);
  EXPECT_GT(reads_of(value, 1), 0U);
  EXPECT_EQ(db_->pool->free_frame_count(), free_before);
}

TEST_F(KeptValues, FreedOnesGiveTheirFramesBack) {
  const std::uint32_t free_before = db_->pool->free_frame_count();
  const LargeValueDescriptor value = db_->store.write(pattern(1, 9'000));
  EXPECT_EQ(db_->pool->free_frame_count(), free_before - 3);
  db_->store.free(value);
  EXPECT_EQ(db_->pool->free_frame_count(), free_before);
}

// Its pages belong to another value, in frames and in the file.
TEST_F(KeptValues, AnOldDescriptorFindsNothingOfTheNewValue) {
  const LargeValueDescriptor old_value = db_->store.write(pattern(1, 3'000));
  db_->space.free({old_value.page_of(0), 1});  // frames are not told
  LargeValueDescriptor value = db_->store.write(pattern(2, 3'000));
  while (value.page_of(0) != old_value.page_of(0)) {
    value = db_->store.write(pattern(2, 3'000));
  }
  expect_holds(value, 2);
  expect_holds(old_value, 1);  // it is still in a frame
  forget(old_value);
  expect_holds(value, 2);
  std::string found;
  EXPECT_EQ(db_->store.read_all(old_value, found), ReadOutcome::replaced);
}

TEST_F(KeptValues, WhatWaitsIsFound) {
  const LargeValueDescriptor value = db_->store.write_for_commit(pattern(1, 9'000));
  EXPECT_EQ(writes_, 0);
  EXPECT_EQ(reads_of(value, 1), 0U);
  forget(value);
  EXPECT_EQ(reads_of(value, 1), 0U) << "what waits is not looked for in the file";
  db_->store.write_deferred();
  EXPECT_GT(writes_, 0);
  EXPECT_EQ(reads_of(value, 1), 1U);
  EXPECT_NO_THROW(db_->store.verify(value));
}

TEST_F(KeptValues, WhatWaitsIsSound) {
  const LargeValueDescriptor value = db_->store.write_for_commit(pattern(1, 9'000));
  EXPECT_NO_THROW(db_->store.verify(value));
  EXPECT_EQ(writes_, 0);
}

// With one transfer for each page there would be as many operations as pages.
TEST_F(KeptValues, NeighboursAreReadTogether) {
  const LargeValueDescriptor large = db_->store.write(pattern(1, 100'000));
  forget(large);
  EXPECT_EQ(reads_of(large, 1), 1U);
  std::vector<LargeValueDescriptor> values;
  values.reserve(64);
  for (std::uint64_t i = 0; i < 20; ++i) {
    values.push_back(db_->store.write(pattern(i, 1500)));
    forget(values.back());
  }
  values.push_back(values.front());  // the same value twice
  const std::uint64_t before = disk_.operations();
  db_->store.prefetch(values);
  EXPECT_LE(disk_.operations() - before, 2U);
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(reads_of(values[i], i), 0U);
  }
}

// With large pages, a value of few blocks exceeds what is written at once.
TEST_F(KeptValues, AValueOfSeveralBuffersIsWhole) {
  const auto device = disk_.device();
  device->remove(kFileName);
  constexpr std::uint32_t kLargePage = 65536;
  const auto db = LargeValueFile::create(*device, kLargePage, 1024, log_.log());
  for (const std::uint64_t size : {1'000'000UL, 1'500'000UL, 2'000'000UL}) {
    const LargeValueDescriptor value = db->store.write(pattern(size, size));
    for (int i = 0; i < 2; ++i) {
      std::string found;
      ASSERT_EQ(db->store.read_all(value, found), ReadOutcome::complete);
      EXPECT_TRUE(found == pattern(size, size));
    }
  }
}

TEST_F(KeptValues, NeighboursAreWrittenTogether) {
  std::vector<LargeValueDescriptor> values;
  values.reserve(64);
  for (std::uint64_t i = 0; i < kWaitingMax; ++i) {
    values.push_back(db_->store.write_for_commit(pattern(i, 1500)));
  }
  EXPECT_EQ(writes_, 0);
  db_->store.write_deferred();
  EXPECT_LE(writes_, 2) << "pages side by side are one transfer";
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    forget(values[i]);
    expect_holds(values[i], i);
  }
}

TEST_F(KeptValues, AWriterWithoutRoomWritesAll) {
  std::vector<LargeValueDescriptor> values;
  values.reserve(64);
  for (std::uint64_t i = 0; i <= kWaitingMax; ++i) {
    values.push_back(db_->store.write_for_commit(pattern(i, 1500)));
  }
  EXPECT_GT(writes_, 0);
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    forget(values[i]);
    EXPECT_EQ(reads_of(values[i], i), i < kWaitingMax ? 1U : 0U);
  }
}

TEST_F(KeptValues, LargerOnesDoNotWait) {
  const std::uint64_t most = kWaitingOfOneMax * extent_payload_bytes(kPageSize);
  static_cast<void>(db_->store.write_for_commit(pattern(1, most)));
  EXPECT_EQ(writes_, 0);
  static_cast<void>(db_->store.write_for_commit(pattern(2, most + 1)));
  EXPECT_GT(writes_, 0);
}

TEST_F(KeptValues, WhatIsFreedIsNotWritten) {
  const LargeValueDescriptor value = db_->store.write_for_commit(pattern(1, 9'000));
  const std::uint64_t allocated = db_->allocated();
  db_->store.free(value);
  EXPECT_EQ(db_->allocated(), allocated - 3);
  db_->store.write_deferred();
  EXPECT_EQ(writes_, 0);
}

TEST_F(KeptValues, AFailedWriteIsTriedOnceMore) {
  const LargeValueDescriptor value = db_->store.write_for_commit(pattern(1, 1500));
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::write), .file = kFileName});
  EXPECT_NO_THROW(db_->store.write_deferred());
  forget(value);
  EXPECT_EQ(reads_of(value, 1), 1U);
}

TEST_F(KeptValues, WhatCannotBeWrittenWaitsOn) {
  const LargeValueDescriptor value = db_->store.write_for_commit(pattern(1, 1500));
  disk_.inject(
      {.kinds = static_cast<unsigned>(SimKind::write), .file = kFileName, .for_good = true});
  EXPECT_EQ(error_of([&] { db_->store.write_deferred(); }), ErrorCode::io_error);
  disk_.clear_faults();
  forget(value);
  EXPECT_EQ(reads_of(value, 1), 0U);
  EXPECT_NO_THROW(db_->store.write_deferred());
  EXPECT_EQ(reads_of(value, 1), 1U);
}

#ifdef PALIMPSEST_SYNC_POINTS
// Another value may get its pages as soon as they are free.
TEST_F(KeptValues, FreeingWaitsForTheWrite) {
  const LargeValueDescriptor value = db_->store.write_for_commit(pattern(1, 1500));
  const std::uint64_t allocated = db_->allocated();
  SyncBarrier writing("btree.unwritten.writing");
  std::thread round([&] { db_->store.write_deferred(); });
  writing.wait_until_reached();
  SyncBarrier waits("btree.unwritten.dropping");
  std::thread owner([&] { db_->store.free(value); });
  waits.wait_until_reached();
  waits.release();
  for (int i = 0; i < 20'000 && db_->allocated() == allocated; ++i) {
    std::this_thread::yield();  // without the wait, this thread frees them now
  }
  EXPECT_EQ(db_->allocated(), allocated);
  writing.release();
  owner.join();
  round.join();
  EXPECT_EQ(db_->allocated(), allocated - 1);
  EXPECT_GT(writes_, 0);
}

// Values added during a round are written by the next one.
TEST_F(KeptValues, WhatComesMeanwhileWaitsForTheNext) {
  static_cast<void>(db_->store.write_for_commit(pattern(1, 1500)));
  SyncBarrier writing("btree.unwritten.writing");
  std::thread round([&] { db_->store.write_deferred(); });
  writing.wait_until_reached();
  const LargeValueDescriptor value = db_->store.write_for_commit(pattern(2, 1500));
  writing.release();
  round.join();
  forget(value);
  EXPECT_EQ(reads_of(value, 2), 0U);
  db_->store.write_deferred();
  EXPECT_EQ(reads_of(value, 2), 1U);
}
#endif

}  // namespace
}  // namespace palimpsest::btree::test
