// A log that begins small: its growth to whole segments, and a crash at any step of that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "tests/support/error_of.h"
#include "tests/support/sim_disk.h"
#include "tests/wal/log_fixture.h"

namespace palimpsest::wal {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using palimpsest::test::SimOperation;
using test::missing;
using test::OpenLog;
using test::read_log;
using test::Remembered;

constexpr LogFileOptions kGrowing{.segment_bytes = 8 * kSegmentBytesMin,
                                  .first_segment_bytes = kSegmentBytesMin,
                                  .segments_max = 8};

std::uint64_t bytes_of_segments(io::Device& device) {
  std::uint64_t bytes = 0;
  for (const std::string& name : device.list()) {
    if (Segments::is_name(name)) {
      bytes += device.open(name, io::OpenMode::read_only, false)->size_bytes();
    }
  }
  return bytes;
}

/// Appends records, and makes them durable, until the log has files of so many bytes.
void grow_to(OpenLog& open, SlotId slot, std::uint64_t bytes, std::vector<Remembered>& appended) {
  while (open.store().segments().bytes() < bytes) {
    appended.push_back(open.change(slot, appended.size(), 1500, Gsn{0}));
    open.log().wait_durable(appended.back().gsn);
  }
}

TEST(LogGrowth, ANewLogHasTheSmallestSegments) {
  SimDisk disk;
  const auto device = disk.device();
  const OpenLog open(*device, kGrowing);
  EXPECT_EQ(bytes_of_segments(*device), 4 * kSegmentBytesMin);
}

TEST(LogGrowth, ItDoublesUpToItsBoundAndIsRead) {
  SimDisk disk;
  const auto device = disk.device();
  std::vector<Remembered> appended;
  const std::uint64_t bound = kGrowing.segments_max * kGrowing.segment_bytes;
  {
    OpenLog open(*device, kGrowing);
    const SlotId slot = open.claim();
    std::uint64_t before = open.store().segments().bytes();
    std::uint32_t files = open.store().segments().files();
    while (before < bound) {
      grow_to(open, slot, before + 1, appended);
      const Segments& segments = open.store().segments();
      EXPECT_EQ(segments.files(), ++files);
      const std::uint64_t made = segments.bytes() - before;
      EXPECT_EQ(made, std::min({before, kGrowing.segment_bytes, bound - before}));
      before = segments.bytes();
    }
    EXPECT_TRUE(open.store().segments().is_at_bound());
    EXPECT_EQ(open.store().segments().make_one(false), 0U);
  }
  EXPECT_EQ(missing(appended, appended.back().gsn, read_log(*device, kGrowing)), "");
  OpenLog again(*device, kGrowing);
  EXPECT_EQ(again.store().segments().bytes(), bound);
}

TEST(LogGrowth, SmallSegmentsGoWhenItHasOutgrownThem) {
  SimDisk disk;
  const auto device = disk.device();
  std::vector<Remembered> appended;
  {
    OpenLog open(*device, kGrowing);
    const SlotId slot = open.claim();
    for (int round = 0; round < 6; ++round) {
      grow_to(open, slot, open.store().segments().bytes_max() - kSegmentBytesMin, appended);
      open.log().release_credit(slot);
      open.forget();
      EXPECT_LE(open.store().segments().bytes(), open.store().segments().bytes_max());
    }
    appended = {open.change(slot, 1, 1500, Gsn{0})};
    open.log().wait_durable(appended.back().gsn);
  }
  std::vector<std::uint64_t> sizes;
  for (const std::string& name : device->list()) {
    if (Segments::is_name(name)) {
      sizes.push_back(device->open(name, io::OpenMode::read_only, false)->size_bytes());
    }
  }
  EXPECT_LE(std::ranges::count(sizes, kSegmentBytesMin), 1) << "of " << sizes.size();
  EXPECT_EQ(missing(appended, appended.back().gsn, read_log(*device, kGrowing)), "");
}

// While it makes, fills or frees segments of several sizes.
TEST(LogGrowth, ACrashAtAnyOperationLosesNothingDurable) {
  SimDisk disk;
  const auto device = disk.device();
  std::vector<Remembered> appended;
  Gsn forgotten{0};  ///< or about to be
  struct Crashed {
    SimDisk disk;
    std::size_t appended = 0;
    Gsn durable{};
    Gsn forgotten{};
  };
  std::vector<Crashed> images;
  OpenLog open(*device, kGrowing);
  const SlotId slot = open.claim();
  std::uint64_t operations = 0;
  disk.set_hook([&](const SimOperation& operation) {
    const bool is_rare = operation.kind != SimKind::write && operation.kind != SimKind::sync;
    if (is_rare || ++operations % 16 == 0) {
      images.push_back(
          {disk.crash(images.size() + 1), appended.size(), open.log().durable_gsn(), forgotten});
    }
  });
  for (unsigned round = 0; round < 3; ++round) {
    grow_to(open, slot, (8U << round) * kSegmentBytesMin, appended);
    open.log().release_credit(slot);
    forgotten = appended.back().gsn;
    open.forget();
  }
  disk.set_hook({});
  ASSERT_GT(images.size(), 20U);
  for (const Crashed& image : images) {
    const auto crashed = image.disk.device();
    const auto found = read_log(*crashed, kGrowing, false);
    std::vector<Remembered> expected(
        appended.begin(), appended.begin() + static_cast<std::ptrdiff_t>(image.appended));
    std::erase_if(expected, [&](const Remembered& one) { return one.gsn <= image.forgotten; });
    ASSERT_EQ(missing(expected, image.durable, found), "");
    OpenLog again(*crashed, kGrowing);
    const SlotId other = again.claim();
    again.log().wait_durable(again.change(other, 1, 1500, Gsn{0}).gsn);
  }
}

TEST(LogGrowth, AFullDiskLeavesItAsItIs) {
  SimDisk disk({.capacity_bytes = 7 * kSegmentBytesMin});
  const auto device = disk.device();
  OpenLog open(*device, kGrowing);
  const SlotId slot = open.claim();
  const auto fill = [&] {
    for (std::uint64_t number = 0; number < 1000; ++number) {
      open.log().wait_durable(open.change(slot, number, 1500, Gsn{0}).gsn);
    }
  };
  EXPECT_EQ(error_of(fill), ErrorCode::no_space);
  EXPECT_EQ(bytes_of_segments(*device), 4 * kSegmentBytesMin);
  EXPECT_FALSE(open.log().failed());
  open.log().release_credit(slot);
  open.forget();
  open.log().wait_durable(open.commit(slot, 1).gsn);
}

TEST(LogGrowth, SegmentsThatLieOverOneAnotherAreRefused) {
  SimDisk disk;
  const auto device = disk.device();
  std::vector<Remembered> appended;
  std::string file;
  {
    OpenLog open(*device, kGrowing);
    const SlotId slot = open.claim();
    while (!open.store().segments().has(2)) {
      appended.push_back(open.change(slot, appended.size(), 1500, Gsn{0}));
      open.log().wait_durable(appended.back().gsn);
    }
    file = open.store().segments().file_of(2);
    SegmentPlace place = open.store().segments().place(2);
    place.begin = StreamPosition{raw(place.begin) - kSegmentHeaderBytes};
    std::vector<std::byte> block(kSegmentHeaderBytes);
    encode_segment_header(place, test::kUuid, block);
    disk.overwrite(file, 0, block);
  }
  EXPECT_EQ(error_of([&] { return read_log(*device, kGrowing); }, "say they begin at"),
            ErrorCode::corruption);
}

}  // namespace
}  // namespace palimpsest::wal
