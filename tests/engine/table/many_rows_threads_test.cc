// Threads that read and edit many rows by one call, each by its snapshot, while other rows come and
// go and pages are evicted: every thread sees the same sum.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/engine/table/table_fixture.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest::engine::test {
namespace {

constexpr int kAccounts = 600;
constexpr int kApart = 16;  ///< other rows lie between two accounts
constexpr int kEach = 1000;

/// Ids of some rows; the keys made of them view them.
class Ids {
 public:
  void add(int id) { ids_.push_back({id}); }
  [[nodiscard]] std::vector<Key> keys() const {
    std::vector<Key> keys;
    keys.reserve(ids_.size());
    for (const std::array<Value, 1>& id : ids_) {
      keys.emplace_back(std::span<const Value>(id));
    }
    return keys;
  }

 private:
  std::vector<std::array<Value, 1>> ids_;
};

class ManyRowsThreadsTest : public ::testing::Test {
 protected:
  ManyRowsThreadsTest() {
    const auto giver = table_.begin();
    for (int i = 0; i < kAccounts; ++i) {
      EXPECT_TRUE(table_.in(giver).insert({i * kApart, "account", "Rome", kEach, "note"}));
    }
    giver->commit();
    age_ = Column<std::int32_t>(table_.format().fixed_place(3));
  }

  void pay(Random& random) {
    Ids ids;
    int account = static_cast<int>(random.below(kAccounts));
    const std::uint64_t count = random.between(2, 40);
    for (std::uint64_t i = 0; i < count; ++i) {
      ids.add(account * kApart);
      account =
          random.one_in(4) ? static_cast<int>(random.below(kAccounts)) : (account + 1) % kAccounts;
    }
    if (random.one_in(8)) {
      ids.add(1);  // no such row
    }
    const std::vector<Key> keys = ids.keys();
    table_.transact(txn::SnapshotUse::reads_and_writes, [&](const txn::TransactionPtr& in) {
      const Outcome outcome = table_.in(in).modify_many(keys, [&](std::size_t i, RowEditor& row) {
        const auto others = static_cast<std::int32_t>(count - 1);
        row.set(age_, row.get(age_) + (i == 0 ? -others : 1));
      });
      paid_ += outcome.is_done() ? 1U : 0U;
      return !random.one_in(5);  // also after a statement that was refused and undone
    });
  }
  void come_and_go(Random& random, int own) {
    const int id = static_cast<int>(random.below(kAccounts)) * kApart + own;
    table_.transact(txn::SnapshotUse::reads_and_writes, [&](const txn::TransactionPtr& in) {
      const RowStatements writes = table_.in(in);
      return random.one_in(2) ? writes.upsert({id, "other", "Rome", 0, note_}).is_done()
                              : writes.erase({id}).is_done();
    });
  }
  void add_up(Random& random) {
    const bool random_order = random.one_in(2);
    const bool where_they_lie = random.one_in(2);
    Ids ids;
    for (int i = 0; i < kAccounts; ++i) {
      ids.add(i * kApart);
    }
    std::vector<Key> keys = ids.keys();
    for (std::size_t i = keys.size(); random_order && i > 1; --i) {
      std::swap(keys[i - 1], keys[random.below(i)]);
    }
    table_.transact(txn::SnapshotUse::reads, [&](const txn::TransactionPtr& in) {
      for (int round = 0; round < 3; ++round) {
        std::int64_t sum = 0;
        std::size_t count = 0;
        const auto add = [&](std::size_t, const RowView& row) {
          sum += row["age"].as_integer();
          ++count;
        };
        TableReader reads = table_.reads(in.get());
        where_they_lie ? reads.visit_many(keys, add) : reads.read_many(keys, add);
        EXPECT_EQ(count, kAccounts);
        EXPECT_EQ(sum, std::int64_t{kAccounts} * kEach);
      }
      return true;
    });
  }

  static EngineOptions options() {
    EngineOptions options = small_options();
    options.background_threads = true;
    return options;
  }

  const std::string note_ = std::string(150, 'x');
  OneTable table_{people(), {}, options()};
  Column<std::int32_t> age_{palimpsest::detail::FixedPlace{}};
  std::atomic<std::size_t> paid_{0};
};

TEST_F(ManyRowsThreadsTest, EveryReaderSeesTheSameSum) {
  const std::uint64_t seed = palimpsest::test::seed();
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::duration<double>(palimpsest::test::test_seconds(3));
  palimpsest::test::run_threads(6, [&](std::size_t thread) {
    Random random(seed + thread);
    do {
      switch (thread) {
        case 0: add_up(random); break;
        case 1: come_and_go(random, 2); break;
        case 2: come_and_go(random, 3); break;
        default: pay(random); break;
      }
    } while (std::chrono::steady_clock::now() < until);
  });
  EXPECT_GT(paid_.load(), 100U);
  Random random(seed);
  add_up(random);
  EXPECT_TRUE(sound(table_.database()));
}

}  // namespace
}  // namespace palimpsest::engine::test
