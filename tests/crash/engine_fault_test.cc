// The disk fails at the n-th operation, for every n: in work and in recovery, once and permanently.
//
// Each run starts from the same disk, lets one operation fail, and goes on like a program that
// reports errors and tries other operations. Then it judges: nothing acknowledged is lost, no
// transaction is half there, and the database either goes on or refuses to write until it is opened
// again. Runs go on for the time of PALIMPSEST_TEST_SECONDS, and over all n if that suffices.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "tests/crash/fault_session.h"
#include "tests/support/sim_random.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::CrashKeeps;
using palimpsest::test::SimDisk;
using palimpsest::test::SimFault;
using palimpsest::test::SimKind;
using palimpsest::test::SimRandom;
using SteadyClock = std::chrono::steady_clock;

constexpr double kSecondsPerCase = 0.3;
constexpr unsigned kStuckSeconds = 60;
constexpr std::uint64_t kKeys = 500;

// Faults

struct Fault {
  const char* name;
  SimFault::Effect effect;
  int error;
  unsigned kinds;
  bool for_good;
  const char* file = "";  ///< any
};

constexpr unsigned kTakesSpace = SimKind::allocate | SimKind::create;

constexpr Fault kFaults[] = {
    {"IoErrorOnce", SimFault::Effect::error, EIO, palimpsest::test::kEveryKind, false},
    {"IoErrorForGood", SimFault::Effect::error, EIO, palimpsest::test::kEveryKind, true},
    {"WriteErrorForGood", SimFault::Effect::error, EIO, SimKind::write | SimKind::sync, true},
    {"PageWriteErrorForGood", SimFault::Effect::error, EIO, unsigned(SimKind::write), true,
     "pages"},
    {"PageSyncErrorOnce", SimFault::Effect::error, EIO, unsigned(SimKind::sync), false, "pages"},
    {"FullOnce", SimFault::Effect::error, ENOSPC, kTakesSpace, false},
    {"FullForGood", SimFault::Effect::error, ENOSPC, kTakesSpace, true},
    {"FullForWrites", SimFault::Effect::error, ENOSPC, kTakesSpace | SimKind::write, true},
    {"ShortOnce", SimFault::Effect::short_transfer, 0, SimKind::read | SimKind::write, false},
    {"ShortReads", SimFault::Effect::short_transfer, 0, unsigned(SimKind::read), true},
};

/// A fault that a program must not notice.
bool is_harmless(const Fault& fault) {
  return fault.effect == SimFault::Effect::short_transfer;
}
/// A fault that must not make the database fail: promised writes have their space.
bool is_full_disk(const Fault& fault) {
  return fault.kinds == kTakesSpace;
}

// Workloads

std::string key_of(std::uint64_t number) {
  return fmt::format("key{:05}", number);
}

std::vector<FaultChange> some_changes(SimRandom& random, std::uint64_t count,
                                      std::uint64_t bytes_max) {
  std::vector<FaultChange> changes;
  for (std::uint64_t i = 0; i < count; ++i) {
    FaultChange change{.key = key_of(random.below(2 * kKeys)), .value = {}};
    if (!random.chance(20)) {
      const auto letter = static_cast<char>('a' + random.below(26));
      change.value = std::string(1 + random.below(bytes_max), letter);
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

struct Workload {
  const char* name;
  std::uint64_t transactions;
  std::uint64_t changes;
  std::uint64_t value_bytes_max;
  std::uint32_t segments_max;
  std::uint64_t memory_bytes;
  bool background_threads;
};

constexpr Workload kWorkloads[] = {
    {"Small", 30, 10, 500, 12, 0, false},
    {"Large", 12, 3, 40'000, 12, 0, false},
    {"LogReuse", 30, 30, 1'500, 8, std::uint64_t{4} << 20U, true},
};

EngineOptions options_of(const Workload& workload) {
  EngineOptions options = small_options();
  options.log_bytes_max = workload.segments_max * wal::kSegmentBytesMin;
  options.memory_bytes = workload.memory_bytes;
  options.background_threads = workload.background_threads;
  return options;
}

void work(FaultSession& session, const Workload& workload) {
  SimRandom random(workload.changes);
  for (std::uint64_t i = 0; i < workload.transactions; ++i) {
    session.transact(some_changes(random, workload.changes, workload.value_bytes_max), i % 5 == 3);
    if (!workload.background_threads) {
      session.checkpoint();
    }
  }
}

/// More pages than there are frames, closed cleanly.
SimDisk prepared(const Workload& workload, Content& content) {
  const SimDisk disk;
  FaultSession session(disk, options_of(workload));
  EXPECT_TRUE(session.open());
  for (std::uint64_t begin = 0; begin < kKeys; begin += 50) {
    std::vector<FaultChange> changes;
    for (std::uint64_t i = begin; i < begin + 50; ++i) {
      changes.push_back({key_of(2 * i), std::string(i % 100 == 7 ? 20'000 : 300, 'p')});
    }
    session.transact(changes);
    session.checkpoint();
  }
  EXPECT_TRUE(session.errors().empty());
  content = session.committed();
  session.database().close();
  session.end();
  return disk.snapshot();
}

// Expectations

class EngineFaultTest : public ::testing::TestWithParam<std::tuple<Workload, Fault>> {
 protected:
  [[nodiscard]] static const Workload& workload() { return std::get<0>(GetParam()); }
  [[nodiscard]] static const Fault& fault() { return std::get<1>(GetParam()); }

  static void inject(SimDisk& disk, std::uint64_t nth) {
    disk.inject({.effect = fault().effect,
                 .error = fault().error,
                 .kinds = fault().kinds,
                 .file = fault().file,
                 .nth = nth,
                 .for_good = fault().for_good});
  }

  /// run(n) for each n up to `operations`, in an order of which any prefix is spread evenly.
  template <class Run>
  static void for_every_operation(std::uint64_t operations, const Run& run) {
    const auto end = SteadyClock::now() +
                     std::chrono::duration<double>(palimpsest::test::test_seconds(kSecondsPerCase));
    std::uint64_t stride = operations * 5 / 8 + 1;
    while (std::gcd(stride, operations) != 1) {
      ++stride;
    }
    std::uint64_t done = 0;
    for (; done < operations && SteadyClock::now() < end && !HasFailure(); ++done) {
      const std::uint64_t nth = done * stride % operations + 1;
      SCOPED_TRACE(fmt::format("operation {} fails", nth));
      ::alarm(kStuckSeconds);  // a hang ends the test
      run(nth);
    }
    ::alarm(0);
    fmt::print("{} of {} operations failed\n", done, operations);
  }

  /// The disk works again; the database is open.
  static void expect_goes_on_or_refuses(FaultSession& session) {
    if (is_harmless(fault())) {
      EXPECT_TRUE(session.errors().empty()) << name_of(session.errors().front());
    }
    if (is_full_disk(fault())) {
      EXPECT_FALSE(session.has_failed());
    }
    const std::size_t before = session.errors().size();
    const bool had_failed = session.has_failed();
    session.transact({{"afterwards", "there is room again"}});
    if (session.errors().size() > before) {
      EXPECT_EQ(session.errors()[before], ErrorCode::failed);
      EXPECT_TRUE(session.has_failed());
      EXPECT_FALSE(is_full_disk(fault()) || is_harmless(fault()));
      session.expect_readable();
      return;
    }
    ASSERT_FALSE(had_failed) << "written to a database that has failed";
    session.checkpoint();
    if (session.errors().size() > before) {  // a background thread met the fault at the last moment
      EXPECT_EQ(session.errors()[before], ErrorCode::failed);
      EXPECT_TRUE(session.has_failed());
      EXPECT_FALSE(is_full_disk(fault()) || is_harmless(fault()));
    }
    session.expect_readable();
  }

  /// Checks the state afterwards, after one of three ways to end.
  static void expect_recovered(FaultSession& session, const SimDisk& disk, std::uint64_t nth) {
    SimDisk next = disk;
    if (nth % 3 == 0) {
      session.end();
    } else {
      next = disk.crash(nth, nth % 3 == 1 ? CrashKeeps::random : CrashKeeps::nothing);
      session.kill();
    }
    FaultSession reopened(next, options_of(workload()));
    reopened.take_over(session);
    ASSERT_TRUE(reopened.open());
    reopened.expect_right();
    reopened.transact({{"afterwards", "recovered"}});
    EXPECT_TRUE(reopened.errors().empty());
    reopened.expect_right();
  }
};

TEST_P(EngineFaultTest, InWork) {
  Content content;
  const SimDisk start = prepared(workload(), content);
  const auto run = [&](std::uint64_t nth) {
    SimDisk disk = start.snapshot();
    FaultSession session(disk, options_of(workload()));
    session.expect(content);
    ASSERT_TRUE(session.open());
    inject(disk, nth);
    work(session, workload());
    disk.clear_faults();
    expect_goes_on_or_refuses(session);
    expect_recovered(session, disk, nth);
  };
  std::uint64_t operations = 0;
  {
    SimDisk disk = start.snapshot();
    FaultSession session(disk, options_of(workload()));
    session.expect(content);
    ASSERT_TRUE(session.open());
    const std::uint64_t before = disk.operations();
    work(session, workload());
    operations = disk.operations() - before;
    EXPECT_TRUE(session.errors().empty());
    session.expect_right();
    if (workload().background_threads) {
      EXPECT_GT(session.database().log().end_position(),
                3 * session.database().log().capacity_bytes() / 2)
          << "segments are used again";
    }
  }
  for_every_operation(operations, run);
}

TEST_P(EngineFaultTest, InRecovery) {
  Content content;
  SimDisk crashed = prepared(workload(), content);
  FaultSession before(crashed, options_of(workload()));
  before.expect(content);
  ASSERT_TRUE(before.open());
  work(before, workload());
  crashed = crashed.crash(1, CrashKeeps::random);
  before.kill();
  ASSERT_TRUE(before.errors().empty());

  std::uint64_t operations = 0;
  {
    FaultSession session(crashed.snapshot(), options_of(workload()));
    session.take_over(before);
    ASSERT_TRUE(session.open());
    EXPECT_TRUE(session.database().recovery().was_needed);
    operations = session.disk().operations();
    session.expect_right();
  }
  for_every_operation(operations, [&](std::uint64_t nth) {
    SimDisk disk = crashed.snapshot();
    FaultSession session(disk, options_of(workload()));
    session.take_over(before);
    inject(disk, nth);
    const bool opened = session.open();
    disk.clear_faults();
    SCOPED_TRACE(opened ? "it was opened in spite of that"
                        : fmt::format("opening failed: {}", session.message()));
    if (opened) {
      expect_goes_on_or_refuses(session);
    } else {
      EXPECT_FALSE(is_harmless(fault()));
    }
    expect_recovered(session, disk, nth);
  });
}

// All changes stay in memory: only checkpoints need the disk to free space in the log.
TEST(EngineFaultLogTest, NoWriterWaitsForCheckpointsThatCannotWrite) {
  for (const int error : {EIO, ENOSPC}) {
    SimDisk disk;
    EngineOptions options = options_of(kWorkloads[2]);
    options.memory_bytes = std::uint64_t{16} << 20U;
    FaultSession session(disk, options);
    ASSERT_TRUE(session.open());
    session.transact({{key_of(0), "before"}});
    disk.inject({.error = error,
                 .kinds = unsigned(SimKind::write),
                 .file = std::string(buffer::kPageFileName),
                 .for_good = true});
    ::alarm(kStuckSeconds);
    SimRandom random(1);
    for (int i = 0; i < 200 && session.errors().empty(); ++i) {
      session.transact(some_changes(random, 20, 500));
    }
    ::alarm(0);
    ASSERT_FALSE(session.errors().empty()) << "the log has room for all of it";
    EXPECT_EQ(session.errors().front(), ErrorCode::failed);
    session.expect_readable();
    disk.clear_faults();
    FaultSession reopened(disk.crash(1, CrashKeeps::nothing), options);
    reopened.take_over(session);
    session.kill();
    ASSERT_TRUE(reopened.open());
    reopened.expect_right();
  }
}

// A transaction without space for its changes is refused, without further effect.
TEST(EngineFaultLogTest, AFullDiskIsNoFailure) {
  Content content;
  SimDisk disk = prepared(kWorkloads[0], content);
  FaultSession session(disk, options_of(kWorkloads[0]));
  session.expect(content);
  ASSERT_TRUE(session.open());
  disk.inject({.error = ENOSPC, .kinds = kTakesSpace, .for_good = true});
  for (int i = 0; i < 1000 && session.errors().empty(); ++i) {
    session.transact({{fmt::format("large{}", i), std::string(30'000, 'l')}});
    session.checkpoint();
  }
  ASSERT_FALSE(session.errors().empty()) << "the disk has room for all of it";
  EXPECT_EQ(session.errors().front(), ErrorCode::no_space);
  const std::size_t refused = session.errors().size();
  std::vector<FaultChange> changes;
  for (const auto& [key, value] : session.committed()) {
    changes.push_back({key, std::string(value.size() < 1000 ? value.size() : 10, 'c')});
  }
  changes.resize(40);
  session.transact(changes, true);
  session.checkpoint();
  session.expect_right();
  session.transact(changes);
  session.checkpoint();
  session.expect_right();
  EXPECT_EQ(session.errors().size(), refused) << "what takes no room goes on";
  EXPECT_FALSE(session.has_failed());
  disk.clear_faults();
  session.transact({{"large", std::string(30'000, 'l')}});
  EXPECT_EQ(session.errors().size(), refused) << "there is room again";
  session.expect_right();
}

std::string name_of_case(const ::testing::TestParamInfo<std::tuple<Workload, Fault>>& info) {
  return std::string(std::get<0>(info.param).name) + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(Disks, EngineFaultTest,
                         ::testing::Combine(::testing::ValuesIn(kWorkloads),
                                            ::testing::ValuesIn(kFaults)),
                         name_of_case);

}  // namespace
}  // namespace palimpsest::engine::test
