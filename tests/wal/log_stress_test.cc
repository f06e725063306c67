// More threads than cores append to their slots, change common pages, commit synchronously and not,
// while replay's start moves and power fails: everything acknowledged is there.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "base/random.h"
#include "tests/support/eventually.h"
#include "tests/support/seed.h"
#include "tests/support/thread_group.h"
#include "tests/wal/log_fixture.h"
#include "wal/background_committer.h"

namespace palimpsest::wal::test {
namespace {

using palimpsest::test::CrashKeeps;
using palimpsest::test::SimDisk;

constexpr std::size_t kThreads = 12;
constexpr std::uint64_t kTransactions = 150;

/// A page as the log sees it: a thread that changes it holds its latch and raises its GSN.
struct Page {
  std::mutex latch;
  Gsn gsn{};
};

class Writer {
 public:
  Writer(OpenLog& open, std::vector<Page>& pages, std::uint64_t seed)
      : open_(open), pages_(pages), random_(seed) {}

  void run() {
    for (std::uint64_t i = 0; i < kTransactions; ++i) {
      const SlotId slot = open_.slots().claim(SlotId{0}).value();
      open_.slots()[slot].merge(open_.clock().now());
      for (std::uint64_t changes = random_.between(1, 5); changes != 0; --changes) {
        change(slot);
      }
      const Remembered commit = open_.commit(slot, number());
      appended_.push_back(commit);
      open_.slots().release(slot);
      if (random_.one_in(4)) {
        open_.log().wait_durable(commit.gsn);
        acknowledged_ = std::max(acknowledged_, commit.gsn);
      }
    }
  }
  [[nodiscard]] const std::vector<Remembered>& appended() const { return appended_; }
  [[nodiscard]] Gsn acknowledged() const { return acknowledged_; }

 private:
  std::uint64_t number() { return ++number_; }
  void change(SlotId slot) {
    const std::size_t bytes = random_.between(8, 300);
    open_.log().reserve(
        slot, {.bytes = bytes + 64, .credit_bytes = 2 * bytes + 128});  // before the latch
    Page& page = pages_[random_.below(pages_.size())];
    const std::lock_guard latch(page.latch);
    appended_.push_back(open_.change(slot, number(), bytes, page.gsn));
    ASSERT_GT(appended_.back().gsn, page.gsn);
    page.gsn = appended_.back().gsn;
  }

  OpenLog& open_;
  std::vector<Page>& pages_;
  Random random_;
  std::uint64_t number_ = 0;
  std::vector<Remembered> appended_;
  Gsn acknowledged_{};
};

TEST(LogStress, WhatIsAcknowledgedSurvives) {
  const std::uint64_t seed = palimpsest::test::seed();
  SimDisk disk({.seed = seed});
  const auto device = disk.device();
  const LogFileOptions files{.segment_bytes = std::uint64_t{1} << 20U, .segments_max = 16};
  OpenLog open(*device, files);
  std::vector<Page> pages(5);
  std::vector<Writer> writers;
  writers.reserve(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    writers.emplace_back(open, pages, seed + i);
  }
  {
    const BackgroundCommitter background(open.log(), std::chrono::milliseconds(1));
    palimpsest::test::run_threads(kThreads, [&](std::size_t i) { writers[i].run(); });
  }
  const Gsn stated = open.log().durable_gsn();
  const SimDisk crashed = disk.crash(seed, CrashKeeps::nothing);
  const Found found = read_log(*crashed.device(), files);
  std::size_t appended = 0;
  for (const Writer& writer : writers) {
    appended += writer.appended().size();
    EXPECT_GE(stated, writer.acknowledged());
    EXPECT_EQ(missing(writer.appended(), stated, found), "");
  }
  EXPECT_GT(found.records.size(), kThreads * kTransactions);
  std::cout << appended << " records in " << open.log().statistics().rounds << " rounds, "
            << found.records.size() << " found, " << found.beyond.size() << " beyond the cut\n";
}

// No thread waits or calls the log: commits reach the disk by themselves, and an idle log rests.
TEST(LogStress, AsynchronousCommitsReachTheDisk) {
  const SimDisk disk;
  const auto device = disk.device();
  OpenLog open(*device);
  BackgroundCommitter background(open.log(), std::chrono::milliseconds(2));
  const SlotId slot = open.claim();
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Remembered commit = open.commit(slot, i);
    background.committed();
    ASSERT_TRUE(
        palimpsest::test::eventually([&] { return open.log().durable_gsn() >= commit.gsn; }));
  }
}

// A writer that appends without committing, faster than the interval allows, still gets space: the
// background thread, which is not due for an hour, writes a slot's log when it is half full.
TEST(LogStress, AHalfFullLogIsWrittenBeforeItIsFull) {
  const SimDisk disk;
  const auto device = disk.device();
  OpenLog open(*device);
  const BackgroundCommitter background(open.log(), std::chrono::hours(1));
  const SlotId slot = open.claim();
  constexpr std::size_t kPayloadBytes = 500;
  for (std::uint64_t number = 0; number < 100; ++number) {
    open.change(slot, number, kPayloadBytes, Gsn{0});
    const SlotLog& log = open.log().slot_log(slot);
    if (raw(log.end()) - raw(log.taken()) < small_options().slot_log_bytes / 2) {
      continue;
    }
    open.log().reserve(slot, {.bytes = kPayloadBytes, .credit_bytes = kPayloadBytes});
    ASSERT_TRUE(palimpsest::test::eventually([&] { return log.taken() == log.end(); })) << number;
  }
  EXPECT_GT(open.log().statistics().rounds, 5U);
}

}  // namespace
}  // namespace palimpsest::wal::test
