// A log on the device for persistent memory: commits are durable without any sync system call.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/io/open_device.h"
#include "base/io/pmem_device.h"
#include "tests/support/child_process.h"
#include "tests/support/system_call_filter.h"
#include "tests/support/temporary_directory.h"
#include "tests/wal/log_fixture.h"

namespace palimpsest::wal::test {
namespace {

class LogOnPersistentMemory : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<io::Device> device() const {
    return io::open_log_device(directory_.path(), {.log = {}});
  }

  palimpsest::test::TemporaryDirectory directory_{palimpsest::test::memory_file_system()};
};

// The process ends without closing anything; everything it has acknowledged is there. The filter
// makes every sync fail, which would fail the log.
TEST_F(LogOnPersistentMemory, CommitsNeedNoSyncOfTheSystem) {
  if (!io::PmemDevice(directory_.path(), false).is_persistent()) {
    GTEST_SKIP() << "no persistent memory; PMEM_IS_PMEM_FORCE=1 makes a tmpfs count";
  }
  constexpr int kNotAllowed = 90;
  constexpr std::uint64_t kCommits = 150;  // more than a segment, within the existing ones
  EXPECT_EQ(palimpsest::test::run_in_child([&] {
              const auto there = device();
              {
                const OpenLog made(*there);
              }
              OpenLog open(*there);  // each file was synced since it was opened
              const std::array<SlotId, 2> slots{open.claim(), open.claim()};
              const std::uint64_t syncs = there->statistics().syncs;
              if (!palimpsest::test::forbid_syncs(EIO)) {
                return kNotAllowed;
              }
              for (std::uint64_t i = 0; i < kCommits; ++i) {
                open.change(slots[i % 2], i, 100, Gsn{0});
                open.log().wait_durable(open.commit(slots[i % 2], 1000 + i).gsn);
              }
              return there->statistics().syncs >= syncs + kCommits ? 0 : 1;
            }),
            0)
      << "(90: no system-call filter)";
  const auto there = device();
  EXPECT_EQ(read_log(*there).records.size(), 2 * kCommits);
  Remembered last;
  {
    OpenLog open(*there);
    EXPECT_EQ(raw(open.log().incarnation()), 3U);
    last = open.commit(open.claim(), 5000);
    open.log().wait_durable(last.gsn);
  }
  EXPECT_EQ(read_log(*there).records.back(), last);
}

}  // namespace
}  // namespace palimpsest::wal::test
