// Crashes at every operation of page file workloads, and again at every operation of the restore.
// page_workload.h defines the expected state.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "tests/buffer/page_workload.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::test {
namespace {

using buffer::PageFile;
using buffer::PageWriter;

constexpr double kSecondsPerWorkload = 1.5;

struct CrashPoint {
  SimDisk disk;
  PageJournal journal;
  bool between_steps = false;  ///< nothing in flight
};

struct Totals {
  std::uint64_t crash_points = 0;
  std::uint64_t states = 0;
  std::uint64_t states_in_restore = 0;
  std::uint64_t pages_restored = 0;
};

/// Runs the workload and keeps the state of disk and journal before every operation completes.
std::vector<CrashPoint> run_and_record(SimDisk& disk, const WorkloadOptions& options) {
  std::vector<CrashPoint> points;
  PageWorkload workload(disk, options);
  workload.create();
  disk.set_hook([&](const SimOperation& operation) {
    workload.observe(operation);
    points.push_back({disk.snapshot(), workload.journal()});
  });
  while (!workload.done()) {
    workload.step();
    points.push_back({disk.snapshot(), workload.journal(), true});
  }
  disk.set_hook({});
  return points;
}

/// The file must still be usable: written, closed, opened normally, and correct.
std::string use_and_close(const SimDisk& disk, std::unique_ptr<PageFile> file,
                          PageJournal journal) {
  const auto page =
      std::find_if(journal.pages.begin(), journal.pages.end(), [&](const auto& entry) {
        return file->contains(entry.first);  // growth may have been lost with its pages
      });
  if (page != journal.pages.end()) {
    auto& [id, history] = *page;
    PageWriter writer(*file);
    PageWriter::Batch batch = writer.begin_batch();
    history.newest += 1'000'000;
    history.hardened = history.newest;
    fill_image({batch.slot(), file->page_size_bytes()}, id, history.newest);
    batch.add(id);
    batch.write();
  }
  file->close_cleanly();
  file.reset();
  const std::unique_ptr<io::Device> device = disk.device();
  // The map is no longer the workload's; its pages are.
  journal.map_hardened = 0;
  return judge(*PageFile::open(*device, buffer::kPageFileName), journal);
}

/// Opens a crashed disk, crashing again at each operation of the restore, and judges the result.
std::string open_and_judge(SimDisk& disk, const PageJournal& journal, std::uint64_t seed,
                           unsigned depth, Totals& totals) {
  std::vector<SimDisk> points;
  if (depth != 0) {
    disk.set_hook([&](const SimOperation&) { points.push_back(disk.snapshot()); });
  }
  try {
    const std::unique_ptr<io::Device> device = disk.device();
    std::unique_ptr<PageFile> file =
        PageFile::open(*device, buffer::kPageFileName, {.allow_unclean = true});
    disk.set_hook({});
    totals.pages_restored += file->restored().pages_restored;
    if (std::string fault = judge(*file, journal); !fault.empty()) {
      return fault;
    }
    if (std::string fault = use_and_close(disk, std::move(file), journal); !fault.empty()) {
      return "after use: " + fault;
    }
  } catch (const Error& error) {
    disk.set_hook({});
    return error.what();
  }
  for (const SimDisk& point : points) {
    ++totals.states_in_restore;
    SimDisk crashed = point.crash(++seed);
    if (std::string fault = open_and_judge(crashed, journal, seed, depth - 1, totals);
        !fault.empty()) {
      return "crash in restore: " + fault;
    }
  }
  return "";
}

void crash_everywhere(const SimOptions& disk_options, const WorkloadOptions& options,
                      std::uint64_t damages, unsigned depth) {
  SCOPED_TRACE(testing::Message() << "workload seed " << options.seed);
  SimDisk disk(disk_options);
  const std::vector<CrashPoint> points = run_and_record(disk, options);
  Totals totals;
  totals.crash_points = points.size();
  for (Sweep sweep(points.size(), 10, kSecondsPerWorkload); const auto point = sweep.next();) {
    const std::uint64_t i = *point;
    for (std::uint64_t damage = 0; damage < damages; ++damage) {
      const std::uint64_t seed = options.seed * 1'000'003 + i * 101 + damage;
      const CrashKeeps keeps = damage == 0   ? CrashKeeps::nothing
                               : damage == 1 ? CrashKeeps::everything
                                             : CrashKeeps::random;
      // The process is killed, and the disk and its cache survive; or the power fails.
      const bool killed = points[i].between_steps && damage == 2;
      SimDisk crashed = killed ? points[i].disk.snapshot() : points[i].disk.crash(seed, keeps);
      ++totals.states;
      // Depth costs time: crash in the restore of one damage in four.
      const unsigned again = damage % 4 == 2 ? depth : 0;
      const std::string fault = open_and_judge(crashed, points[i].journal, seed, again, totals);
      ASSERT_EQ(fault, "") << "crash point " << i << " damage " << damage;
    }
  }
  testing::Test::RecordProperty("states", static_cast<int>(totals.states));
  std::cout << "  seed " << options.seed << ": " << totals.crash_points << " crash points, "
            << totals.states << " states, " << totals.states_in_restore << " in the restore, "
            << totals.pages_restored << " pages restored\n";
}

TEST(TornPage, EveryCrashPointOfScriptedWorkloads) {
  for (std::uint64_t workload = 1; workload <= 6; ++workload) {
    crash_everywhere({.seed = workload},
                     {.seed = workload, .ring_batches = workload % 3 == 0 ? 3U : 2U}, 6, 1);
  }
}

TEST(TornPage, EveryCrashPointOfARandomWorkload) {
  const std::uint64_t random_seed = seed() % 1'000'000'007;
  crash_everywhere({.seed = random_seed}, {.seed = random_seed}, 6, 2);
}

TEST(TornPage, EveryCrashPointWithAtomicWrites) {
  for (std::uint64_t workload = 11; workload <= 13; ++workload) {
    crash_everywhere({.seed = workload, .atomic_write_bytes_max = 4096}, {.seed = workload}, 6, 1);
  }
}

}  // namespace
}  // namespace palimpsest::test
