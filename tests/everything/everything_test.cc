// All features at the same time: tables, indexes, bulks, alterations, backups, large values, calls
// at all levels and without a transaction, little memory, little disk space. The process is killed
// at any moment, and the database opened again, to be read and to be written.
//
// Judged by journals that are kept outside of the engine (journal.h): every acknowledged commit is
// there, the remaining ones wholly or not at all, indexes agree with their tables, a check finds
// nothing, no call hangs, and none fails except by an expected error. Rounds go on for the time of
// PALIMPSEST_TEST_SECONDS. The seed determines the operations, but not how threads interleave and
// when a kill comes. PALIMPSEST_EVERYTHING_KEEP keeps the files of a fault; with
// PALIMPSEST_EVERYTHING_STOP a process that hangs is left to a debugger.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/everything/lives.h"
#include "tests/everything/small_disk.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::everything {
namespace {

constexpr double kSecondsPerPlace = 13;
constexpr std::uint64_t kSmallDiskBytes = std::uint64_t{96} << 20U;
constexpr int kRoundsOfDatabase = 60;

void keep(const std::string& directory) {
  if (const char* to = std::getenv("PALIMPSEST_EVERYTHING_KEEP")) {
    std::filesystem::copy(directory, to, std::filesystem::copy_options::recursive);
    fmt::print("files are in {}\n", to);
  }
}

/// One database after the other, each for some rounds.
void run_lives(const Place& place) {
  std::uint64_t seed = test::seed();
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration<double>(test::test_seconds(kSecondsPerPlace));
  do {
    Lives lives(place, seed++);
    for (int round = 0; round < kRoundsOfDatabase; ++round) {
      if (const std::string what = lives.round(); !what.empty()) {
        keep(place.directory);
        FAIL() << "seed " << seed - 1 << ", life " << round + 1 << ": " << what;
      }
      if (std::chrono::steady_clock::now() >= end) {
        break;
      }
    }
    fmt::print("{}\n", lives.summary());
    std::filesystem::remove_all(place.directory + "/database");
  } while (std::chrono::steady_clock::now() < end);
}

TEST(EverythingTest, IsWhatTheJournalsSay) {
  const test::TemporaryDirectory directory;
  run_lives({.directory = directory.path()});
}

// Far faster than disks, so that kills hit more of what happens in memory.
TEST(EverythingTest, InMemoryFilesToo) {
  const test::TemporaryDirectory directory(test::memory_file_system());
  run_lives({.directory = directory.path()});
}

TEST(EverythingTest, OnASmallDiskToo) {
  const test::TemporaryDirectory directory;
  if (!mount_small_disk(directory.path(), kSmallDiskBytes)) {
    GTEST_SKIP() << "this process may not mount a small file system";
  }
  run_lives({.directory = directory.path(), .disk_bytes = kSmallDiskBytes});
}

}  // namespace
}  // namespace palimpsest::everything
