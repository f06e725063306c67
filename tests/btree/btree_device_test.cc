// Trees in real files, by io_uring and by POSIX calls: checks what the simulated disk cannot.
//
// Several threads change one tree in a pool that holds a small part of it, so that pages are
// evicted, written and read again all the time, and large values bypass the pool. Each key belongs
// to one thread, which records the expected value in a std::map; every leaf holds keys of all
// threads. Between rounds the test closes the file cleanly, opens it again, by either kind of
// device, and compares everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/io/open_device.h"
#include "base/io/uring_device.h"
#include "base/random.h"
#include "btree/btree.h"
#include "btree/cursor.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::TreeDatabase;
using palimpsest::test::TreeOptions;
using Preference = io::DeviceOptions::Preference;

constexpr std::size_t kThreads = 6;
constexpr std::uint64_t kKeysPerThread = 2000;
constexpr int kStepsMin = 2000;  ///< of a thread in a round, however slow the device
constexpr std::size_t kLargeBytesMax = 60'000;
constexpr TreeOptions kOptions{.page_size_bytes = 4096, .frames = 64};

/// One thread: its records and its operations.
class Worker {
 public:
  Worker(std::size_t thread, std::uint64_t seed) : thread_(thread), random_(seed + thread) {}

  /// Inserts half of its keys, so that the tree is larger than its memory from the beginning.
  void fill(BTree& tree) {
    for (std::uint64_t i = 0; i < kKeysPerThread; i += 2) {
      ASSERT_NO_FATAL_FAILURE(insert(tree, test::big_endian(i * kThreads + thread_)));
    }
  }

  void step(BTree& tree) {
    const std::uint64_t number = random_.below(kKeysPerThread) * kThreads + thread_;
    const std::string key = test::big_endian(number);
    switch (random_.below(11)) {
      case 0:
      case 1:
      case 2: insert(tree, key); break;
      case 3:
      case 4: update(tree, key); break;
      case 5: upsert(tree, key); break;
      case 6:
      case 7: remove(tree, key); break;
      case 8: scan(tree, key); break;
      case 9: prefetch(tree, number); break;
      default: read(tree, key);
    }
  }

  /// Whether the tree holds this thread's records, each as it should be, and none besides.
  void check_all(const BTree& tree) {
    Cursor cursor(tree, 100);
    cursor.seek_first();
    auto expected = records_.begin();
    for (; cursor.valid(); cursor.next()) {
      if (is_own(cursor.key())) {
        ASSERT_NO_FATAL_FAILURE(check_record(cursor, expected));
        ++expected;
      }
    }
    ASSERT_TRUE(expected == records_.end()) << "missing: " << printable(expected->first);
  }

  /// Called before it works on a tree that was opened again.
  void forget_leaf() { last_.forget(); }

 private:
  using Records = std::map<std::string, std::string>;

  [[nodiscard]] bool is_own(ByteView key) const {
    std::uint64_t number = 0;
    for (const char byte : key) {
      number = number << 8 | static_cast<unsigned char>(byte);
    }
    return number % kThreads == thread_;
  }

  std::string some_value() {
    return test::random_bytes(
        random_, random_.one_in(50) ? random_.below(kLargeBytesMax) : random_.below(300));
  }

  void insert(BTree& tree, const std::string& key) {
    const std::string value = some_value();
    ASSERT_EQ(tree.insert(key, value, &last_), records_.try_emplace(key, value).second);
  }
  void update(BTree& tree, const std::string& key) {
    const std::string value = some_value();
    const auto record = records_.find(key);
    ASSERT_EQ(tree.update(key, value, &last_), record != records_.end());
    if (record != records_.end()) {
      record->second = value;
    }
  }
  void upsert(BTree& tree, const std::string& key) {
    const std::string value = some_value();
    ASSERT_EQ(tree.upsert(key, value, &last_), records_.insert_or_assign(key, value).second);
  }
  // Now and then removes a range of its own keys, rarely enough that the tree stays larger than its
  // memory.
  void remove(BTree& tree, const std::string& from) {
    auto record = records_.lower_bound(from);
    for (std::uint64_t left = random_.one_in(400) ? 60 : 1; left > 0; --left) {
      if (record == records_.end()) {
        return;
      }
      ASSERT_TRUE(tree.remove(record->first, &last_)) << printable(record->first);
      record = records_.erase(record);
    }
  }
  void read(BTree& tree, const std::string& key) {
    const auto record = records_.find(key);
    std::string value;
    ASSERT_EQ(tree.lookup(key, value, &last_), record != records_.end());
    ASSERT_TRUE(record == records_.end() || value == record->second) << printable(key);
  }
  // Pages read in one batch.
  void prefetch(BTree& tree, std::uint64_t number) {
    std::vector<std::string> keys(8);
    for (std::string& key : keys) {
      key = test::big_endian(number);
      number = (number + kThreads * 97) % (kThreads * kKeysPerThread);
    }
    tree.prefetch(std::vector<ByteView>(keys.begin(), keys.end()));
    for (const std::string& key : keys) {
      ASSERT_NO_FATAL_FAILURE(read(tree, key));
    }
  }
  void scan(const BTree& tree, const std::string& from) {
    Cursor cursor(tree, 50);
    cursor.seek(from);
    auto expected = records_.lower_bound(from);
    for (int left = 300; left > 0 && cursor.valid(); --left, cursor.next()) {
      if (is_own(cursor.key())) {
        ASSERT_NO_FATAL_FAILURE(check_record(cursor, expected));
        ++expected;
      }
    }
  }
  void check_record(const Cursor& cursor, Records::const_iterator expected) {
    ASSERT_TRUE(expected != records_.end()) << printable(cursor.key()) << " should not be there";
    ASSERT_EQ(cursor.key(), expected->first);
    std::string value;
    ASSERT_TRUE(cursor.read_value(value)) << printable(expected->first);
    ASSERT_TRUE(value == expected->second) << printable(expected->first);
  }

  std::size_t thread_;
  Random random_;
  LastLeaf last_;
  Records records_;
};

class BTreeDevice : public ::testing::TestWithParam<Preference> {
 protected:
  void SetUp() override {
    if (GetParam() == Preference::automatic && !io_uring_is_allowed()) {
      GTEST_SKIP() << "io_uring is not allowed here";
    }
  }

  [[nodiscard]] static bool io_uring_is_allowed() { return io::UringDevice::probe() == 0; }

  [[nodiscard]] std::unique_ptr<io::Device> open_device(Preference preference) const {
    auto device = io::open_device(directory_.path(), {.preference = preference});
    const bool rings = preference == Preference::automatic && io_uring_is_allowed();
    EXPECT_THAT(device->description(), ::testing::StartsWith(rings ? "io_uring, " : "posix, "));
    return device;
  }

  void change(BTree& tree, double seconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    palimpsest::test::run_threads(kThreads, [&](std::size_t thread) {
      workers_[thread].forget_leaf();
      try {
        for (int steps = 0; (steps < palimpsest::test::repeats(kStepsMin) ||
                             std::chrono::steady_clock::now() < until) &&
                            !HasFatalFailure();
             ++steps) {
          workers_[thread].step(tree);
        }
      } catch (const Error& error) {
        ADD_FAILURE() << name_of(error.code()) << ": " << error.what();
      }
    });
  }

  void check_all(TreeDatabase& database) {
    for (Worker& worker : workers_) {
      ASSERT_NO_FATAL_FAILURE(worker.check_all(database.tree()));
    }
    ASSERT_TRUE(palimpsest::test::sound(database));
  }

  palimpsest::test::TemporaryDirectory directory_;
  std::vector<Worker> workers_;
};

TEST_P(BTreeDevice, ManyThreadsThenClosedAndOpenedAgain) {
  const std::uint64_t seed = palimpsest::test::seed();
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    workers_.emplace_back(thread, seed);
  }
  {
    const auto device = open_device(GetParam());
    const auto database = TreeDatabase::create(*device, kOptions);
    for (Worker& worker : workers_) {
      ASSERT_NO_FATAL_FAILURE(worker.fill(database->tree()));
    }
    database->close();
  }
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    {
      const auto device = open_device(GetParam());
      const auto database = TreeDatabase::open(*device, kOptions);
      change(database->tree(), palimpsest::test::test_seconds(1));
      ASSERT_FALSE(HasFailure());
      ASSERT_NO_FATAL_FAILURE(check_all(*database));
      // Otherwise the tree fits the pool and this tests nothing.
      EXPECT_GT(device->statistics().reads, 10 * kOptions.frames);
      EXPECT_GT(database->writer().statistics().pages_in_place, 2 * kOptions.frames);
      EXPECT_EQ(device->statistics().errors, 0U);
      database->close();
    }
    for (const Preference preference : {Preference::automatic, Preference::posix}) {
      const auto device = open_device(preference);
      const auto database = TreeDatabase::open(*device, kOptions);
      ASSERT_NO_FATAL_FAILURE(check_all(*database));
      database->close();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, BTreeDevice,
                         ::testing::Values(Preference::automatic, Preference::posix),
                         [](const auto& test) {
                           return test.param == Preference::posix ? "posix" : "uring";
                         });

}  // namespace
}  // namespace palimpsest::btree
