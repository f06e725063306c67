// Many threads, each a writer, on one tree in a pool of a few dozen frames: claims, conflicts and
// the ends of writers meet evictions, loads, splits and merges all the time.
//
// The model is an array of the keys' values, without synchronisation of its own: only the writer
// that has claimed a record touches its element. So a lost claim shows as a wrong value, and under
// ThreadSanitizer as a race.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "btree/btree.h"
#include "btree/cursor.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"
#include "tests/support/tree_fixture.h"
#include "versioning/writer.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::TreeDatabase;
using palimpsest::test::TreeOptions;
using versioning::kNoWriter;
using versioning::Writer;
using versioning::WriterId;

constexpr std::size_t kThreads = 12;
constexpr std::uint64_t kKeys = 6000;

std::string key_of(std::uint64_t number) {
  std::string key = std::to_string(number * 7919 % 1'000'000);
  return std::string(8 - key.size(), '0') + key;
}

/// The model of one key.
struct Known {
  std::optional<std::string> value;  ///< touched only by the writer that has claimed the key
  std::atomic<WriterId> holder{kNoWriter};
};

struct Shared {
  explicit Shared(TreeDatabase& tree_database) : database(tree_database), keys(kKeys) {}

  TreeDatabase& database;
  std::vector<Known> keys;
  /// By thread: the last of its writers that had ended for certain.
  std::array<std::atomic<std::uint64_t>, kThreads> ended{};
  std::atomic<std::uint64_t> conflicts{0};
  std::atomic<std::uint64_t> changes{0};
  std::atomic<std::size_t> orphans_most{0};
};

/// A thread and its writers, one after the other. Writer n of thread t has the id n * kThreads + t.
class Worker {
 public:
  Worker(Shared& shared, std::size_t thread, std::uint64_t seed)
      : shared_(shared), thread_(thread), random_(seed) {
    begin();
  }

  void step() {
    const std::uint64_t number =
        random_.one_in(2) ? random_.below(kKeys) : hot_ + random_.below(100);
    switch (random_.below(12)) {
      case 0: read(number); break;
      case 1:
      case 2: change(number, Kind::upsert); break;
      case 3:
      case 4: change(number, Kind::update); break;
      case 5:
      case 6:
      case 7: change(number, Kind::insert); break;
      case 8:
      case 9: change(number, Kind::remove); break;
      case 10: change_many(number); break;
      default:
        if (random_.one_in(6)) {
          end();
        }
    }
  }
  void end() {
    for (const std::uint64_t number : mine_) {
      shared_.keys[number].holder.store(kNoWriter);  // before other writers may claim it
    }
    mine_.clear();
    writer_->end();
    shared_.ended[thread_].store(sequence_);
    begin();
  }
  void quit() {
    end();
    writer_.reset();
  }

 private:
  enum class Kind : std::uint8_t { insert = 1, upsert, update, remove };

  BTree& tree() { return shared_.database.tree(); }
  LastLeaf* last() { return random_.one_in(3) ? &last_ : nullptr; }

  void begin() {
    ++sequence_;
    writer_ = std::make_unique<Writer>(shared_.database.entries(),
                                       WriterId{sequence_ * kThreads + thread_});
    hot_ = random_.below(kKeys - 100);
  }
  std::string some_value() {
    const std::size_t size = random_.one_in(4) ? random_.below(900) : random_.below(120);
    return std::string(size, static_cast<char>('a' + random_.below(26)));
  }

  void change_many(std::uint64_t number) {
    const Kind kind = random_.one_in(2) ? Kind::insert : Kind::remove;
    for (std::uint64_t i = 0; i < 60; ++i) {
      ASSERT_NO_FATAL_FAILURE(change((number + i * 97) % kKeys, kind));
    }
  }
  void change(std::uint64_t number, Kind kind) {
    std::array<std::uint64_t, kThreads> ended{};
    for (std::size_t i = 0; i < kThreads; ++i) {
      ended[i] = shared_.ended[i].load();
    }
    const std::string key = key_of(number);
    const std::string value = some_value();
    const WriteOutcome outcome = run(key, value, kind);
    if (outcome.conflict) {
      ASSERT_EQ(outcome.conflict->key, key);
      const std::uint64_t with = raw(outcome.conflict->with);
      ASSERT_NE(with, raw(writer_->id()));
      ASSERT_GT(with / kThreads, ended[with % kThreads]) << "that writer had ended";
      ASSERT_FALSE(mine(number)) << "another writer has what this one has claimed";
      ++shared_.conflicts;
      return;
    }
    const bool done = kind == Kind::upsert || outcome.existed != (kind == Kind::insert);
    if (!done) {
      return;
    }
    Known& known = shared_.keys[number];
    const WriterId before = known.holder.exchange(writer_->id());
    ASSERT_TRUE(before == kNoWriter || before == writer_->id())
        << raw(before) << " has " << key << ", and so has " << raw(writer_->id());
    ASSERT_EQ(outcome.existed, known.value.has_value()) << key;
    known.value = kind == Kind::remove ? std::nullopt : std::optional(value);
    if (before == kNoWriter) {
      mine_.push_back(number);
    }
    ++shared_.changes;
  }
  WriteOutcome run(const std::string& key, const std::string& value, Kind kind) {
    switch (kind) {
      case Kind::insert: return tree().insert(*writer_, key, value, last());
      case Kind::upsert: return tree().upsert(*writer_, key, value, last());
      case Kind::update: return tree().update(*writer_, key, value, last());
      case Kind::remove: break;
    }
    return tree().remove(*writer_, key, last());
  }
  [[nodiscard]] bool mine(std::uint64_t number) const {
    return std::ranges::find(mine_, number) != mine_.end();
  }

  // A record claimed by this writer holds what it has written; of the rest, only checks that it is
  // readable.
  void read(std::uint64_t number) {
    std::string value;
    if (!mine_.empty() && random_.one_in(2)) {
      number = mine_[random_.below(mine_.size())];
    }
    const bool found = tree().lookup(key_of(number), value, last());
    if (mine(number)) {
      const auto& known = shared_.keys[number].value;
      ASSERT_EQ(found, known.has_value()) << key_of(number);
      ASSERT_TRUE(!found || value == *known) << key_of(number);
    }
    const std::size_t orphans = shared_.database.pool().orphans().count();
    if (orphans > shared_.orphans_most.load()) {
      shared_.orphans_most = orphans;
    }
  }

  Shared& shared_;
  std::size_t thread_;
  Random random_;
  LastLeaf last_;
  std::uint64_t sequence_ = 0;
  std::uint64_t hot_ = 0;
  std::unique_ptr<Writer> writer_;
  std::vector<std::uint64_t> mine_;
};

// After all writers have ended, everything they have left disappears when their pages are touched.
void expect_nothing_left(Shared& shared) {
  TreeDatabase& database = shared.database;
  // Often enough for entries whose release was counted at another table.
  for (int round = 0; round < 70 && database.entries().entries() != 0; ++round) {
    for (std::uint64_t number = 0; number < kKeys; ++number) {
      const auto& value = shared.keys[number].value;
      ASSERT_EQ(value ? database.tree().update(key_of(number), *value)
                      : database.tree().remove(key_of(number)),
                value.has_value())
          << key_of(number);
    }
  }
  EXPECT_EQ(database.entries().entries(), 0U);
  EXPECT_EQ(database.entries().tables(), 0U);
  EXPECT_EQ(database.entries().bytes_in_use(), 0U);
  EXPECT_EQ(database.pool().orphans().count(), 0U);
}

void run(const TreeOptions& options, std::uint64_t seed, double seconds) {
  const palimpsest::test::SimDisk disk({.seed = seed});
  const auto device = disk.device();
  const auto database = TreeDatabase::create(*device, options);
  Shared shared(*database);
  std::vector<Worker> workers;
  workers.reserve(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    workers.emplace_back(shared, i, seed + i);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  palimpsest::test::run_threads(kThreads, [&](std::size_t thread) {
    try {
      while (std::chrono::steady_clock::now() < until && !::testing::Test::HasFatalFailure()) {
        workers[thread].step();
      }
    } catch (const Error& error) {
      ADD_FAILURE() << name_of(error.code()) << ": " << error.what();
    }
  });
  EXPECT_TRUE(palimpsest::test::sound(*database));
  for (Worker& worker : workers) {
    worker.quit();
  }
  std::string value;
  for (std::uint64_t number = 0; number < kKeys; ++number) {
    const auto& known = shared.keys[number].value;
    ASSERT_EQ(database->tree().lookup(key_of(number), value), known.has_value()) << number;
    ASSERT_TRUE(!known || value == *known) << number;
  }
  ASSERT_NO_FATAL_FAILURE(expect_nothing_left(shared));
  EXPECT_TRUE(palimpsest::test::sound(*database));
  std::printf("%llu changes, %llu conflicts, at most %zu orphans with %u frames\n",
              static_cast<unsigned long long>(shared.changes.load()),
              static_cast<unsigned long long>(shared.conflicts.load()), shared.orphans_most.load(),
              options.frames);
  EXPECT_GT(shared.conflicts.load(), 0U);
  EXPECT_GT(shared.orphans_most.load(), 0U);
}

TEST(WriterStress, ManyWritersInTheSmallestPool) {
  run({.page_size_bytes = 4096, .frames = 32}, palimpsest::test::seed(),
      palimpsest::test::test_seconds(4));
}

TEST(WriterStress, ManyWritersInASmallPool) {
  const std::uint64_t seed = palimpsest::test::seed();
  run({.page_size_bytes = 4096, .frames = static_cast<std::uint32_t>(40 + seed % 60)}, seed,
      palimpsest::test::test_seconds(4));
}

}  // namespace
}  // namespace palimpsest::btree
