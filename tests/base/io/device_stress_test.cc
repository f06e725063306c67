// Many threads, one device: every batch gets its own results, regardless of concurrent batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "base/io/pmem_device.h"
#include "base/io/posix_device.h"
#include "base/io/uring_device.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/sim_random.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/thread_group.h"

namespace palimpsest::io {
namespace {

constexpr std::size_t kThreads = 12;
constexpr std::size_t kPagesOfAThread = 64;
constexpr std::size_t kPage = 4096;

class DeviceStressTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "uring") {
      if (UringDevice::probe() != 0) {
        GTEST_SKIP() << "io_uring is not allowed here";
      }
      device_ = std::make_unique<UringDevice>(directory_.path(), false, stderr_log_sink());
    } else if (GetParam() == "posix") {
      device_ = std::make_unique<PosixDevice>(directory_.path(), false);
    } else if (GetParam() == "pmem") {
      device_ = std::make_unique<PmemDevice>(directory_.path(), false);
    } else {
      device_ = disk_.device();
    }
  }

  test::TemporaryDirectory directory_{
      GetParam() == "pmem" ? test::memory_file_system() : std::filesystem::temp_directory_path()};
  test::SimDisk disk_;
  std::unique_ptr<Device> device_;
};

/// One thread's pages, and their expected contents.
class Worker {
 public:
  Worker(File& file, std::size_t thread, std::uint64_t seed)
      : file_(file),
        first_page_(thread * kPagesOfAThread),
        thread_(thread),
        random_(seed + thread),
        memory_(kPagesOfAThread * kPage, kPage) {}

  void write_some() {
    batch_.clear();
    const std::size_t first = random_.below(kPagesOfAThread);
    const std::size_t count = 1 + random_.below(kPagesOfAThread - first);
    for (std::size_t page = first; page < first + count; ++page) {
      stamps_[page] = random_.next();
      add(Transfer::Kind::write, page);
      for (std::size_t at = 0; at < kPage; at += sizeof(std::uint64_t)) {
        std::memcpy(batch_.back().data.data() + at, &stamps_[page], sizeof(std::uint64_t));
      }
    }
    run();
  }
  void read_some() {
    batch_.clear();
    for (std::size_t page = 0; page < kPagesOfAThread; ++page) {
      if (stamps_[page] != 0 && random_.chance(50)) {
        add(Transfer::Kind::read, page);
        std::memset(batch_.back().data.data(), 0, kPage);
      }
    }
    run();
    for (const Transfer& transfer : batch_) {
      const std::size_t page = transfer.offset_bytes / kPage - first_page_;
      for (std::size_t at : {std::size_t{0}, kPage / 2, kPage - sizeof(std::uint64_t)}) {
        std::uint64_t found = 0;
        std::memcpy(&found, transfer.data.data() + at, sizeof(found));
        ASSERT_EQ(found, stamps_[page]) << "thread " << thread_ << ", page " << page;
      }
    }
  }

 private:
  void add(Transfer::Kind kind, std::size_t page) {
    batch_.push_back({.kind = kind,
                      .offset_bytes = (first_page_ + page) * kPage,
                      .data = memory_.bytes().subspan(page * kPage, kPage)});
  }
  void run() {
    file_.run(batch_);
    for (const Transfer& transfer : batch_) {
      ASSERT_EQ(transfer.error, 0);
    }
  }

  File& file_;
  std::size_t first_page_;
  std::size_t thread_;
  test::SimRandom random_;
  AlignedMemory memory_;
  std::vector<std::uint64_t> stamps_ = std::vector<std::uint64_t>(kPagesOfAThread);
  std::vector<Transfer> batch_;
};

TEST_P(DeviceStressTest, ThreadsRunBatchesAtOnce) {
  const std::uint64_t seed = test::seed();
  const auto file = device_->open("pages", OpenMode::create_new, true);
  file->allocate(0, kThreads * kPagesOfAThread * kPage);
  test::run_threads(kThreads + 1, [&](std::size_t thread) {
    if (thread == kThreads) {  // opens and closes files, registers and frees memory
      for (int i = 0; i < 20; ++i) {
        AlignedMemory memory(4 * kPage, kPage);
        const auto registration = device_->register_buffer(memory.bytes());
        const auto other = device_->open("file" + std::to_string(i), OpenMode::create_new, true);
        std::vector<Transfer> batch;
        batch.reserve(4);
        for (std::size_t page = 0; page < 4; ++page) {
          batch.push_back({.kind = Transfer::Kind::write,
                           .offset_bytes = page * kPage,
                           .data = memory.bytes().subspan(page * kPage, kPage)});
        }
        other->run(batch);
        for (const Transfer& transfer : batch) {
          ASSERT_EQ(transfer.error, 0);
        }
      }
      return;
    }
    Worker worker(*file, thread, seed);
    for (std::size_t round = 0; round < 20; ++round) {
      worker.write_some();
      worker.read_some();
      if (round % 8 == thread % 8) {
        file->sync();
      }
    }
  });
  const IoStatistics statistics = device_->statistics();
  EXPECT_EQ(statistics.errors, 0U);
  EXPECT_GE(statistics.batches, kThreads * 40);
}

TEST_P(DeviceStressTest, OfManySyncsNoneSucceedsAfterOneFailed) {
  if (GetParam() != "sim") {
    GTEST_SKIP() << "needs a disk that fails on demand";
  }
  AlignedMemory memory(kPage, kPage);
  for (int round = 0; round < 30; ++round) {
    const auto file = device_->open("f" + std::to_string(round), OpenMode::create_new, true);
    std::atomic<bool> failed{false};
    disk_.inject({.kinds = static_cast<unsigned>(test::SimKind::sync), .nth = 5});
    test::run_threads(4, [&](std::size_t) {
      for (int i = 0; i < 10; ++i) {
        const bool was_failed = failed.load(std::memory_order_acquire);
        try {
          file->sync();
          EXPECT_FALSE(was_failed) << "a sync succeeded after one had failed";
        } catch (const Error&) {
          failed.store(true, std::memory_order_release);
        }
      }
    });
    EXPECT_TRUE(failed.load(std::memory_order_acquire));
    EXPECT_THROW(file->write(0, memory.bytes()), Error);
  }
}

// Only on the few file systems with atomic writes.
TEST_P(DeviceStressTest, AtomicWritesComeOutOfRegisteredMemory) {
  const auto file = device_->open("atomic", OpenMode::create_new, true);
  if (file->atomic_write_bytes_max() < kPage) {
    GTEST_SKIP() << "no write is atomic here";
  }
  AlignedMemory memory(4 * kPage, kPage);
  const auto registration = device_->register_buffer(memory.bytes());
  file->allocate(0, 16 * kPage);
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < 4; ++i) {
    const MutableBytes page = memory.bytes().subspan(i * kPage, kPage);
    std::ranges::fill(page, static_cast<std::byte>('a' + i));
    transfers.push_back({.kind = Transfer::Kind::write,
                         .atomic = true,
                         .offset_bytes = 3 * i * kPage,
                         .data = page});
  }
  file->run(transfers);
  AlignedMemory found(kPage, kPage);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(transfers[i].error, 0);
    file->read(transfers[i].offset_bytes, found.bytes());
    EXPECT_TRUE(std::ranges::equal(found.bytes(), transfers[i].data));
  }
}

TEST(SyncRace, ASyncBesideAFailingOneDoesNotSucceed) {
  test::SimDisk disk;
  const auto device = disk.device();
  const auto file = device->open("a", OpenMode::create_new, true);
  std::atomic<bool> ended{false};
  std::atomic<bool> succeeded{false};
  std::thread second;
  disk.set_hook([&](const test::SimOperation& operation) {
    if (operation.kind != test::SimKind::sync) {
      return;
    }
    disk.set_hook({});
    // The first sync is under way and will fail; a second one that ran now would succeed.
    second = std::thread([&] {
      try {
        file->sync();
        succeeded.store(true);
      } catch (const Error&) {
        succeeded.store(false);
      }
      ended.store(true);
    });
    for (int i = 0; i < 20'000 && !ended.load(); ++i) {
      std::this_thread::yield();
    }
  });
  disk.inject({.kinds = static_cast<unsigned>(test::SimKind::sync)});
  EXPECT_THROW(file->sync(), Error);
  second.join();
  EXPECT_FALSE(succeeded.load());
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceStressTest,
                         ::testing::Values("uring", "posix", "pmem", "sim"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace palimpsest::io
