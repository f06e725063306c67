// Injected faults, and the engine's repeat logic under each of them at every operation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "tests/support/aligned_bytes.h"
#include "tests/support/error_of.h"
#include "tests/support/sim_disk.h"

namespace palimpsest::test {
namespace {

using Effect = SimFault::Effect;
using io::OpenMode;
using io::Transfer;

constexpr std::size_t kPage = 4096;

AlignedBytes page_of(int value) {
  AlignedBytes bytes(kPage);
  for (std::size_t i = 0; i < kPage; ++i) {
    bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(value) + i / kSectorBytes);
  }
  return bytes;
}

/// A small user of the device; true if it reports that all is durable. Errors leave it as Error.
bool workload(io::Device& device) {
  const auto file = device.open("new", OpenMode::create_new, true);
  file->allocate(0, 8 * kPage);
  std::vector<AlignedBytes> pages;
  std::vector<Transfer> batch;
  for (int i = 0; i < 6; ++i) {
    pages.push_back(page_of(i + 1));
    batch.push_back({.kind = Transfer::Kind::write,
                     .offset_bytes = static_cast<std::uint64_t>(i) * kPage,
                     .data = pages.back()});
  }
  file->run(batch);
  for (const Transfer& transfer : batch) {
    if (transfer.error != 0) {
      file->throw_error_of(transfer);
    }
  }
  file->sync();
  AlignedBytes copy(kPage);
  for (int i = 0; i < 6; ++i) {
    file->read(static_cast<std::uint64_t>(i) * kPage, copy);
    if (copy != page_of(i + 1)) {
      return false;
    }
  }
  file->truncate(6 * kPage);
  file->sync();
  device.rename("new", "done");
  device.sync_directory();
  return file->size_bytes() == 6 * kPage;
}

void expect_complete(const SimDisk& disk) {
  const auto bytes = disk.contents("done");
  ASSERT_EQ(bytes.size(), 6 * kPage);
  for (int i = 0; i < 6; ++i) {
    const AlignedBytes page = page_of(i + 1);
    EXPECT_TRUE(std::equal(page.begin(), page.end(), bytes.begin() + i * std::ptrdiff_t{kPage}));
  }
}

std::uint64_t operations_of_workload() {
  const SimDisk disk;
  EXPECT_TRUE(workload(*disk.device()));
  expect_complete(disk.crash(1, CrashKeeps::nothing));
  return disk.operations();
}

struct ErrorCase {
  int error;
  ErrorCode code;
};

TEST(SimFault, EveryErrorAtEveryOperationOnceAndForGood) {
  const std::uint64_t operations = operations_of_workload();
  ASSERT_GE(operations, 20U);
  for (const auto [error, code] :
       {ErrorCase{EIO, ErrorCode::io_error}, ErrorCase{ENOSPC, ErrorCode::no_space},
        ErrorCase{EACCES, ErrorCode::permission_denied}, ErrorCase{EDQUOT, ErrorCode::no_space}}) {
    for (std::uint64_t n = 1; n <= operations; ++n) {
      for (const bool for_good : {false, true}) {
        SCOPED_TRACE(testing::Message() << "errno " << error << " at operation " << n
                                        << (for_good ? " for good" : " once"));
        SimDisk disk;
        SimKind failed_kind{};
        disk.set_hook([&](const SimOperation& operation) {
          if (operation.number == n) {
            failed_kind = operation.kind;
          }
        });
        disk.inject({.error = error, .nth = n, .for_good = for_good});
        try {
          workload(*disk.device());
          ADD_FAILURE() << "the error was swallowed";
        } catch (const Error& thrown) {
          EXPECT_EQ(thrown.code(), failed_kind == SimKind::sync ? ErrorCode::io_error : code)
              << thrown.what();
        }
      }
    }
  }
}

TEST(SimFault, PassingTroubleAtEveryOperationPassesUnnoticed) {
  const std::uint64_t operations = operations_of_workload();
  const unsigned transfers = SimKind::read | SimKind::write;
  for (std::uint64_t n = 1; n <= operations; ++n) {
    std::vector<SimFault> faults;
    faults.push_back({.effect = Effect::short_transfer, .kinds = transfers, .nth = n});
    faults.push_back({.error = EAGAIN, .kinds = transfers, .nth = n});
    faults.push_back(
        {.error = EINTR,
         .kinds = transfers | SimKind::sync | SimKind::allocate | SimKind::truncate | SimKind::size,
         .nth = n});
    for (const SimFault& fault : faults) {
      SCOPED_TRACE(testing::Message() << "operation " << n);
      SimDisk disk;
      disk.inject(fault);
      const auto device = disk.device();
      EXPECT_TRUE(workload(*device));
      expect_complete(disk.crash(n, CrashKeeps::nothing));
    }
  }
}

TEST(SimFault, TroubleThatDoesNotPassEndsInAnErrorNotInALoop) {
  for (const int error : {EAGAIN, EINTR}) {
    for (const SimKind kind : {SimKind::read, SimKind::write, SimKind::sync, SimKind::truncate}) {
      SimDisk disk;
      disk.inject({.error = error, .kinds = static_cast<unsigned>(kind), .for_good = true});
      EXPECT_THROW(workload(*disk.device()), Error);
      EXPECT_LT(disk.operations(), 20'000U);
    }
  }
  // Transfers that stay short arrive all the same.
  SimDisk disk;
  disk.inject({.effect = Effect::short_transfer,
               .kinds = SimKind::read | SimKind::write,
               .nth = 3,
               .for_good = false});
  EXPECT_TRUE(workload(*disk.device()));
}

TEST(SimFault, RepeatsAreCounted) {
  SimDisk disk;
  disk.inject({.error = EINTR, .kinds = static_cast<unsigned>(SimKind::write), .nth = 2});
  const auto device = disk.device();
  EXPECT_TRUE(workload(*device));
  const io::IoStatistics statistics = device->statistics();
  EXPECT_EQ(statistics.repeats, 1U);
  EXPECT_EQ(statistics.writes, 6U);
  EXPECT_EQ(statistics.reads, 6U);
  EXPECT_EQ(statistics.written_bytes, 6 * kPage);
  EXPECT_EQ(statistics.syncs, 2U);
  EXPECT_EQ(statistics.batches, 7U);
}

TEST(SimFault, AFullDiskRefusesGrowthAndGoesOnOtherwise) {
  SimDisk disk(SimOptions{.capacity_bytes = 4 * kPage});
  const auto device = disk.device();
  const auto file = device->open("a", OpenMode::create_new, false);
  AlignedBytes page = page_of(1);
  EXPECT_EQ(error_of([&] { return file->allocate(0, 5 * kPage); }), ErrorCode::no_space);
  EXPECT_EQ(file->size_bytes(), 0U);
  file->allocate(0, 3 * kPage);
  const auto other = device->open("b", OpenMode::create_new, false);
  other->write(0, page);
  EXPECT_EQ(error_of([&] { return other->write(kPage, page); }), ErrorCode::no_space);
  EXPECT_EQ(error_of([&] { return file->truncate(4 * kPage); }), ErrorCode::no_space);
  EXPECT_NO_THROW(file->write(0, page));
  EXPECT_NO_THROW(file->sync());
  file->truncate(kPage);
  EXPECT_NO_THROW(other->write(kPage, page)) << "there is room again";
}

class SimDamage : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = device_->open("a", OpenMode::create_new, false);
    for (int i = 0; i < 4; ++i) {
      file_->write(static_cast<std::uint64_t>(i) * kPage, page_of(10 * (i + 1)));
    }
    file_->sync();
  }
  AlignedBytes read(std::size_t page) {
    AlignedBytes bytes(kPage);
    file_->read(page * kPage, bytes);
    return bytes;
  }
  void inject(Effect effect, SimKind kind) {
    disk_.inject({.effect = effect, .kinds = static_cast<unsigned>(kind)});
  }
  static int bits_that_differ(const AlignedBytes& a, const AlignedBytes& b) {
    int count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      count += std::popcount(static_cast<unsigned>(a[i] ^ b[i]));
    }
    return count;
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_ = disk_.device();
  std::unique_ptr<io::File> file_;
};

TEST_F(SimDamage, ReadsAreDamagedOnceAndTheMediumNot) {
  inject(Effect::flip_bits, SimKind::read);
  EXPECT_THAT(bits_that_differ(read(1), page_of(20)),
              ::testing::AllOf(::testing::Ge(0), ::testing::Le(8)));
  EXPECT_EQ(read(1), page_of(20));
  inject(Effect::zero, SimKind::read);
  EXPECT_EQ(read(1), AlignedBytes(kPage));
  EXPECT_EQ(read(1), page_of(20));
  inject(Effect::misdirect, SimKind::read);
  EXPECT_THAT(read(1), ::testing::AnyOf(page_of(10), page_of(30), page_of(40)));
  file_->write(kPage, page_of(99));
  inject(Effect::stale_read, SimKind::read);
  EXPECT_EQ(read(1), page_of(20));
  EXPECT_EQ(read(1), page_of(99));
}

TEST_F(SimDamage, WritesAreDamagedSilentlyAndForGood) {
  inject(Effect::flip_bits, SimKind::write);
  file_->write(0, page_of(50));
  EXPECT_THAT(bits_that_differ(read(0), page_of(50)),
              ::testing::AllOf(::testing::Ge(0), ::testing::Le(8)));
  inject(Effect::zero, SimKind::write);
  file_->write(0, page_of(50));
  EXPECT_EQ(read(0), AlignedBytes(kPage));
  inject(Effect::lose, SimKind::write);
  file_->write(kPage, page_of(50));
  EXPECT_EQ(read(1), page_of(20));
  inject(Effect::misdirect, SimKind::write);
  file_->write(kPage, page_of(60));
  EXPECT_EQ(read(1), page_of(20));
  EXPECT_EQ((read(0) == page_of(60)) + (read(2) == page_of(60)) + (read(3) == page_of(60)), 1);
  file_->sync();
  device_->sync_directory();
  EXPECT_EQ(disk_.durable_contents("a"), disk_.contents("a"));
  EXPECT_EQ(disk_.crash(1).contents("a"), disk_.contents("a"));
}

TEST_F(SimDamage, TornWritesMixSectors) {
  const AlignedBytes before = page_of(10);
  const AlignedBytes after = page_of(110);
  bool torn = false;
  for (int round = 0; round < 20; ++round) {
    file_->write(0, before);
    inject(Effect::tear, SimKind::write);
    file_->write(0, after);
    const AlignedBytes now = read(0);
    for (std::size_t i = 0; i < kPage; ++i) {
      ASSERT_TRUE(now[i] == before[i] || now[i] == after[i]);
    }
    torn |= now != before && now != after;
  }
  EXPECT_TRUE(torn);
}

TEST_F(SimDamage, FaultsMatchFileKindAndNumber) {
  const auto other = device_->open("b", OpenMode::create_new, false);
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::write), .file = "b", .nth = 2});
  EXPECT_NO_THROW(file_->write(0, page_of(1)));
  EXPECT_NO_THROW(other->write(0, page_of(1)));
  EXPECT_NO_THROW(file_->write(0, page_of(1)));
  EXPECT_NO_THROW(other->sync());
  EXPECT_THROW(other->write(0, page_of(1)), Error);
  EXPECT_NO_THROW(other->write(0, page_of(1)));
  disk_.inject({.for_good = true});
  EXPECT_THROW(read(0), Error);
  EXPECT_THROW(read(0), Error);
  disk_.clear_faults();
  EXPECT_NO_THROW(read(0));
}

TEST_F(SimDamage, TheMediumCanBeOverwritten) {
  device_->sync_directory();
  const AlignedBytes bytes(3, std::byte{0xee});
  disk_.overwrite("a", 4097, bytes);
  EXPECT_EQ(read(1)[1], std::byte{0xee});
  EXPECT_EQ(disk_.crash(1).contents("a")[4099], std::byte{0xee});
  EXPECT_EQ(disk_.crash(1).contents("a")[4100], page_of(20)[4]);
  EXPECT_THROW(disk_.overwrite("none", 0, bytes), Error);
}

}  // namespace
}  // namespace palimpsest::test
