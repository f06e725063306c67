// Injects an I/O error, once or permanently, at every operation of a workload that evicts all the
// time: each call succeeds, or fails without an effect; no answer is ever wrong.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "palimpsest/error.h"

#include "base/random.h"
#include "btree/btree.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/test_seconds.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::SimDisk;
using palimpsest::test::sound;
using palimpsest::test::Sweep;
using palimpsest::test::TreeDatabase;
using palimpsest::test::TreeOptions;

constexpr TreeOptions kOptions{.page_size_bytes = 4096, .frames = 32};
constexpr double kSecondsPerCase = 4;

/// A tree and its model; the same seed makes the same calls.
class Workload {
 public:
  explicit Workload(std::uint64_t seed) : random_(seed), device_(disk_.device()) {
    database_ = TreeDatabase::create(*device_, kOptions);
    for (std::uint64_t i = 0; i < 250; ++i) {
      const std::string key = test::big_endian(i * 4);
      EXPECT_TRUE(database_->tree().insert(key, std::string(400, 'a')));
      model_.emplace(key, std::string(400, 'a'));
    }
    database_->close();
    database_.reset();
    database_ = TreeDatabase::open(*device_, kOptions);
  }

  void run(int calls) {
    for (int i = 0; i < calls && !::testing::Test::HasFatalFailure(); ++i) {
      const std::string key = test::big_endian(random_.below(1000));
      const std::string value(random_.one_in(25) ? 9000 : 200 + random_.below(400),
                              static_cast<char>(random_()));
      const std::uint64_t kind = random_.below(10);
      try {
        call(kind, key, value);
      } catch (const Error& error) {
        ++errors_;
      }
    }
  }

  /// A failed sync or in-place write is final: pages can still be read, if there are frames for
  /// them, but not written, until the file is reopened and recovered.
  [[nodiscard]] bool failed() { return database_->file().failed(); }

  /// Removes the fault, and waits until the page provider's operations have finished.
  void mend() {
    disk_.clear_faults();
    try {
      database_->pool().flush();
    } catch (const Error&) {
      ASSERT_TRUE(failed());
    }
  }

  /// Whether all records are there; after the file has failed, only as far as they can be read.
  void check_records() {
    std::string value;
    for (const auto& [key, expected] : model_) {
      try {
        ASSERT_TRUE(tree().lookup(key, value));
        ASSERT_EQ(value, expected);
      } catch (const Error& error) {
        ASSERT_TRUE(failed()) << error.what();
      }
    }
  }

  void reopen() {
    database_->close();
    database_.reset();
    database_ = TreeDatabase::open(*device_, kOptions);
  }

  [[nodiscard]] SimDisk& disk() { return disk_; }
  [[nodiscard]] TreeDatabase& database() { return *database_; }
  [[nodiscard]] int errors() const { return errors_; }

 private:
  BTree& tree() { return database_->tree(); }

  void call(std::uint64_t kind, const std::string& key, const std::string& value) {
    const auto record = model_.find(key);
    const bool there = record != model_.end();
    if (kind < 3) {
      ASSERT_EQ(tree().upsert(key, value), !there);
      model_[key] = value;
    } else if (kind < 5) {
      ASSERT_EQ(tree().insert(key, value), !there);
      model_.emplace(key, value);
    } else if (kind < 7) {
      ASSERT_EQ(tree().remove(key), there);
      model_.erase(key);
    } else {
      std::string found;
      ASSERT_EQ(tree().lookup(key, found), there);
      ASSERT_EQ(found, there ? record->second : std::string());
    }
  }

  Random random_;
  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
  std::map<std::string, std::string> model_;
  int errors_ = 0;
};

void fault_at(std::uint64_t seed, std::uint64_t nth, bool for_good) {
  SCOPED_TRACE((for_good ? "for good from operation " : "once at operation ") +
               std::to_string(nth));
  Workload workload(seed);
  workload.disk().inject({.error = EIO, .nth = nth, .for_good = for_good});
  ASSERT_NO_FATAL_FAILURE(workload.run(150));
  ASSERT_NO_FATAL_FAILURE(workload.mend());
  ASSERT_NO_FATAL_FAILURE(workload.check_records());
  const int errors = workload.errors();
  ASSERT_NO_FATAL_FAILURE(workload.run(50));
  if (workload.failed()) {
    return;
  }
  ASSERT_EQ(workload.errors(), errors) << "errors go on after the fault is gone";
  ASSERT_TRUE(sound(workload.database()));
  ASSERT_NO_THROW(workload.reopen());
  ASSERT_NO_FATAL_FAILURE(workload.check_records());
  ASSERT_TRUE(sound(workload.database()));
}

class BTreeFault : public ::testing::TestWithParam<bool> {};

TEST_P(BTreeFault, AtEveryOperation) {
  const std::uint64_t seed = palimpsest::test::seed();
  std::uint64_t operations = 0;
  {
    Workload workload(seed);
    const std::uint64_t before = workload.disk().operations();
    ASSERT_NO_FATAL_FAILURE(workload.run(150));
    operations = workload.disk().operations() - before;
    ASSERT_EQ(workload.errors(), 0);
  }
  ASSERT_GT(operations, 50U);
  for (Sweep sweep(operations, 25, kSecondsPerCase); const auto before_it = sweep.next();) {
    ASSERT_NO_FATAL_FAILURE(fault_at(seed, *before_it + 1, GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(OnceAndForGood, BTreeFault, ::testing::Bool());

}  // namespace
}  // namespace palimpsest::btree
