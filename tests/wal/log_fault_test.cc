// The n-th write or sync of a log workload fails, once or permanently, for every n: the log then
// refuses everything and reports the reason, and reopening finds everything that was acknowledged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "palimpsest/error.h"

#include "tests/wal/log_fixture.h"

namespace palimpsest::wal::test {
namespace {

using palimpsest::test::SimDisk;
using palimpsest::test::SimFault;
using palimpsest::test::SimKind;

/// What a workload completed before the fault.
struct Done {
  std::vector<Remembered> appended;
  std::size_t forgotten = 0;  ///< the first ones, which need not be found
  Gsn acknowledged{};
  bool finished = false;
};

void work(OpenLog& open, Done& done) {
  const SlotId a = open.claim();
  const SlotId b = open.claim();
  for (std::uint64_t i = 1; i <= 120; ++i) {
    done.appended.push_back(open.change(i % 2 == 0 ? a : b, i * 10, 700, Gsn{0}));
    done.appended.push_back(open.commit(a, i * 10 + 1));
    if (i % 5 == 0) {
      open.log().wait_durable(done.appended.back().gsn);
      done.acknowledged = open.log().durable_gsn();
    }
    if (i % 40 == 0) {
      done.forgotten = done.appended.size();
      open.forget();
    }
  }
  done.finished = true;
}

/// Returns whether the workload met the fault.
bool run_with(const SimFault& fault) {
  SimDisk disk;
  const auto device = disk.device();
  Done done;
  {
    OpenLog open(*device);
    disk.inject(fault);
    try {
      work(open, done);
    } catch (const Error& error) {
      if (!open.log().failed()) {  // a segment could not be made: nothing has happened
        EXPECT_THAT(error.what(), ::testing::ContainsRegex("log-000[5-9]"));
        disk.clear_faults();
        const Remembered more = open.commit(SlotId{0}, 7);
        open.log().wait_durable(more.gsn);
        return true;
      }
      const auto refused = [&](auto call) {
        try {
          call();
          ADD_FAILURE() << "a failed log takes more";
        } catch (const Error& later) {
          EXPECT_EQ(later.code(), ErrorCode::failed) << later.what();
        }
      };
      refused([&] { open.log().reserve(SlotId{0}, {.bytes = 100, .credit_bytes = 100}); });
      refused([&] { open.log().wait_durable(open.clock().draw(Gsn{0})); });
      refused([&] { open.log().write_pending(); });
      refused([&] { open.forget(); });
    }
  }
  disk.clear_faults();
  const SimDisk crashed = disk.crash(raw(done.acknowledged) + fault.nth);
  const auto again = crashed.device();
  const Found found = read_log(*again);
  std::vector<Remembered> needed(
      done.appended.begin() + static_cast<std::ptrdiff_t>(done.forgotten), done.appended.end());
  EXPECT_EQ(missing(needed, done.acknowledged, found), "");
  OpenLog open(*again);  // and it goes on
  const SlotId slot = open.claim();
  const Remembered more = open.commit(slot, 99);
  open.log().wait_durable(more.gsn);
  return !done.finished;
}

/// The number of operations of a kind in the workload when nothing fails.
std::uint64_t operations_of(SimKind kind) {
  SimDisk disk;
  const auto device = disk.device();
  OpenLog open(*device);
  std::uint64_t count = 0;
  disk.set_hook([&](const auto& operation) { count += operation.kind == kind ? 1 : 0; });
  Done done;
  work(open, done);
  disk.set_hook({});
  return count;
}

void fail_every(SimKind kind, int error, bool for_good) {
  const std::uint64_t operations = operations_of(kind);
  ASSERT_GT(operations, 20U);
  std::uint64_t met = 0;
  for (std::uint64_t nth = 1; nth <= operations; ++nth) {
    met += run_with({.error = error, .kinds = unsigned(kind), .nth = nth, .for_good = for_good});
    ASSERT_FALSE(::testing::Test::HasFailure()) << "operation " << nth << " of " << operations;
  }
  EXPECT_GT(met, operations / 2);  // making a segment without space is retried
}

TEST(LogFault, WriteFailsOnce) {
  fail_every(SimKind::write, EIO, false);
}
TEST(LogFault, WriteFailsForGood) {
  fail_every(SimKind::write, EIO, true);
}
TEST(LogFault, WriteFindsNoSpace) {
  fail_every(SimKind::write, ENOSPC, false);
}
TEST(LogFault, SyncFailsOnce) {
  fail_every(SimKind::sync, EIO, false);
}
TEST(LogFault, SyncFailsForGood) {
  fail_every(SimKind::sync, EIO, true);
}

}  // namespace
}  // namespace palimpsest::wal::test
