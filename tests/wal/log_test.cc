// The log file: written, reopened, damaged, full.
#include "wal/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "palimpsest/error.h"

#include "base/checksum.h"
#include "base/random.h"
#include "tests/support/error_of.h"
#include "tests/wal/log_fixture.h"

namespace palimpsest::wal::test {
namespace {

using palimpsest::test::CrashKeeps;
using palimpsest::test::error_of;
using palimpsest::test::SimDisk;

class LogTest : public ::testing::Test {
 protected:
  LogTest() : device_(disk_.device()) {}

  /// A log of one slot whose n-th batch holds record n, all durable.
  void write_batches(std::uint64_t count) {
    OpenLog open(*device_);
    const SlotId slot = open.claim();
    for (std::uint64_t i = 1; i <= count; ++i) {
      open.log().wait_durable(open.commit(slot, i).gsn);
    }
  }
  /// The location of a batch, by its sequence number.
  StreamPosition place_of(std::uint64_t sequence) {
    const LogStore store = LogStore::open(*device_, kSmallFiles, true);
    LogReader reader(store.segments(), store.control().state());
    reader.find_end();
    StreamPosition place = kNowhere;
    for (const StreamPart& part : reader.parts()) {
      reader.visit_batches(part, [&](StreamPosition at, const BatchHeader& header) {
        place = raw(header.sequence) == sequence ? at : place;
      });
    }
    return place;
  }
  void damage(std::uint64_t sequence, std::uint64_t offset_bytes) {
    const StreamPosition at = place_of(sequence);
    ASSERT_NE(at, kNowhere);
    const std::string file =
        "log-000" + std::to_string(file_of(raw(at) / kSmallFiles.segment_bytes));
    const std::uint64_t offset = raw(at) % kSmallFiles.segment_bytes + offset_bytes;
    const std::byte byte = disk_.contents(file)[offset] ^ std::byte{0x20};
    disk_.overwrite(file, offset, {&byte, 1});
  }
  /// The index in the name of the file that holds a segment.
  std::uint64_t file_of(std::uint64_t number) {
    const LogStore store = LogStore::open(*device_, kSmallFiles, true);
    const std::string name = store.segments().name_of(number);
    return static_cast<std::uint64_t>(name.back() - '0');
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
};

TEST_F(LogTest, EmptyLogOpensAgain) {
  {
    const OpenLog open(*device_);
  }
  const Found found = read_log(*device_);
  EXPECT_TRUE(found.records.empty());
  EXPECT_EQ(found.end.batches, 0U);
  OpenLog again(*device_);
  EXPECT_EQ(raw(again.log().incarnation()), 2U);
}

TEST_F(LogTest, RecordsOfAllSlotsAreFoundInOrder) {
  std::vector<Remembered> appended;
  Gsn durable{};
  {
    OpenLog open(*device_, {.segment_bytes = kSegmentBytesMin, .segments_max = 32});
    const std::vector<SlotId> slots{open.claim(), open.claim(), open.claim()};
    for (std::uint64_t i = 0; i < 300; ++i) {
      appended.push_back(open.change(slots[i % 3], i, i * 5, Gsn{0}));
      appended.push_back(open.commit(slots[i % 3], i + 1000));
    }
    open.log().wait_durable(appended.back().gsn);
    durable = open.log().durable_gsn();
    EXPECT_GE(durable, appended.back().gsn);
    const LogStatistics statistics = open.log().statistics();
    EXPECT_GT(statistics.batches, statistics.rounds / 2);
    EXPECT_GT(statistics.stream_bytes, statistics.record_bytes);
  }
  const Found found = read_log(*device_);
  EXPECT_EQ(missing(appended, durable, found), "");
  EXPECT_EQ(found.records.size(), appended.size());
  for (const SlotId slot : {SlotId{0}, SlotId{1}, SlotId{2}}) {
    Lsn before{};
    for (const Remembered& record : found.records) {
      if (record.slot == slot) {
        EXPECT_GE(record.lsn, before);
        before = record.lsn;
      }
    }
  }
}

// A slot's GSN rises with every record, the clock only with commits: a round raises the clock, or
// the changes of one long transaction could never be written.
TEST_F(LogTest, OneLongWriterIsCoveredByTheNextRound) {
  OpenLog open(*device_);
  const SlotId slot = open.claim();
  Gsn last{};
  for (std::uint64_t i = 0; i < 50; ++i) {
    last = open.change(slot, i, 20, Gsn{0}).gsn;
  }
  EXPECT_GT(last, open.clock().now());
  open.log().write_pending();
  EXPECT_GE(open.log().durable_gsn(), last);
  EXPECT_GE(open.clock().now(), last);
}

// Many more records than fit a batch: the round writes several, and no record is split.
TEST_F(LogTest, ARoundLargerThanABatch) {
  std::vector<Remembered> appended;
  {
    OpenLog open(*device_);
    std::vector<SlotId> slots;
    for (int i = 0; i < 20; ++i) {
      slots.push_back(open.claim());
      for (std::uint64_t n = 0; n < 9; ++n) {
        appended.push_back(open.change(slots.back(), n, 777, Gsn{0}));
      }
    }
    open.log().write_pending();
    EXPECT_EQ(open.log().statistics().rounds, 1U);
    EXPECT_GT(open.log().statistics().batches, 10U);
  }
  EXPECT_EQ(missing(appended, appended.back().gsn, read_log(*device_)), "");
}

TEST_F(LogTest, ReadsItsRecordsBack) {
  OpenLog open(*device_);
  const SlotId slot = open.claim();
  const SlotId other = open.claim();
  std::vector<Remembered> appended;
  for (std::uint64_t i = 0; i < 100; ++i) {
    appended.push_back(open.change(slot, i, i % 7 * 130, Gsn{0}));
    open.change(other, i, 50, Gsn{0});
    if (i % 3 == 0) {
      open.log().write_pending();
    }
  }
  EXPECT_FALSE(open.log().slot_log(slot).in_ring(appended.front().lsn));
  EXPECT_TRUE(open.log().slot_log(slot).in_ring(appended.back().lsn));
  std::vector<std::byte> bytes;
  LogCursor cursor;
  std::ranges::reverse(appended);
  for (const Remembered& record : appended) {
    open.log().read_back(slot, record.lsn, cursor, bytes);
    const auto view = record_at(bytes, 0);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->gsn, record.gsn);
    EXPECT_EQ(number_of(slot, view->payload), record.number);
  }
  EXPECT_EQ(error_of([&] {
              open.log().read_back(slot, Lsn{3}, cursor, bytes);
              return 0;
            }),
            ErrorCode::corruption);
}

// Damage

TEST_F(LogTest, DamagedLastBatchIsATornTail) {
  write_batches(10);
  damage(10, 70);
  const Found found = read_log(*device_);
  EXPECT_EQ(found.records.size(), 9U);
  OpenLog open(*device_);
  open.log().wait_durable(open.commit(open.claim(), 100).gsn);
  EXPECT_EQ(read_log(*disk_.snapshot().device()).records.size(), 10U);
}

TEST_F(LogTest, DamagedMiddleIsRefused) {
  for (const std::uint64_t offset : {0U, 8U, 20U, 64U, 100U}) {
    disk_ = SimDisk();
    device_ = disk_.device();
    write_batches(10);
    damage(6, offset);
    EXPECT_EQ(error_of([&] { return read_log(*device_); }, "batch 6 at offset"),
              ErrorCode::corruption)
        << offset;
  }
}

TEST_F(LogTest, WhatLiesBeforeADamagedMiddleCanBeRead) {
  write_batches(10);
  damage(6, 64);
  const LogStore store = LogStore::open(*device_, kSmallFiles, true);
  LogReader reader(store.segments(), store.control().state());
  std::string damage;
  EXPECT_EQ(reader.find_end(&damage).batches, 5U);
  EXPECT_NE(damage.find("batch 6 at offset"), std::string::npos) << damage;
  std::size_t records = 0;
  for (const StreamPart& part : reader.parts()) {
    reader.visit(part, [&](const LoggedRecord&) { ++records; });
  }
  EXPECT_EQ(records, 5U);
}

TEST_F(LogTest, MissingSegmentIsRefused) {
  {
    OpenLog open(*device_);
    const SlotId slot = open.claim();
    for (std::uint64_t i = 0; i < 150; ++i) {
      open.change(slot, i, 1500, Gsn{0});
    }
    open.log().write_pending();
  }
  device_->remove("log-000" + std::to_string(file_of(2)));
  EXPECT_EQ(error_of([&] { return read_log(*device_); }, "is damaged or missing"),
            ErrorCode::corruption);
}

TEST_F(LogTest, AnyFlippedBitIsNoticedOrHarmless) {
  write_batches(12);
  const Found whole = read_log(*device_);
  Random random(3);
  for (int i = 0; i < 400; ++i) {
    const SimDisk disk = disk_.snapshot();
    SimDisk damaged = disk;
    const std::string file =
        random.one_in(4) ? "log-control" : "log-000" + std::to_string(file_of(1));
    const std::uint64_t at = random.below(random.one_in(2) ? 4096 + 12 * 512 : 200);
    const std::byte byte =
        damaged.contents(file)[at] ^ static_cast<std::byte>(1U << random.below(8));
    damaged.overwrite(file, at, {&byte, 1});
    try {
      const Found found = read_log(*damaged.device());
      EXPECT_GE(found.records.size() + 1, whole.records.size());  // at most the last batch
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::corruption ||
                  error.code() == ErrorCode::unsupported_version)
          << error.what();
    }
  }
}

// A whole batch with the right number, at the right location, and from another log.
TEST_F(LogTest, ABatchThatFollowsAnotherOneIsRefused) {
  const SimDisk other_disk;
  {
    OpenLog other(*other_disk.device());
    const SlotId slot = other.claim();
    for (std::uint64_t i = 1; i <= 10; ++i) {
      other.log().wait_durable(other.commit(slot, i + 1000).gsn);
    }
  }
  write_batches(10);
  const std::uint64_t offset = raw(place_of(5)) % kSmallFiles.segment_bytes;
  const std::string file = "log-000" + std::to_string(file_of(1));
  const auto bytes = other_disk.contents(file);
  disk_.overwrite(file, offset, ConstBytes(bytes).subspan(offset, 512));
  EXPECT_EQ(error_of([&] { return read_log(*device_); }, "batch 5 at offset"),
            ErrorCode::corruption);
}

// Batches of one round are synced together: a crash may lose any of them. Those behind a lost one
// are discarded, and neither come back nor hide the batches written in their place.
TEST_F(LogTest, DiscardedBatchesDoNotComeBack) {
  {
    OpenLog open(*device_);
    for (int i = 0; i < 8; ++i) {
      const SlotId slot = open.claim();
      for (std::uint64_t n = 0; n < 9; ++n) {
        open.change(slot, n, 777, Gsn{0});
      }
    }
    open.log().write_pending();
    ASSERT_GT(open.log().statistics().batches, 4U);
  }
  damage(3, 100);
  const std::size_t kept = read_log(*device_).beyond.size();
  EXPECT_GT(kept, 10U);  // of two batches; the round's GSN was stated by the last one
  for (std::uint64_t incarnation = 2; incarnation < 5; ++incarnation) {
    {
      OpenLog open(*device_);
      EXPECT_EQ(raw(open.log().incarnation()), incarnation);
      const SlotId slot = open.claim();
      for (std::uint64_t n = 0; n < 3; ++n) {
        open.change(slot, n, 1200 + 100 * incarnation, Gsn{0});
      }
      open.log().write_pending();
    }
    const Found found = read_log(*device_);
    EXPECT_EQ(found.beyond.size(), kept);
    ASSERT_EQ(found.records.size(), 3 * (incarnation - 1));
    EXPECT_EQ(found.records.back().incarnation, Incarnation{incarnation});
  }
}

// A segment loses its header and keeps its first batch: recovery does not see the batch. When the
// next incarnation gives the same file the same number, the batch must not come back.
TEST_F(LogTest, BatchOfALostSegmentHeaderDoesNotComeBack) {
  constexpr std::uint64_t kFilling = (kSmallFiles.segment_bytes - kSegmentHeaderBytes) / 512;
  std::string file;
  std::vector<std::byte> batch;
  SimDisk crashed;
  {
    OpenLog open(*device_);
    const SlotId slot = open.claim();
    for (std::uint64_t i = 1; i <= kFilling; ++i) {
      open.log().wait_durable(open.commit(slot, i).gsn);
    }
    disk_.set_hook([&](const palimpsest::test::SimOperation& operation) {
      if (operation.kind == palimpsest::test::SimKind::write &&
          operation.offset_bytes == kSegmentHeaderBytes) {
        file = operation.file;
        crashed = disk_.crash(1, CrashKeeps::nothing);
      }
    });
    open.log().wait_durable(open.commit(slot, kFilling + 1).gsn);
    disk_.set_hook({});
    batch = disk_.contents(file);
  }
  ASSERT_FALSE(file.empty());
  crashed.overwrite(file, kSegmentHeaderBytes, ConstBytes(batch).subspan(kSegmentHeaderBytes, 512));
  const auto device = crashed.device();
  EXPECT_EQ(read_log(*device).records.size(), kFilling);
  {
    OpenLog open(*device);
    static_cast<void>(open.log().current_start());  // begins the segment
    const auto header = decode_segment_header(crashed.contents(file));
    ASSERT_TRUE(header && header->number == 2) << "the file was not reused; the test shows nothing";
  }
  EXPECT_EQ(read_log(*device).records.size(), kFilling);
}

TEST_F(LogTest, DamagedSegmentHeaderIsNotASpareSegment) {
  {
    OpenLog open(*device_);
    const SlotId slot = open.claim();
    for (std::uint64_t i = 0; i < 300; ++i) {
      open.log().wait_durable(open.commit(slot, i).gsn);
    }
  }
  const std::string name = "log-000" + std::to_string(file_of(3));
  const std::byte byte = disk_.contents(name)[30] ^ std::byte{4};
  disk_.overwrite(name, 30, {&byte, 1});
  EXPECT_EQ(error_of([&] { return read_log(*device_); }, "is damaged or missing"),
            ErrorCode::corruption);
}

// Removes only files that look like unfinished segments.
TEST_F(LogTest, FilesOfOtherProgramsStay) {
  const auto make = [&](const std::string& name, std::uint64_t bytes, bool is_written) {
    device_->open(name, io::OpenMode::create_new, false)->allocate(0, bytes);
    const std::vector<std::byte> text(bytes, std::byte{'x'});
    disk_.overwrite(name, 0, ConstBytes(text).first(is_written ? bytes : 0));
  };
  make("log-0700", 20, true);
  make("log-0701", 20'000, true);
  make("log-0702", 0, false);
  make("log-0703", 20'000, false);
  for (int opened = 0; opened < 2; ++opened) {
    OpenLog open(*device_);
    open.log().wait_durable(open.commit(open.claim(), 1).gsn);
  }
  EXPECT_EQ(disk_.contents("log-0700"), std::vector<std::byte>(20, std::byte{'x'}));
  EXPECT_EQ(disk_.contents("log-0701"), std::vector<std::byte>(20'000, std::byte{'x'}));
  EXPECT_FALSE(device_->exists("log-0702"));
  EXPECT_FALSE(device_->exists("log-0703"));
}

TEST_F(LogTest, HostileControlFilesAreRefused) {
  write_batches(3);
  constexpr std::size_t kCopyBytes = 4096;
  const std::vector<std::byte> whole = disk_.contents(kControlFileName);
  const auto refuse = [&](std::size_t offset, std::uint64_t value) {
    std::vector<std::byte> forged = whole;
    for (std::size_t at = 0; at < forged.size(); at += kCopyBytes) {  // all copies, checksums right
      std::memcpy(&forged[at + offset], &value, sizeof value);
      const std::uint64_t sum = checksum(ConstBytes(forged).subspan(at + 16, kCopyBytes - 16));
      std::memcpy(&forged[at + 8], &sum, sizeof sum);
    }
    disk_.overwrite(kControlFileName, 0, forged);
    EXPECT_EQ(error_of([&] { return read_log(*device_); }, "contradict each other"),
              ErrorCode::corruption)
        << "value " << value << " at " << offset;
  };
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{65537},
                                    std::uint64_t{1} << 40U, ~std::uint64_t{0}}) {
    refuse(48, bytes);  // segment size
  }
  refuse(40, ~std::uint64_t{0});                                    // sequence
  refuse(56, ~std::uint64_t{0});                                    // incarnation
  refuse(64, 0);                                                    // start
  refuse(64, kSmallFiles.segment_bytes + 100);                      // inside the segment's header
  refuse(64, kSmallFiles.segment_bytes + kSegmentHeaderBytes + 1);  // not aligned
  refuse(72, ~std::uint64_t{0});                                    // the start's batch
  refuse(88, 99);                                                   // an incarnation to come
  refuse(96, ~std::uint64_t{0});                                    // where the incarnation began
  refuse(104, 4000);                                                // note
}

TEST_F(LogTest, DevicesOfLargeBlocksAreRefused) {
  const SimDisk large({.alignment_bytes = 2 * kSegmentHeaderBytes});
  const auto device = large.device();
  try {
    static_cast<void>(LogStore::create(*device, kUuid, kSmallFiles));
    ADD_FAILURE() << "its blocks are too large";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("log-0001"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("8192"));
  }
  EXPECT_TRUE(device->list().empty());
}

TEST_F(LogTest, CreatingTwiceHarmsNothing) {
  write_batches(5);
  const auto contents = [&] {
    std::vector<std::vector<std::byte>> files;
    for (const std::string& name : device_->list()) {
      files.push_back(disk_.contents(name));
    }
    return files;
  };
  const auto before = contents();
  const LogFileOptions larger{.segment_bytes = 1U << 20U};
  EXPECT_EQ(error_of([&] { return LogStore::create(*device_, Uuid{9}, larger); }),
            ErrorCode::already_exists);
  EXPECT_EQ(error_of([&] { return LogStore::create(*device_, kUuid, kSmallFiles); }),
            ErrorCode::already_exists);
  EXPECT_EQ(contents(), before);
}

// Bounds

TEST_F(LogTest, SegmentsAreReusedForever) {
  OpenLog open(*device_);
  const SlotId slot = open.claim();
  for (std::uint64_t i = 0; i < 3000; ++i) {
    open.change(slot, i, 1000, Gsn{0});
    if (i % 100 == 0) {
      open.forget();
    }
  }
  EXPECT_LE(open.store().segments().files(), kSmallFiles.segments_max);
  EXPECT_GT(open.log().statistics().stream_bytes, 40 * kSmallFiles.segment_bytes);
}

// During the write of the control file other threads write on, but not over what the old start
// needs.
TEST_F(LogTest, SegmentsAreReusedOnlyWhenReplayStartsLater) {
  OpenLog open(*device_, {.segment_bytes = kSegmentBytesMin, .segments_max = 32});
  const SlotId slot = open.claim();
  const auto append_a_segment = [&] {
    for (std::uint64_t i = 0; i < 80; ++i) {
      open.change(slot, i, 1000, Gsn{0});
    }
    open.log().write_pending();
  };
  append_a_segment();
  append_a_segment();
  int met = 0;
  disk_.set_hook([&](const palimpsest::test::SimOperation& operation) {
    if (operation.kind == palimpsest::test::SimKind::write && operation.file == kControlFileName) {
      ++met;
      append_a_segment();
      append_a_segment();
      const SimDisk crashed = disk_.crash(1, CrashKeeps::nothing);
      EXPECT_EQ(read_log(*crashed.device()).records.size(), 4U * 80U);
    }
  });
  open.forget();
  disk_.set_hook({});
  EXPECT_EQ(met, 1);
}

TEST_F(LogTest, WritersWaitUntilReplayStartsLater) {
  std::atomic<int> asked{0};
  LogOptions options = small_options();
  options.on_filling = [&] { ++asked; };
  OpenLog open(*device_, kSmallFiles, options);
  std::atomic<bool> enough{false};
  std::jthread checkpointer([&] {
    int seen = 0;
    while (!enough) {
      if (asked != seen) {
        seen = asked;
        open.forget();
      }
      std::this_thread::yield();
    }
  });
  const SlotId slot = open.claim();
  for (std::uint64_t i = 0; i < 1500; ++i) {
    open.change(slot, i, 1000, Gsn{0});
    open.log().release_credit(slot);
  }
  enough = true;
  EXPECT_GT(asked, 0);
}

// The disk has no space for another segment: writers get an error, records within credit are
// accepted, and writing resumes once there is space.
TEST_F(LogTest, FullDiskIsToldAndHeals) {
  disk_ = SimDisk({.capacity_bytes = 6 * kSmallFiles.segment_bytes});
  device_ = disk_.device();
  OpenLog open(*device_);
  const SlotId slot = open.claim();
  const SlotId other = open.claim();
  open.log().reserve(other, {.bytes = 1000, .credit_bytes = 3000});
  std::string message;
  std::uint64_t written = 0;
  const auto code = error_of(
      [&] {
        for (;; ++written) {
          open.change(slot, written, 1000, Gsn{0});
        }
      },
      &message);
  EXPECT_EQ(code, ErrorCode::no_space) << message;
  EXPECT_FALSE(open.log().failed());
  EXPECT_GT(written, 50U);
  for (int i = 0; i < 2; ++i) {  // credit taken before
    const auto payload = payload_of(other, 7, 900);
    const auto appended =
        open.log().append(other, Gsn{0}, kChange, payload.size(),
                          [&](MutableBytes into) { std::ranges::copy(payload, into.begin()); });
    open.log().wait_durable(appended.gsn);
  }
  open.forget();
  open.change(slot, ++written, 1000, Gsn{0});
  open.log().write_pending();
}

TEST_F(LogTest, OptionsBeyondLimitsAreRefused) {
  LogOptions options = small_options();
  options.batch_bytes_max = 2 * kSmallFiles.segment_bytes;
  EXPECT_EQ(
      error_of([&] { return OpenLog(*device_, kSmallFiles, options); }, "do not fit together"),
      ErrorCode::invalid_argument);

  EXPECT_EQ(error_of([&] { return OpenLog(*device_, {.segment_bytes = 1000}); }, "1000 bytes"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { return OpenLog(*device_, {.segments_max = 3}); }, "at least 4"),
            ErrorCode::invalid_argument);
}

TEST_F(LogTest, MostOfALogIsKeptInBytesWhateverItsSegmentsAre) {
  constexpr std::uint64_t kOfTheLog = 2 * kSegmentBytesMin;
  const auto segments_max = [&](const LogFileOptions& files) {
    return LogStore::open(*device_, files, true).segments().segments_max();
  };
  static_cast<void>(
      LogStore::create(*device_, kUuid, {.segment_bytes = kOfTheLog, .segments_max = 8}));
  EXPECT_EQ(segments_max({.segment_bytes = kOfTheLog, .segments_max = 9}), 9U);
  EXPECT_EQ(segments_max({.segment_bytes = kSegmentBytesMin, .segments_max = 20}), 10U);
  EXPECT_EQ(segments_max({.segment_bytes = 4 * kSegmentBytesMin, .segments_max = 5}), 10U);
  EXPECT_EQ(segments_max({.segment_bytes = kSegmentBytesMin, .segments_max = 4}), 4U)
      << "the fewest there may be";
}

TEST_F(LogTest, InterruptedCreationLeavesNoLog) {
  std::vector<SimDisk> points;
  disk_.set_hook([&](const auto&) { points.push_back(disk_.snapshot()); });
  static_cast<void>(LogStore::create(*device_, kUuid, kSmallFiles));
  disk_.set_hook({});
  ASSERT_GT(points.size(), 10U);
  for (const SimDisk& point : points) {
    for (const CrashKeeps keeps :
         {CrashKeeps::nothing, CrashKeeps::everything, CrashKeeps::random}) {
      const SimDisk crashed = point.crash(5, keeps);
      const auto device = crashed.device();
      OpenLog open(*device);  // makes it, or opens it whole
      open.log().wait_durable(open.commit(open.claim(), 1).gsn);
    }
  }
}

}  // namespace
}  // namespace palimpsest::wal::test
