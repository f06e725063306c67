// A sync of the log fails, the process ends, and the log is opened again in the same boot, where
// the cache shows batches that the medium has not. Then the power fails, at every operation:
// - opening succeeds, always;
// - everything acknowledged is there, from the life before as well as from this one;
// - the records that this life has found, and continues from, are durable as soon as it has opened.
//
// The same if opening fails on the way, and if batches are torn while they are written again.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tests/wal/log_fixture.h"

namespace palimpsest::wal::test {
namespace {

using palimpsest::test::CrashKeeps;
using palimpsest::test::Rounds;
using palimpsest::test::SimDisk;
using palimpsest::test::SimFault;
using palimpsest::test::SimKind;
using palimpsest::test::SimOperation;
using palimpsest::test::Sweep;

constexpr unsigned kSyncs = unsigned(SimKind::sync);
/// The name of a control file until it is complete.
constexpr std::string_view kNewControlFileName = "log-control.new";

bool writes_segment(const SimOperation& operation) {
  return operation.kind == SimKind::write && Segments::is_name(operation.file);
}

/// The expected state, outside of the log.
struct Known {
  std::vector<Remembered> appended;
  std::map<Incarnation, Gsn> needed;  ///< records up to it must be found

  void need(Incarnation incarnation, Gsn gsn) {
    needed[incarnation] = std::max(needed[incarnation], gsn);
  }
  [[nodiscard]] std::string missing_in(const Found& found) const {
    std::string text;
    for (const auto& [incarnation, gsn] : needed) {
      std::vector<Remembered> records;
      for (const Remembered& record : appended) {
        if (record.incarnation == incarnation) {
          records.push_back(record);
        }
      }
      text += missing(records, gsn, found);
    }
    return text;
  }
};

struct Point {
  SimDisk disk;
  Known known;
};

/// A life of the log, on one thread.
class Life {
 public:
  Life(SimDisk& disk, Known& known) : known_(known), device_(disk.device()), log_(*device_) {
    const Found found = read_log(*disk.snapshot().device());
    for (const auto& [incarnation, cut] : found.cuts) {
      known_.need(incarnation, cut);
    }
    slot_ = log_.claim();
    number_ = 1000 * raw(log_.log().incarnation());
  }

  /// Several batches, some of which begin a segment, and replay's start follows.
  void work(int commits) {
    for (int i = 0; i < commits; ++i) {
      for (int changes = 0; changes <= i % 4; ++changes) {
        known_.appended.push_back(log_.change(slot_, ++number_, 1700, Gsn{0}));
      }
      known_.appended.push_back(log_.commit(slot_, ++number_));
      log_.log().wait_durable(known_.appended.back().gsn);
      known_.need(log_.log().incarnation(), log_.log().durable_gsn());
      if (i % 7 == 3) {
        start_ = log_.log().current_start();
        before_start_ = known_.appended.size();
      } else if (i % 7 == 6) {
        move_start();
      }
    }
  }

 private:
  // From here on, records before it may be found or not.
  void move_start() {
    known_.appended.erase(known_.appended.begin(),
                          known_.appended.begin() + static_cast<std::ptrdiff_t>(before_start_));
    log_.log().move_start(start_, "", false);
  }

  Known& known_;
  std::unique_ptr<io::Device> device_;
  OpenLog log_;
  SlotId slot_{};
  std::uint64_t number_ = 0;
  LogStart start_;
  std::size_t before_start_ = 0;
};

/// A disk on which a life has ended after its n-th sync failed, in the same boot; whether it
/// failed.
bool fail_a_sync(SimDisk& disk, Known& known, std::uint64_t nth) {
  bool failed = false;
  {
    Life life(disk, known);
    disk.inject({.kinds = kSyncs, .nth = nth});
    try {
      life.work(40);
    } catch (const Error&) {
      failed = true;
    }
  }
  disk.clear_faults();
  return failed;
}

/// Opens and works a little; the states that a power failure would leave at each operation.
std::vector<Point> points_of_a_life(SimDisk& disk, Known known) {
  std::vector<Point> points;
  disk.set_hook([&](const SimOperation&) { points.push_back({disk.snapshot(), known}); });
  {
    Life life(disk, known);
    life.work(4);
  }
  disk.set_hook({});
  points.push_back({disk.snapshot(), known});
  return points;
}

/// "" if the disk has everything required, and the log goes on.
std::string fault_of(SimDisk disk, const Known& before) {
  try {
    Known known = before;
    Life life(disk, known);
    std::string fault = before.missing_in(read_log(*disk.snapshot().device()));
    life.work(2);
    return fault + known.missing_in(read_log(*disk.snapshot().device()));
  } catch (const Error& error) {
    return error.what();
  }
}

/// Power fails at every point.
void expect_all_survives(const std::vector<Point>& points, std::uint64_t seed) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (const CrashKeeps keeps : {CrashKeeps::nothing, CrashKeeps::random}) {
      const SimDisk crashed = points[i].disk.crash(seed + i, keeps);
      ASSERT_EQ(fault_of(crashed, points[i].known), "")
          << "power failure at operation " << i << " of " << points.size()
          << (keeps == CrashKeeps::nothing ? ", only what is durable" : ", any part of the rest");
    }
  }
}

/// A log whose segments have all been used, and its expected state.
Point used_log(std::uint64_t seed = 5) {
  Point used{.disk = SimDisk({.seed = seed}), .known = {}};
  Life life(used.disk, used.known);
  life.work(100);
  return used;
}

constexpr std::uint64_t kSyncsOfALife = 60;
constexpr std::uint64_t kOperationsOfOpening = 24;  ///< or a few of the work after it

TEST(LogFailedSync, WhatReopeningFindsIsDurable) {
  const Point used = used_log();
  for (Sweep sweep(2 * kSyncsOfALife, 12, 2); const auto at = sweep.next();) {
    SCOPED_TRACE(testing::Message() << "sync " << *at / 2);
    Point point = *at % 2 == 0 ? Point{.disk = SimDisk({.seed = *at}), .known = {}}
                               : Point{.disk = used.disk.snapshot(), .known = used.known};
    fail_a_sync(point.disk, point.known, *at / 2 + 1);
    expect_all_survives(points_of_a_life(point.disk, point.known), *at);
    if (HasFatalFailure()) {
      return;
    }
  }
}

/// Opening may fail with a disk's error.
void try_to_open(SimDisk& disk, const SimFault& fault) {
  disk.inject(fault);
  try {
    OpenLog open(*disk.device());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io_error) << error.what();
  }
  disk.clear_faults();
}

// Each opening writes the same batches again, and any operation of it may fail.
TEST(LogFailedSync, OpeningFailsOnItsWay) {
  SimDisk base({.seed = 5});
  Known known;
  ASSERT_TRUE(fail_a_sync(base, known, 21));
  for (Sweep sweep(60, 20, 2); const auto at = sweep.next();) {
    SCOPED_TRACE(testing::Message() << "operation " << *at);
    SimDisk disk = base.snapshot();
    try_to_open(
        disk,
        {.kinds = SimKind::write | SimKind::sync, .nth = 1 + *at / 2, .for_good = *at % 2 == 1});
    expect_all_survives(points_of_a_life(disk, known), *at);
    if (HasFatalFailure()) {
      return;
    }
  }
}

/// The disk after a power failure while batches were written again, one of which is torn now.
SimDisk torn_amid_writing(const Point& used) {
  SimDisk disk = used.disk.snapshot();
  std::vector<SimDisk> images;
  std::string file;
  std::uint64_t offset_bytes = 0;
  disk.set_hook([&](const SimOperation& operation) {
    if (writes_segment(operation) && operation.offset_bytes != 0 && images.empty()) {
      file = operation.file;
      offset_bytes = operation.offset_bytes;
      images.push_back(disk.snapshot());
    }
  });
  {
    OpenLog open(*disk.device());
  }
  disk.set_hook({});
  const auto whole = images.at(0).durable_contents(file);
  for (std::uint64_t seed = 1;; ++seed) {
    SimDisk crashed = images[0].crash(seed);
    const auto torn = crashed.durable_contents(file);
    if (!std::equal(whole.begin() + static_cast<std::ptrdiff_t>(offset_bytes), whole.end(),
                    torn.begin() + static_cast<std::ptrdiff_t>(offset_bytes))) {
      return crashed;
    }
  }
}

// The replacement of a torn batch is not durable, since that sync fails; then another sync fails.
// All that is left is the first copy.
TEST(LogFailedSync, TheFirstCopyStaysUntilOpeningIsWhole) {
  constexpr std::uint64_t kRestored = 2;  // that sync of an opening
  constexpr std::uint64_t kSyncsOfOpening = 16;
  for (Sweep sweep(8 * kSyncsOfOpening, 56, 2); const auto at = sweep.next();) {
    SCOPED_TRACE(testing::Message() << "case " << *at);
    const Point used = used_log(*at / kSyncsOfOpening);
    SimDisk disk = torn_amid_writing(used);
    try_to_open(disk, {.kinds = kSyncs, .nth = kRestored});
    try_to_open(disk, {.kinds = kSyncs, .nth = 1 + *at % kSyncsOfOpening});
    const auto points = points_of_a_life(disk, used.known);
    ASSERT_GE(points.size(), kOperationsOfOpening);
    expect_all_survives({points.begin(), points.begin() + kOperationsOfOpening}, *at);
    if (HasFatalFailure()) {
      return;
    }
  }
}

LogStart start_in(const SimDisk& disk) {
  return LogControl::open(*disk.device(), true)->state().start;
}

// If the control file's newest copy is lost, replay may need segments that it no longer needed.
TEST(LogFailedSync, ControlFileIsDurableBeforeSegmentsAreReused) {
  const Point used = used_log();
  for (std::uint64_t nth = 1; nth <= kSyncsOfALife; ++nth) {
    SimDisk disk = used.disk.snapshot();
    Known known = used.known;
    fail_a_sync(disk, known, nth);
    disk.set_hook([&](const SimOperation& operation) {
      if (writes_segment(operation)) {
        EXPECT_EQ(start_in(disk.crash(1, CrashKeeps::nothing)), start_in(disk.snapshot()));
      }
    });
    OpenLog open(*disk.device());
    disk.set_hook({});
    ASSERT_FALSE(HasFailure()) << "sync " << nth;
  }
}

/// Bytes that opening writes to segments.
std::uint64_t bytes_written_by_opening(SimDisk& disk) {
  std::uint64_t bytes = 0;
  disk.set_hook([&](const SimOperation& operation) {
    bytes += writes_segment(operation) ? operation.size_bytes : 0;
  });
  {
    OpenLog open(*disk.device());
  }
  disk.set_hook({});
  return bytes;
}

TEST(LogFailedSync, OnlyWhatNoBatchStatesIsWrittenAgain) {
  SimDisk disk;
  Known known;
  {
    Life life(disk, known);
    life.work(41);
  }
  const Found found = read_log(*disk.device());
  ASSERT_GT(found.end.bytes, 4 * kSegmentHeaderBytes);
  ASSERT_EQ(found.end.unstated.size(), 1U);
  const StreamPart last = found.end.unstated[0];
  EXPECT_EQ(last.end, found.end.position);
  EXPECT_LT(raw(last.end) - raw(last.begin), 2 * kSegmentHeaderBytes);
  // With header and adjacent blocks, twice.
  EXPECT_LE(bytes_written_by_opening(disk),
            2 * (raw(last.end) - raw(last.begin) + 3 * kSegmentHeaderBytes));
}

TEST(LogFailedSync, OpeningWhatWasClosedCleanlyWritesNothingAgain) {
  SimDisk disk;
  {
    OpenLog open(*disk.device());
    const SlotId slot = open.claim();
    open.log().wait_durable(open.commit(slot, 1).gsn);
    open.log().move_start(open.log().current_start(), "", true);
  }
  EXPECT_EQ(bytes_written_by_opening(disk), 0U);
}

// Nothing has failed: the batches are durable and acknowledged, but no later batch states that.
// When they are written again, the power fails, or a sync, or one after the other; the last opening
// succeeds.
TEST(LogFailedSync, PowerFailsAgainAndAgainAmidWriting) {
  Random random(palimpsest::test::seed());
  const Point used = used_log();
  for (Rounds rounds(100, 2); rounds.next();) {
    SimDisk disk = used.disk.crash(random());
    Known known = used.known;
    for (int failures = 0; failures < 5; ++failures) {
      if (random.one_in(2)) {
        try_to_open(disk, {.kinds = kSyncs, .nth = random.between(1, kOperationsOfOpening)});
      }
      const auto points = points_of_a_life(disk, known);
      const Point& point =
          points[random.below(std::min<std::uint64_t>(points.size(), kOperationsOfOpening))];
      known.needed = point.known.needed;
      disk = point.disk.crash(random());
    }
    ASSERT_EQ(fault_of(disk, known), "");
  }
}

/// The state when replay's start had moved and its sync failed.
bool fail_to_move_start(SimDisk& disk, Known& known, std::uint64_t nth) {
  Life life(disk, known);
  disk.inject({.kinds = kSyncs, .file = std::string(kControlFileName), .nth = nth});
  try {
    life.work(180);
    return false;
  } catch (const Error&) {
    disk.clear_faults();
    return true;
  }
}

/// The disk at each write that opening does to the control file, or to its future replacement.
std::vector<SimDisk> amid_control_writes(SimDisk disk) {
  std::vector<SimDisk> images;
  disk.set_hook([&](const SimOperation& operation) {
    if (operation.kind == SimKind::write && operation.file.starts_with(kControlFileName)) {
      images.push_back(disk.snapshot());
    }
  });
  {
    OpenLog open(*disk.device());
  }
  disk.set_hook({});
  return images;
}

// One copy of the control file after the other is visible and not durable, and power fails during
// the write of the next one. Segments before the durable start may have been reused.
TEST(LogFailedSync, ControlFileOutlivesFailuresInARow) {
  constexpr std::uint64_t kStarts = 24;
  constexpr std::uint64_t kSeeds = 8;
  for (Sweep sweep(2 * kStarts, 12, 2); const auto at = sweep.next();) {
    SCOPED_TRACE(testing::Message() << "case " << *at);
    const Point used = used_log(1 + *at / 2);
    SimDisk disk = used.disk.snapshot();
    Known known = used.known;
    ASSERT_TRUE(fail_to_move_start(disk, known, 1 + *at / 2));
    for (std::uint64_t failures = 0; failures <= *at % 2; ++failures) {
      try_to_open(disk, {.kinds = kSyncs, .file = std::string(kControlFileName), .nth = 2});
    }
    const StreamPosition durable = start_in(disk.crash(1, CrashKeeps::nothing)).position;
    for (const SimDisk& image : amid_control_writes(disk)) {
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const SimDisk crashed = image.crash(seed);
        ASSERT_GE(start_in(crashed).position, durable) << "crash " << seed;
        ASSERT_EQ(fault_of(crashed, known), "") << "crash " << seed;
      }
    }
  }
}

/// Commits one record, and waits for it.
void commit_one(SimDisk& disk, Known& known) {
  const auto device = disk.device();
  OpenLog open(*device);
  const SlotId slot = open.claim();
  known.appended.push_back(open.commit(slot, 1000 * raw(open.log().incarnation())));
  open.log().wait_durable(known.appended.back().gsn);
  known.need(open.log().incarnation(), known.appended.back().gsn);
}

// Records are appended into the free part of the copy's last block, and the control file's copy
// that invalidates the saved block is damaged later.
TEST(LogFailedSync, ACopyIsNotPutBackOverWhatWasAppended) {
  SimDisk disk;
  Known known;
  commit_one(disk, known);
  commit_one(disk, known);
  const Incarnation newest = LogControl::open(*disk.device(), true)->state().incarnation;
  const std::vector<std::byte> damage(kSegmentHeaderBytes, std::byte{0xDB});
  disk.overwrite(kControlFileName, 0, damage);
  ASSERT_LT(LogControl::open(*disk.device(), true)->state().incarnation, newest);
  EXPECT_EQ(fault_of(disk, known), "");
}

/// The number of unfinished control files.
std::ptrdiff_t files_that_are_begun(const SimDisk& disk) {
  return std::ranges::count(disk.device()->list(), kNewControlFileName);
}

// A spare segment is there, and the control file is overwritten in place.
TEST(LogFailedSync, ReopeningNeedsNoRoomOnTheDisk) {
  constexpr std::uint64_t kControlFileBytes = std::uint64_t{3} * 4096;
  SimDisk disk({.capacity_bytes = LogStore::kSegmentsMin * kSegmentBytesMin + kControlFileBytes});
  Known known;
  for (int lives = 0; lives < 4; ++lives) {
    commit_one(disk, known);
    EXPECT_EQ(files_that_are_begun(disk), 0);
  }
  EXPECT_EQ(fault_of(disk, known), "");
}

// The disk is full at any operation: the log opens all the same, unless that is a sync.
TEST(LogFailedSync, AControlFileThatCannotBeFinishedIsRemoved) {
  for (const SimKind full : {SimKind::create, SimKind::allocate, SimKind::write, SimKind::sync}) {
    SCOPED_TRACE(testing::Message() << "kind " << unsigned(full));
    SimDisk disk;
    Known known;
    commit_one(disk, known);
    try_to_open(disk, {.error = ENOSPC,
                       .kinds = unsigned(full),
                       .file = std::string(kNewControlFileName),
                       .for_good = true});
    EXPECT_EQ(files_that_are_begun(disk), 0);
    EXPECT_EQ(fault_of(disk, known), "");
  }
}

// As left by an older build on a full disk, or by one that could not remove it.
TEST(LogFailedSync, AControlFileThatWasBegunIsRemovedByOpening) {
  SimDisk disk;
  const auto device = disk.device();
  {
    OpenLog open(*device);
    open.log().move_start(open.log().current_start(), "", true);
  }
  device->open(kNewControlFileName, io::OpenMode::create_new, false)->allocate(0, 4096);
  static_cast<void>(LogControl::open(*device, true));
  EXPECT_EQ(files_that_are_begun(disk), 1) << "reading changes nothing";
  disk.inject({.kinds = unsigned(SimKind::remove)});
  LogControl::open(*device, false).reset();
  EXPECT_EQ(files_that_are_begun(disk), 1);
  LogControl::open(*device, false).reset();
  EXPECT_EQ(files_that_are_begun(disk), 0);
}

}  // namespace
}  // namespace palimpsest::wal::test
