// Many threads on one tree in a pool of a few dozen frames: splits, merges, evictions, scans and
// flushes meet all the time, and every value read is checked.
//
// Each key has one owner, the only thread that writes it, which knows its exact value; keys of all
// owners interleave, so that threads meet in every leaf. A value encodes its key and the number of
// writes of the key, so that every reader detects a value of another key, a torn one, and one older
// than what it has seen before.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "base/sync_point.h"
#include "btree/btree.h"
#include "btree/cursor.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::TreeDatabase;
using palimpsest::test::TreeOptions;

constexpr std::size_t kThreads = 12;
constexpr std::uint64_t kKeysPerThread = 1500;
constexpr std::uint64_t kKeys = kThreads * kKeysPerThread;

/// Owner and number, so that adjacent keys belong to different threads.
std::string key_of(std::uint64_t number) {
  std::string key(12, 'k');
  for (std::size_t i = 0; i < 8; ++i) {
    key[4 + i] = static_cast<char>(number >> (56 - 8 * i));
  }
  return key;
}

std::uint64_t number_of(ByteView key) {
  std::uint64_t number = 0;
  for (std::size_t i = 4; i < key.size(); ++i) {
    number = number << 8 | static_cast<unsigned char>(key[i]);
  }
  return number;
}

/// The value of a key after its n-th write.
std::string value_of(std::uint64_t number, std::uint64_t writes) {
  std::uint64_t mixed = number * 1000003 + writes;
  const std::uint64_t random = splitmix64(mixed);
  const std::size_t size = random % 2000 == 0 ? 16 + random % 20000 : 16 + random % 160;
  std::string value(size, static_cast<char>(random >> 40));
  std::memcpy(value.data(), &number, 8);
  std::memcpy(value.data() + 8, &writes, 8);
  return value;
}

/// The number of writes that led to a value; nothing if it is not a value of this key.
std::optional<std::uint64_t> writes_of(std::uint64_t number, ByteView value) {
  std::uint64_t writes = 0;
  if (value.size() < 16) {
    return std::nullopt;
  }
  std::memcpy(&writes, value.data() + 8, 8);
  return value == value_of(number, writes) ? std::optional(writes) : std::nullopt;
}

/// One thread: writes its own keys and reads all.
class Worker {
 public:
  Worker(TreeDatabase& database, std::size_t thread, std::uint64_t seed)
      : database_(database), thread_(thread), random_(seed), seen_(kKeys, 0) {}

  void step() {
    const std::uint64_t own = random_.below(kKeysPerThread) * kThreads + thread_;
    const std::uint64_t any = random_.below(kKeys);
    switch (random_.below(20)) {
      case 0:
      case 1:
      case 2:
      case 3: insert(own); break;
      case 4:
      case 5: upsert(own); break;
      case 6: update(own); break;
      case 7: touch(own); break;
      case 8:
      case 9:
      case 10: remove(own); break;
      case 11: remove_range(own); break;
      case 12: insert_range(own); break;
      case 13: scan(any); break;
      case 14: prefetch(any); break;
      case 15: flush(); break;
      default: read(any); break;
    }
  }

  /// Whether the tree holds exactly what this thread has written.
  void check_own() {
    std::string value;
    for (std::uint64_t i = 0; i < kKeysPerThread; ++i) {
      const std::uint64_t number = i * kThreads + thread_;
      const auto record = held_.find(number);
      ASSERT_EQ(tree().lookup(key_of(number), value), record != held_.end()) << number;
      if (record != held_.end()) {
        ASSERT_EQ(value, value_of(number, record->second)) << number;
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return held_.size(); }
  void rebind_check(TreeDatabase& reopened) {
    Worker copy(reopened, thread_, 0);
    copy.held_ = held_;
    copy.check_own();
  }

 private:
  BTree& tree() { return database_.tree(); }
  LastLeaf* last() { return random_.one_in(3) ? &last_ : nullptr; }
  bool holds(std::uint64_t number) const { return held_.contains(number); }
  std::string next_value(std::uint64_t number) { return value_of(number, ++writes_[number]); }
  void stored(std::uint64_t number) { held_[number] = writes_[number]; }

  void insert(std::uint64_t number) {
    const bool expected = !holds(number);
    ASSERT_EQ(tree().insert(key_of(number), next_value(number), last()), expected) << number;
    if (expected) {
      stored(number);
    }
  }
  void upsert(std::uint64_t number) {
    ASSERT_EQ(tree().upsert(key_of(number), next_value(number), last()), !holds(number)) << number;
    stored(number);
  }
  void update(std::uint64_t number) {
    ASSERT_EQ(tree().update(key_of(number), next_value(number), last()), holds(number)) << number;
    if (holds(number)) {
      stored(number);
    }
  }
  // Writes a value of the same length in place, if there is one close by.
  void touch(std::uint64_t number) {
    const auto record = held_.find(number);
    if (record == held_.end()) {
      return;
    }
    const std::size_t size = value_of(number, record->second).size();
    std::uint64_t writes = writes_[number] + 1;
    while (value_of(number, writes).size() != size) {
      ++writes;
    }
    if (size > 1000) {
      return;  // it lies outside its leaf
    }
    const std::string value = value_of(number, writes);
    const bool found = tree().modify(
        key_of(number),
        [&](MutableBytes bytes) {
          ASSERT_EQ(bytes.size(), size);
          std::memcpy(bytes.data(), value.data(), size);
        },
        last());
    ASSERT_TRUE(found) << number;
    writes_[number] = writes;
    stored(number);
  }
  void remove(std::uint64_t number) {
    ASSERT_EQ(tree().remove(key_of(number), last()), holds(number)) << number;
    held_.erase(number);
  }
  void remove_range(std::uint64_t number) {
    for (std::uint64_t i = 0; i < 100 && number < kKeys; ++i, number += kThreads) {
      ASSERT_NO_FATAL_FAILURE(remove(number));
    }
  }
  void insert_range(std::uint64_t number) {
    for (std::uint64_t i = 0; i < 100 && number < kKeys; ++i, number += kThreads) {
      ASSERT_NO_FATAL_FAILURE(insert(number));
    }
  }
  void check_value(std::uint64_t number, ByteView value) {
    const auto writes = writes_of(number, value);
    ASSERT_TRUE(writes) << "key " << number << " holds something else";
    ASSERT_GE(*writes, seen_[number]) << "key " << number << " went back";
    seen_[number] = *writes;
    if (number % kThreads == thread_) {
      ASSERT_TRUE(holds(number)) << number;
      ASSERT_EQ(*writes, held_[number]) << number;
    }
  }
  void read(std::uint64_t number) {
    const bool found = tree().lookup_with(
        key_of(number), [&](ByteView value) { check_value(number, value); }, last());
    if (number % kThreads == thread_) {
      ASSERT_EQ(found, holds(number)) << number;
    }
  }
  void scan(std::uint64_t number) {
    Cursor cursor(tree());
    const bool forward = random_.one_in(2);
    if (forward) {
      cursor.seek(key_of(number));
    } else {
      cursor.seek_for_prev(key_of(number));
    }
    std::uint64_t own_next = number;  // own keys met in order and without gaps
    for (int i = 0; i < 300 && cursor.valid(); ++i) {
      const std::uint64_t at = number_of(cursor.key());
      ASSERT_TRUE(forward ? at >= own_next : at <= own_next) << at << " after " << own_next;
      if (forward) {
        for (std::uint64_t missed = own_next; missed < at; ++missed) {
          ASSERT_FALSE(missed % kThreads == thread_ && holds(missed)) << missed;
        }
      }
      if (!cursor.value_is_large()) {
        ASSERT_NO_FATAL_FAILURE(check_value(at, cursor.value()));
      }
      own_next = forward ? at + 1 : (at == 0 ? 0 : at - 1);
      if (forward) {
        cursor.next();
      } else {
        cursor.previous();
      }
    }
  }
  void prefetch(std::uint64_t number) {
    std::vector<std::string> keys;
    keys.reserve(8);
    for (std::uint64_t i = 0; i < 8; ++i) {
      keys.push_back(key_of((number + i * 997) % kKeys));
    }
    const std::vector<ByteView> views(keys.begin(), keys.end());
    tree().prefetch(views);
    for (std::uint64_t i = 0; i < 8; ++i) {
      ASSERT_NO_FATAL_FAILURE(read((number + i * 997) % kKeys));
    }
  }
  void flush() {
    if (random_.one_in(20)) {
      database_.pool().flush();
    }
  }

  TreeDatabase& database_;
  std::size_t thread_;
  Random random_;
  LastLeaf last_;
  std::map<std::uint64_t, std::uint64_t> held_;    ///< own keys in the tree: number of writes
  std::map<std::uint64_t, std::uint64_t> writes_;  ///< of own keys, those removed included
  std::vector<std::uint64_t> seen_;                ///< most writes seen, by key
};

void run(const TreeOptions& options, std::uint64_t seed, double seconds) {
  const palimpsest::test::SimDisk disk({.seed = seed});
  const auto device = disk.device();
  auto database = TreeDatabase::create(*device, options);
  std::vector<Worker> workers;
  workers.reserve(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    workers.emplace_back(*database, i, seed + i);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::atomic<std::uint64_t> steps{0};
  palimpsest::test::run_threads(kThreads, [&](std::size_t thread) {
    try {
      std::uint64_t done = 0;
      while (std::chrono::steady_clock::now() < until && !::testing::Test::HasFatalFailure()) {
        workers[thread].step();
        ++done;
      }
      steps += done;
    } catch (const Error& error) {
      ADD_FAILURE() << name_of(error.code()) << ": " << error.what();
    }
  });
  std::size_t records = 0;
  for (Worker& worker : workers) {
    ASSERT_NO_FATAL_FAILURE(worker.check_own());
    records += worker.size();
  }
  ASSERT_TRUE(palimpsest::test::sound(*database));
  std::printf("%llu steps with %u frames, %zu records at the end\n",
              static_cast<unsigned long long>(steps.load()), options.frames, records);
  database->close();
  database.reset();
  database = TreeDatabase::open(*device, options);
  for (Worker& worker : workers) {
    ASSERT_NO_FATAL_FAILURE(worker.rebind_check(*database));
  }
  ASSERT_TRUE(palimpsest::test::sound(*database));
}

TEST(BTreeStress, ManyThreadsInTheSmallestPool) {
  run({.page_size_bytes = 4096, .frames = 32}, palimpsest::test::seed(),
      palimpsest::test::test_seconds(4));
}

TEST(BTreeStress, ManyThreadsInASmallPool) {
  const std::uint64_t seed = palimpsest::test::seed();
  run({.page_size_bytes = 4096, .frames = static_cast<std::uint32_t>(40 + seed % 60)}, seed,
      palimpsest::test::test_seconds(4));
}

// Twice as many threads as frames, most of them splitting: each split reserves two frames and may
// have to load pages as well. If all could reserve theirs, no frame would be left for that.
TEST(BTreeStress, MoreSplittersThanFrames) {
  constexpr std::size_t kSplitters = 64;
  constexpr std::uint64_t kRecordsEach = 20;
  const palimpsest::test::SimDisk disk({.seed = palimpsest::test::seed()});
  const auto device = disk.device();
  const auto database = TreeDatabase::create(*device, {.page_size_bytes = 4096, .frames = 32});
  const auto key = [](std::uint64_t splitter, std::uint64_t i) {
    return key_of((i * kSplitters + splitter) * 2654435761U % 4294967296U);  // scattered
  };
  const auto value = [](std::uint64_t splitter, std::uint64_t i) {
    return std::string(900, static_cast<char>(splitter + i));
  };
#ifdef PALIMPSEST_SYNC_POINTS
  // As on a slow device: a thread that comes here has frames reserved for a split, and the leaf to
  // be split has left memory.
  const SyncHook slow("btree.child.not_resident",
                      [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
#endif
  palimpsest::test::run_threads(kSplitters, [&](std::size_t splitter) {
    try {
      for (std::uint64_t i = 0; i < kRecordsEach; ++i) {
        EXPECT_TRUE(database->tree().insert(key(splitter, i), value(splitter, i)));
      }
    } catch (const Error& error) {
      ADD_FAILURE() << name_of(error.code()) << ": " << error.what();
    }
  });
#ifdef PALIMPSEST_SYNC_POINTS
  EXPECT_GT(slow.hits(), 0U);
#endif
  std::string found;
  for (std::uint64_t splitter = 0; splitter < kSplitters; ++splitter) {
    for (std::uint64_t i = 0; i < kRecordsEach; ++i) {
      ASSERT_TRUE(database->tree().lookup(key(splitter, i), found));
      ASSERT_EQ(found, value(splitter, i));
    }
  }
  EXPECT_TRUE(palimpsest::test::sound(*database));
}

}  // namespace
}  // namespace palimpsest::btree
