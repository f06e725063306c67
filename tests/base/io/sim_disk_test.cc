// The simulated disk: what survives a crash, what may not, and what it reports.
#include "tests/support/sim_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "tests/support/aligned_bytes.h"
#include "tests/support/seed.h"

namespace palimpsest::test {
namespace {

using io::OpenMode;
using io::Transfer;

constexpr std::size_t kPage = 4096;
constexpr unsigned kCrashes = 400;

class SimDiskTest : public ::testing::Test {
 protected:
  SimDiskTest() : SimDiskTest(SimOptions{}) {}
  explicit SimDiskTest(const SimOptions& options) : disk_(options), device_(disk_.device()) {}

  /// A durable file of `pages` pages full of `value`.
  std::unique_ptr<io::File> durable_file(const char* name, std::size_t pages, int value) {
    auto file = device_->open(name, OpenMode::create_new, false);
    write(*file, 0, pages, value);
    file->sync();
    device_->sync_directory();
    return file;
  }
  static void write(io::File& file, std::size_t page, std::size_t pages, int value) {
    const AlignedBytes bytes(pages * kPage, static_cast<std::byte>(value));
    file.write(page * kPage, bytes);
  }
  /// The distinct values of each sector of a page, in a crash image; garbage shows as several in
  /// one.
  static std::vector<std::set<int>> sectors(const SimDisk& disk, const char* name,
                                            std::size_t page) {
    const auto bytes = disk.contents(name);
    std::vector<std::set<int>> found(kPage / kSectorBytes);
    for (std::size_t i = 0; i < kPage && page * kPage + i < bytes.size(); ++i) {
      found[i / kSectorBytes].insert(static_cast<int>(bytes[page * kPage + i]));
    }
    return found;
  }
  static std::set<int> values(const SimDisk& disk, const char* name, std::size_t page) {
    std::set<int> all;
    for (const auto& sector : sectors(disk, name, page)) {
      all.insert(sector.begin(), sector.end());
    }
    return all;
  }

  const std::uint64_t seed_ = seed();
  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
};

TEST_F(SimDiskTest, WhatIsSyncedSurvivesEveryCrash) {
  const auto file = durable_file("a", 8, 1);
  for (unsigned i = 0; i < kCrashes; ++i) {
    const SimDisk after = disk_.crash(seed_ + i);
    ASSERT_EQ(after.contents("a"), disk_.contents("a"));
    ASSERT_EQ(after.pending_sectors(), 0U);
  }
}

TEST_F(SimDiskTest, WhatIsNotSyncedMaySurviveWhollyPartlyOrNot) {
  const auto file = durable_file("a", 2, 1);
  write(*file, 1, 1, 2);
  EXPECT_EQ(disk_.pending_sectors(), 8U);
  std::map<std::set<int>, int> seen;
  for (unsigned i = 0; i < kCrashes; ++i) {
    const SimDisk after = disk_.crash(seed_ + i);
    ASSERT_THAT(values(after, "a", 0), ::testing::ElementsAre(1));
    for (const auto& sector : sectors(after, "a", 1)) {
      ASSERT_EQ(sector.size(), 1U) << "a sector of a completed write is not torn";
    }
    ++seen[values(after, "a", 1)];
  }
  EXPECT_GT((seen[{1}]), 0);
  EXPECT_GT((seen[{2}]), 0);
  EXPECT_GT((seen[{1, 2}]), 0) << "no write was torn";
  EXPECT_THAT(values(disk_.crash(seed_, CrashKeeps::nothing), "a", 1), ::testing::ElementsAre(1));
  EXPECT_THAT(values(disk_.crash(seed_, CrashKeeps::everything), "a", 1),
              ::testing::ElementsAre(2));
}

TEST_F(SimDiskTest, WritesPersistInAnyOrder) {
  const auto file = durable_file("a", 2, 1);
  write(*file, 0, 1, 2);
  write(*file, 1, 1, 2);
  bool later_without_earlier = false;
  bool earlier_without_later = false;
  for (unsigned i = 0; i < kCrashes; ++i) {
    const SimDisk after = disk_.crash(seed_ + i);
    const bool first = values(after, "a", 0) == std::set{2};
    const bool second = values(after, "a", 1) == std::set{2};
    later_without_earlier |= second && !first;
    earlier_without_later |= first && !second;
  }
  EXPECT_TRUE(later_without_earlier);
  EXPECT_TRUE(earlier_without_later);
}

TEST_F(SimDiskTest, ASectorWrittenTwiceMayBeInAnyOfItsStates) {
  const auto file = durable_file("a", 1, 1);
  write(*file, 0, 1, 2);
  write(*file, 0, 1, 3);
  std::set<int> seen;
  for (unsigned i = 0; i < kCrashes; ++i) {
    for (const auto& sector : sectors(disk_.crash(seed_ + i), "a", 0)) {
      ASSERT_EQ(sector.size(), 1U);
      seen.insert(*sector.begin());
    }
  }
  EXPECT_THAT(seen, ::testing::ElementsAre(1, 2, 3));
}

TEST_F(SimDiskTest, ASyncCoversOnlyWhatCompletedBeforeItWasSubmitted) {
  const auto file = durable_file("a", 2, 1);
  write(*file, 0, 1, 2);
  // While the sync is under way, another write completes.
  disk_.set_hook([&](const SimOperation& operation) {
    if (operation.kind == SimKind::sync) {
      disk_.set_hook({});
      write(*file, 1, 1, 2);
    }
  });
  file->sync();
  EXPECT_EQ(disk_.pending_sectors(), 8U);
  const SimDisk after = disk_.crash(seed_, CrashKeeps::nothing);
  EXPECT_THAT(values(after, "a", 0), ::testing::ElementsAre(2));
  EXPECT_THAT(values(after, "a", 1), ::testing::ElementsAre(1));
}

TEST_F(SimDiskTest, SectorsInFlightAreOldNewOrGarbage) {
  const auto file = durable_file("a", 1, 1);
  std::vector<SimDisk> snapshots;
  disk_.set_hook([&](const SimOperation&) { snapshots.push_back(disk_.snapshot()); });
  write(*file, 0, 1, 2);
  disk_.set_hook({});
  ASSERT_EQ(snapshots.size(), 1U);
  EXPECT_THAT(values(snapshots[0], "a", 0), ::testing::ElementsAre(1)) << "it has not completed";
  std::array<int, 3> seen{};
  for (unsigned i = 0; i < kCrashes; ++i) {
    for (const auto& sector : sectors(snapshots[0].crash(seed_ + i), "a", 0)) {
      ++seen[sector == std::set{1} ? 0 : sector == std::set{2} ? 1 : 2];
    }
  }
  EXPECT_THAT(seen, ::testing::Each(::testing::Gt(0)));
}

TEST_F(SimDiskTest, SizesArePendingItemsOfTheirOwn) {
  const auto file = durable_file("a", 1, 1);
  write(*file, 1, 1, 2);
  bool grown_without_data = false;
  bool not_grown = false;
  for (unsigned i = 0; i < kCrashes; ++i) {
    const SimDisk after = disk_.crash(seed_ + i);
    const std::size_t size = after.contents("a").size();
    ASSERT_TRUE(size == kPage || size == 2 * kPage) << size;
    not_grown |= size == kPage;
    if (size == kPage) {  // bytes written beyond the end are not there when the file grows again
      after.device()->open("a", OpenMode::read_write, false)->allocate(0, 2 * kPage);
      ASSERT_THAT(values(after, "a", 1), ::testing::ElementsAre(0));
      continue;
    }
    grown_without_data |= size == 2 * kPage && values(after, "a", 1).contains(0);
  }
  EXPECT_TRUE(grown_without_data);
  EXPECT_TRUE(not_grown);
  file->truncate(0);
  std::set<std::size_t> sizes;
  for (unsigned i = 0; i < kCrashes; ++i) {
    sizes.insert(disk_.crash(seed_ + i).contents("a").size());
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre(0, kPage, 2 * kPage));
  file->sync();
  EXPECT_TRUE(disk_.crash(seed_).contents("a").empty());
  // Truncated bytes do not return when the file grows again, in a crash either.
  file->allocate(0, kPage);
  for (unsigned i = 0; i < kCrashes; ++i) {
    const SimDisk after = disk_.crash(seed_ + i);
    ASSERT_THAT(values(after, "a", 0), ::testing::IsSubsetOf({0}));
  }
}

TEST_F(SimDiskTest, NamesSurviveOnlyWithTheirDirectorySynced) {
  const auto file = device_->open("a", OpenMode::create_new, false);
  write(*file, 0, 1, 1);
  file->sync();
  std::set<bool> exists;
  for (unsigned i = 0; i < kCrashes; ++i) {
    const SimDisk after = disk_.crash(seed_ + i);
    exists.insert(after.device()->exists("a"));
    if (after.device()->exists("a")) {
      ASSERT_THAT(values(after, "a", 0), ::testing::ElementsAre(1)) << "its data were synced";
    }
  }
  EXPECT_EQ(exists.size(), 2U);
  device_->sync_directory();
  device_->remove("a");
  exists.clear();
  for (unsigned i = 0; i < kCrashes; ++i) {
    exists.insert(disk_.crash(seed_ + i).device()->exists("a"));
  }
  EXPECT_EQ(exists.size(), 2U);
}

TEST_F(SimDiskTest, ARenameIsWholeAndPending) {
  const auto old_file = durable_file("a", 1, 1);
  const auto new_file = durable_file("a.new", 1, 2);
  device_->rename("a.new", "a");
  std::set<int> seen;
  for (unsigned i = 0; i < kCrashes; ++i) {
    const SimDisk after = disk_.crash(seed_ + i);
    const int value = *values(after, "a", 0).begin();
    ASSERT_EQ(after.device()->exists("a.new"), value == 1);
    seen.insert(value);
  }
  EXPECT_THAT(seen, ::testing::ElementsAre(1, 2));
  device_->sync_directory();
  EXPECT_THAT(values(disk_.crash(seed_, CrashKeeps::nothing), "a", 0), ::testing::ElementsAre(2));
  // The replaced file is removed for good but works while open.
  EXPECT_NO_THROW(write(*old_file, 0, 1, 3));
}

TEST_F(SimDiskTest, AFailedSyncLosesWhatIsPendingAndTheNextSucceeds) {
  const auto file = durable_file("a", 1, 1);
  const auto again = device_->open("a", OpenMode::read_write, false);
  std::map<std::set<int>, int> seen;
  for (int round = 0; round < 40; ++round) {
    const auto victim = device_->open("a", OpenMode::read_write, false);
    write(*victim, 0, 1, 1);
    victim->sync();
    write(*victim, 0, 1, 2);
    disk_.inject({.kinds = static_cast<unsigned>(SimKind::sync)});
    EXPECT_THROW(victim->sync(), Error);
    EXPECT_TRUE(victim->failed());
    EXPECT_THAT(values(disk_, "a", 0), ::testing::ElementsAre(2)) << "reads still show it";
    // Another descriptor does not see the failure: its sync succeeds, and proves nothing.
    EXPECT_NO_THROW(again->sync());
    EXPECT_EQ(disk_.pending_sectors(), 0U);
    ++seen[values(disk_.crash(seed_), "a", 0)];
  }
  EXPECT_GT((seen[{1}]), 0);
  EXPECT_GT((seen[{2}]), 0);
}

TEST_F(SimDiskTest, AFailedDirectorySyncLosesNames) {
  std::set<bool> exists;
  for (int round = 0; round < 40; ++round) {
    const std::string name = "a" + std::to_string(round);
    static_cast<void>(device_->open(name, OpenMode::create_new, false));
    disk_.inject({.kinds = static_cast<unsigned>(SimKind::sync_directory)});
    EXPECT_THROW(device_->sync_directory(), Error);
    EXPECT_TRUE(device_->exists(name));
    EXPECT_NO_THROW(device_->sync_directory());
    exists.insert(disk_.crash(seed_).device()->exists(name));
  }
  EXPECT_EQ(exists.size(), 2U);
}

TEST_F(SimDiskTest, EveryWriteSyncAndMetadataOperationIsACrashPoint) {
  std::vector<SimKind> kinds;
  std::vector<std::uint64_t> numbers;
  disk_.set_hook([&](const SimOperation& operation) {
    kinds.push_back(operation.kind);
    numbers.push_back(operation.number);
  });
  const auto file = device_->open("a", OpenMode::create_new, false);
  write(*file, 0, 1, 1);
  AlignedBytes bytes(kPage);
  file->read(0, bytes);
  static_cast<void>(file->size_bytes());
  file->allocate(0, 2 * kPage);
  file->truncate(kPage);
  file->sync();
  static_cast<void>(device_->open("a", OpenMode::read_only, false));
  device_->rename("a", "b");
  device_->remove("b");
  device_->sync_directory();
  EXPECT_THAT(kinds, ::testing::ElementsAre(SimKind::create, SimKind::write, SimKind::allocate,
                                            SimKind::truncate, SimKind::sync, SimKind::rename,
                                            SimKind::remove, SimKind::sync_directory));
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  EXPECT_EQ(disk_.operations(), 11U);
}

TEST_F(SimDiskTest, ABatchIsInFlightTogetherAndCompletesInARandomOrder) {
  const auto file = durable_file("a", 8, 1);
  AlignedBytes bytes(kPage, std::byte{2});
  std::set<std::vector<std::uint64_t>> orders;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::uint64_t> order;
    std::vector<std::uint64_t> pending;
    disk_.set_hook([&](const SimOperation& operation) {
      order.push_back(operation.offset_bytes / kPage);
      pending.push_back(disk_.pending_sectors());
    });
    std::vector<Transfer> batch;
    batch.reserve(8);
    for (std::size_t i = 0; i < 8; ++i) {
      batch.push_back({.kind = Transfer::Kind::write, .offset_bytes = i * kPage, .data = bytes});
    }
    file->run(batch);
    EXPECT_THAT(pending, ::testing::Each(64U));
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    disk_.set_hook({});
    file->sync();
  }
  EXPECT_GT(orders.size(), 1U);
}

TEST_F(SimDiskTest, SnapshotsAreIndependentOfEachOther) {
  const auto file = durable_file("a", 4, 1);
  SimDisk snapshot = disk_.snapshot();
  write(*file, 0, 1, 2);
  file->sync();
  const auto other_device = snapshot.device();
  const auto other = other_device->open("a", OpenMode::read_write, true);
  EXPECT_THAT(values(snapshot, "a", 0), ::testing::ElementsAre(1));
  write(*other, 1, 1, 3);
  write(*other, 2000, 1, 3);
  EXPECT_THAT(values(disk_, "a", 1), ::testing::ElementsAre(1));
  EXPECT_EQ(disk_.contents("a").size(), 4 * kPage);
  EXPECT_THAT(values(snapshot, "a", 1), ::testing::ElementsAre(3));
  const SimDisk crashed = disk_.crash(1);
  write(*file, 3, 1, 9);
  EXPECT_THAT(values(crashed, "a", 3), ::testing::ElementsAre(1));
}

TEST_F(SimDiskTest, TheSameSeedGivesTheSameCrash) {
  const auto file = durable_file("a", 16, 1);
  write(*file, 3, 9, 2);
  write(*file, 14, 4, 3);
  std::set<std::vector<std::byte>> images;
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(disk_.crash(seed_ + i).contents("a"), disk_.crash(seed_ + i).contents("a"));
    images.insert(disk_.crash(seed_ + i).contents("a"));
  }
  EXPECT_GT(images.size(), 5U);
}

TEST_F(SimDiskTest, WithoutPowerEverythingFails) {
  const auto file = durable_file("a", 1, 1);
  const auto before = disk_.contents("a");
  disk_.power_off();
  AlignedBytes bytes(kPage);
  EXPECT_THROW(write(*file, 0, 1, 2), Error);
  EXPECT_THROW(file->read(0, bytes), Error);
  EXPECT_THROW(file->sync(), Error);
  EXPECT_THROW(static_cast<void>(device_->open("b", OpenMode::create_new, false)), Error);
  EXPECT_THROW(device_->sync_directory(), Error);
  EXPECT_EQ(disk_.crash(seed_, CrashKeeps::everything).contents("a"), before);
}

TEST_F(SimDiskTest, LocksEndWithTheCrash) {
  const auto file = device_->open("a", OpenMode::create_new, true);
  device_->sync_directory();
  EXPECT_THROW(static_cast<void>(disk_.device()->open("a", OpenMode::read_write, true)), Error);
  EXPECT_NO_THROW(
      static_cast<void>(disk_.crash(seed_).device()->open("a", OpenMode::read_write, true)));
}

TEST_F(SimDiskTest, TheWriteCheckerSeesEveryBlock) {
  const auto file = durable_file("a", 2, 1);
  std::map<std::uint64_t, std::size_t> seen;
  disk_.set_write_checker([&](std::string_view name, std::uint64_t offset, ConstBytes bytes) {
    EXPECT_EQ(name, "a");
    EXPECT_EQ(bytes[0], std::byte{5});
    seen[offset] += bytes.size();
  });
  write(*file, 0, 1, 5);
  write(*file, 4, 2, 5);
  EXPECT_THAT(seen, ::testing::ElementsAre(::testing::Pair(0, kPage),
                                           ::testing::Pair(4 * kPage, 2 * kPage)));
}

using SimDiskDeathTest = SimDiskTest;

TEST_F(SimDiskDeathTest, OverlappingWritesInFlightAreABug) {
  const auto file = durable_file("a", 4, 1);
  AlignedBytes bytes(2 * kPage);
  std::vector<Transfer> batch{
      {.kind = Transfer::Kind::write, .offset_bytes = 0, .data = bytes},
      {.kind = Transfer::Kind::write, .offset_bytes = 2 * kPage - 512, .data = bytes}};
  EXPECT_DEATH(file->run(batch), "two overlapping writes");
  batch[1].offset_bytes = 2 * kPage;
  file->run(batch);
  EXPECT_EQ(batch[1].error, 0);
}

class AtomicSimDiskTest : public SimDiskTest {
 protected:
  AtomicSimDiskTest() : SimDiskTest({.atomic_write_bytes_max = 16384}) {}
  static void write_atomically(io::File& file, std::size_t page, int value) {
    AlignedBytes bytes(kPage, static_cast<std::byte>(value));
    Transfer transfer{
        .kind = Transfer::Kind::write, .atomic = true, .offset_bytes = page * kPage, .data = bytes};
    file.run({&transfer, 1});
    EXPECT_EQ(transfer.error, 0);
  }
};

TEST_F(AtomicSimDiskTest, AtomicWritesAreNeverTorn) {
  const auto file = durable_file("a", 2, 1);
  EXPECT_EQ(file->atomic_write_bytes_max(), 16384U);
  std::vector<SimDisk> states;
  disk_.set_hook([&](const SimOperation&) { states.push_back(disk_.snapshot()); });
  write_atomically(*file, 0, 2);
  write_atomically(*file, 0, 3);
  states.push_back(disk_.snapshot());
  std::set<int> seen;
  for (const SimDisk& state : states) {
    for (unsigned i = 0; i < kCrashes; ++i) {
      const std::set<int> found = values(state.crash(seed_ + i), "a", 0);
      ASSERT_EQ(found.size(), 1U) << "torn";
      seen.insert(*found.begin());
    }
  }
  EXPECT_THAT(seen, ::testing::ElementsAre(1, 2, 3));
  // Nor by faults that tear other writes.
  disk_.set_hook({});
  for (const auto effect : {SimFault::Effect::tear, SimFault::Effect::short_transfer}) {
    disk_.inject({.effect = effect, .kinds = static_cast<unsigned>(SimKind::write)});
    write_atomically(*file, 1, 4);
    EXPECT_THAT(values(disk_, "a", 1), ::testing::ElementsAre(4));
    write(*file, 1, 1, 1);
  }
}

}  // namespace
}  // namespace palimpsest::test
