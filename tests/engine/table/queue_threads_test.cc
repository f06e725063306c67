// A queue of several threads, while an old reader retains the rows behind the front: walks that
// skip those leaves find the same first job as walks from the other end.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <string>

#include "base/random.h"
#include "tests/engine/table/table_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest::engine::test {
namespace {

constexpr int kJobsMax = 300;
constexpr int kTakenBetweenLooks = 50;

class QueueThreadsTest : public ::testing::Test {
 protected:
  template <class Use>
  void visit(const txn::TransactionPtr& in, Direction direction, const Use& use) {
    table_.reads(in.get()).visit(
        Range::all(),
        [&](const RowView& row) { return use(static_cast<int>(row["id"].as_integer())); },
        direction);
  }

  void take() {
    table_.transact(txn::SnapshotUse::reads_and_writes, [&](const txn::TransactionPtr& in) {
      int first = INT_MAX;
      visit(in, Direction::forward, [&](int job) {
        first = job;
        return false;
      });
      int smallest = INT_MAX;
      visit(in, Direction::backward, [&](int job) {
        smallest = std::min(smallest, job);
        return true;
      });
      EXPECT_EQ(first, smallest);
      if (first == INT_MAX || !table_.in(in).erase({first})) {
        return false;
      }
      --jobs_;
      ++taken_;
      return true;
    });
  }
  void put() {
    if (jobs_.load() < kJobsMax) {
      table_.transact(txn::SnapshotUse::reads_and_writes, [&](const txn::TransactionPtr& in) {
        ++jobs_;
        return table_.in(in).insert({end_++, "job", "Rome", 30, note_}).is_done();
      });
    }
  }
  void put_back(Random& random) {
    const auto before = static_cast<std::uint64_t>(end_.load());
    const int job = static_cast<int>(random.below(before));
    table_.transact(txn::SnapshotUse::reads_and_writes, [&](const txn::TransactionPtr& in) {
      const bool is_done = table_.in(in).insert({job, "again", "Rome", 30, note_}).is_done();
      jobs_ += is_done ? 1 : 0;
      return is_done;
    });
  }
  /// A reader that must see the same all the time.
  void keep(Random& random, std::chrono::steady_clock::time_point until) {
    table_.transact(txn::SnapshotUse::reads, [&](const txn::TransactionPtr& in) {
      const auto sum_of_jobs = [&](Direction direction) {
        std::int64_t sum = 0;
        visit(in, direction, [&](int job) {
          sum += job;
          return true;
        });
        return sum;
      };
      const std::int64_t at_first = sum_of_jobs(Direction::backward);
      const std::chrono::milliseconds patience(200 * random.between(1, 20));
      const auto end = std::min(until, std::chrono::steady_clock::now() + patience);
      do {
        const int goal = taken_ + kTakenBetweenLooks;
        EXPECT_TRUE(palimpsest::test::eventually(
            [&] { return taken_ >= goal || std::chrono::steady_clock::now() >= end; }));
        EXPECT_EQ(sum_of_jobs(Direction::forward), at_first);
      } while (std::chrono::steady_clock::now() < end);
      return true;
    });
  }

  static EngineOptions options() {
    EngineOptions options = small_options();
    options.version_bytes_max = std::uint64_t{8} << 20U;
    options.log_bytes_max = std::uint64_t{256} << 20U;
    options.background_threads = true;
    return options;
  }

  const std::string note_ = std::string(80, 'x');
  OneTable table_{people(), {}, options()};
  std::atomic<int> end_{1};
  std::atomic<int> jobs_{0};
  std::atomic<int> taken_{0};
};

TEST_F(QueueThreadsTest, TheFirstJobIsTheSameFromEitherEnd) {
  const std::uint64_t seed = palimpsest::test::seed();
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                         std::chrono::duration<double>(palimpsest::test::test_seconds(3)));
  palimpsest::test::run_threads(5, [&](std::size_t thread) {
    Random random(seed + thread);
    do {
      switch (thread) {
        case 0: keep(random, until); break;
        case 1: put(); break;
        default:
          take();
          random.one_in(100) ? put_back(random) : void();
          break;
      }
    } while (std::chrono::steady_clock::now() < until);
  });
  EXPECT_GT(taken_.load(), 100);
  EXPECT_TRUE(sound(table_.database()));
}

}  // namespace
}  // namespace palimpsest::engine::test
