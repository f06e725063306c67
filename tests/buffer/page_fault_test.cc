// The device fails at the n-th operation, for every n: nothing is lost, and the page file is then
// either usable or reports that it has failed.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "tests/buffer/page_workload.h"
#include "tests/support/error_of.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::test {
namespace {

using buffer::PageFile;
using buffer::PageWriter;
using buffer::SpaceMap;

constexpr WorkloadOptions kWorkload{.seed = 21, .steps = 20};
constexpr int kWorkloads = 3;  ///< seeds from kWorkload.seed on

std::string open_and_judge(const SimDisk& disk, const PageJournal& journal) {
  try {
    const std::unique_ptr<io::Device> device = disk.device();
    return judge(*PageFile::open(*device, buffer::kPageFileName, {.allow_unclean = true}), journal);
  } catch (const Error& error) {
    return error.what();
  }
}

void expect_failed_state(PageWorkload& workload) {
  PageFile& file = *workload.file();
  EXPECT_EQ(error_of([&] { static_cast<void>(workload.writer().begin_batch()); }),
            ErrorCode::failed);
  EXPECT_EQ(error_of([&] { workload.writer().write_fresh({}); }), ErrorCode::failed);
  EXPECT_EQ(error_of([&] { workload.writer().harden(); }), ErrorCode::failed);
  EXPECT_EQ(error_of([&] { file.set_catalog_root(kNoPage); }), ErrorCode::failed);
  EXPECT_EQ(error_of([&] { file.close_cleanly(); }), ErrorCode::failed);
}

/// The result of a run with one fault.
struct FaultRun {
  std::uint64_t operations = 0;
  bool failed = false;
  bool threw = false;
};

/// Goes on after errors that leave the file usable, and records them.
void run_to_the_end(PageWorkload& workload, bool for_good, FaultRun& run) {
  while (!workload.done()) {
    try {
      workload.step();
    } catch (const Error& error) {
      run.threw = true;
      EXPECT_TRUE(error.code() == ErrorCode::io_error || error.code() == ErrorCode::no_space ||
                  error.code() == ErrorCode::failed)
          << error.what();
      run.failed = workload.file() != nullptr && workload.file()->failed();
      if (workload.file() == nullptr || run.failed || for_good) {
        return;
      }
    }
  }
}

/// The process ends; the device's cache survives and may show more than the medium has. Then the
/// power fails, at every operation of reopening.
void expect_reopens(const SimDisk& disk, const PageJournal& journal, std::uint64_t seed) {
  SimDisk reopened = disk.snapshot();
  std::vector<SimDisk> points;
  reopened.set_hook([&](const SimOperation&) { points.push_back(reopened.snapshot()); });
  EXPECT_EQ(open_and_judge(reopened, journal), "") << "after reopening";
  reopened.set_hook({});
  points.push_back(reopened.snapshot());
  for (const SimDisk& point : points) {
    ++seed;
    ASSERT_EQ(open_and_judge(point.crash(seed, CrashKeeps::nothing), journal), "");
    ASSERT_EQ(open_and_judge(point.crash(seed), journal), "") << "a crash while reopening";
  }
}

FaultRun run_with_fault(const SimFault& fault, std::uint64_t seed) {
  SimDisk disk({.seed = fault.nth});
  WorkloadOptions options = kWorkload;
  options.seed = seed;
  PageWorkload workload(disk, options);
  workload.create();
  disk.set_hook([&](const SimOperation& operation) { workload.observe(operation); });
  const std::uint64_t before = disk.operations();
  disk.inject(fault);
  FaultRun run;
  run_to_the_end(workload, fault.for_good, run);
  run.operations = disk.operations() - before;
  disk.clear_faults();
  if (workload.file() != nullptr) {
    EXPECT_EQ(judge(*workload.file(), workload.journal_of_reads()), "") << "reads go on";
    if (run.failed) {
      expect_failed_state(workload);
    } else {
      workload.close();  // usable to the end
    }
  }
  disk.set_hook({});
  const PageJournal journal = workload.journal();
  const SimDisk crashed = disk.crash(fault.nth);
  EXPECT_EQ(open_and_judge(crashed, journal), "") << "after a crash";
  expect_reopens(disk, journal, fault.nth);
  return run;
}

void fail_every_operation_of(std::uint64_t seed, SimFault fault) {
  std::uint64_t failed = 0;
  std::uint64_t threw = 0;
  for (fault.nth = 1;; ++fault.nth) {
    SCOPED_TRACE(testing::Message() << "workload " << seed << " operation " << fault.nth);
    const FaultRun run = run_with_fault(fault, seed);
    failed += run.failed ? 1 : 0;
    threw += run.threw ? 1 : 0;
    if (fault.nth > run.operations || testing::Test::HasFailure()) {
      break;
    }
  }
  EXPECT_GT(fault.nth, 50U);
  EXPECT_GT(threw, 20U);
  EXPECT_GT(failed, 5U);
}

void fail_every_operation(const SimFault& fault) {
  for (int i = 0; i < repeats(kWorkloads); ++i) {
    fail_every_operation_of(kWorkload.seed + static_cast<std::uint64_t>(i), fault);
  }
}

TEST(PageFault, EveryOperationFailsOnceWithEio) {
  fail_every_operation({.error = EIO});
}

TEST(PageFault, EveryOperationFailsForGoodWithEio) {
  fail_every_operation({.error = EIO, .for_good = true});
}

TEST(PageFault, EveryOperationFailsOnceWithEnospc) {
  fail_every_operation({.error = ENOSPC});
}

TEST(PageFault, EveryOperationFailsForGoodWithEnospc) {
  fail_every_operation({.error = ENOSPC, .for_good = true});
}

TEST(PageFault, EverySyncFailsAndTheFileIsReopened) {
  // Only syncs: here the cache and the medium differ most.
  for (std::uint64_t nth = 1; nth <= 40; ++nth) {
    SCOPED_TRACE(testing::Message() << "sync " << nth);
    run_with_fault({.kinds = static_cast<unsigned>(SimKind::sync), .nth = nth}, kWorkload.seed);
  }
}

// The file's visible size is not on the medium, and the header of a clean file names it.
TEST(PageFault, AGrowthIsDurableThoughItsSyncFailed) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimDisk disk({.seed = seed});
    std::uint64_t pages = 0;
    {
      const auto device = disk.device();
      const auto file = PageFile::create(*device, buffer::kPageFileName, {});
      pages = file->page_count() + 100;
      file->grow(pages);
      disk.inject({.kinds = static_cast<unsigned>(SimKind::sync)});
      EXPECT_EQ(error_of([&] { file->close_cleanly(); }), ErrorCode::io_error);
    }
    {
      const auto device = disk.device();
      const auto file = PageFile::open(*device, buffer::kPageFileName, {.allow_unclean = true});
      ASSERT_EQ(file->page_count(), pages);
      file->close_cleanly();
    }
    const auto device = disk.crash(1, CrashKeeps::nothing).device();
    EXPECT_EQ(error_of([&] { static_cast<void>(PageFile::open(*device, buffer::kPageFileName)); }),
              std::nullopt);
  }
}

TEST(PageFault, AFailedCreationLeavesNoFile) {
  for (std::uint64_t nth = 1;; ++nth) {
    SCOPED_TRACE(testing::Message() << "operation " << nth);
    SimDisk disk;
    const std::unique_ptr<io::Device> device = disk.device();
    disk.inject({.error = ENOSPC, .nth = nth});
    const auto create = [&] {
      static_cast<void>(PageFile::create(*device, buffer::kPageFileName, {}));
    };
    if (!error_of(create)) {
      EXPECT_GT(nth, 4U);
      return;
    }
    EXPECT_FALSE(device->exists(buffer::kPageFileName));
    EXPECT_EQ(error_of(create), std::nullopt);
  }
}

TEST(PageFault, AFailedOpeningCanBeRepeated) {
  SimDisk original;
  PageWorkload workload(original, kWorkload);
  workload.create();
  original.set_hook([&](const SimOperation& operation) { workload.observe(operation); });
  while (!workload.done()) {
    workload.step();
  }
  original.set_hook({});
  const SimDisk crashed = original.crash(5);
  for (std::uint64_t nth = 1;; ++nth) {
    SCOPED_TRACE(testing::Message() << "operation " << nth);
    SimDisk disk = crashed.snapshot();
    disk.inject({.error = EIO, .nth = nth});
    const bool opened = open_and_judge(disk, workload.journal()).empty();
    disk.clear_faults();
    ASSERT_EQ(open_and_judge(disk, workload.journal()), "");
    ASSERT_EQ(open_and_judge(disk.crash(nth), workload.journal()), "");
    if (opened) {
      EXPECT_GT(nth, 10U);
      return;
    }
  }
}

TEST(PageFault, AFullDeviceLeavesTheFileUsable) {
  SimDisk disk({.capacity_bytes = 3U << 20U});
  const std::unique_ptr<io::Device> device = disk.device();
  const std::unique_ptr<PageFile> file =
      PageFile::create(*device, buffer::kPageFileName,
                       {.page_size_bytes = 4096, .ring_batches = 2, .batch_pages = 64});
  PageWriter writer(*file);
  SpaceMap map(*file);
  std::vector<PageId> pages;
  EXPECT_EQ(error_of([&] {
              for (;;) {
                pages.push_back(map.allocate(0));
              }
            }),
            ErrorCode::no_space);
  EXPECT_EQ(error_of([&] { static_cast<void>(map.allocate_extent(10, 10)); }), ErrorCode::no_space);
  // All of the device has become pages: 3 MiB less header area, ring and the map page.
  EXPECT_EQ(pages.size(), (3U << 20U) / 4096 - 16 - 128 - 1);
  {
    PageWriter::Batch batch = writer.begin_batch();
    fill_image({batch.slot(), 4096}, pages.back(), 7);
    batch.add(pages.back());
    batch.write();
  }
  const AlignedMemory memory(4096, 4096);
  file->read_page(pages.back(), memory.bytes());
  EXPECT_EQ(version_of(memory.bytes(), pages.back()), 7U);
  map.free(pages[3]);
  EXPECT_EQ(map.allocate(1), pages[3]) << "writing resumes when there is room";
  map.flush(writer);
  file->close_cleanly();
}

}  // namespace
}  // namespace palimpsest::test
