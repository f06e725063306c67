// Shortening the page file to the pages in use: trees with pages at its end, beside other trees,
// and across crashes.
#include "engine/space/compaction.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "base/sync_point.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/crash_images.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/thread_group.h"
#include "txn/read_scope.h"

namespace palimpsest::engine {
namespace {

using btree::BTree;
using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using test::Content;
using test::content_of;
using test::lose_power;
using test::small_options;
using test::sound;

std::string key_of(std::uint64_t number) {
  return fmt::format("{:08}", number);
}

class CompactionTest : public ::testing::Test {
 protected:
  CompactionTest() : device_(disk_.device()) {
    options_.memory_bytes = std::uint64_t{3} << 20U;
    options_.log_bytes_max = 64 * wal::kSegmentBytesMin;
    options_.background_threads = true;  // checkpoints
    options_.background_sweeps = false;
    open();
  }

  void open() {
    device_ = disk_.device();
    database_ = Engine::open(*device_, *device_, options_);
  }
  void reopen() {
    database_->close();
    database_.reset();
    open();
  }
  [[nodiscard]] BTree& tree(std::string_view name) {
    BTree* const made = database_->find_tree(name);
    return made != nullptr ? *made : *database_->make_tree(name);
  }
  /// Rows [from, to) of each of the trees, a few of each by turns, so that their leaves interleave.
  void fill(const std::vector<std::string>& names, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t begin = from; begin < to; begin += kRowsTogether) {
      for (const std::string& name : names) {
        const auto by = database_->begin(txn::Durability::asynchronous);
        for (std::uint64_t row = begin; row < std::min(to, begin + kRowsTogether); ++row) {
          const auto outcome = by->insert(tree(name), key_of(row), std::string(200, 'v'));
          ASSERT_TRUE(!outcome.existed && !outcome.conflict);
        }
        by->commit();
      }
    }
  }
  void erase(std::string_view name, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t begin = from; begin < to; begin += kRowsTogether) {
      const auto by = database_->begin(txn::Durability::asynchronous);
      for (std::uint64_t row = begin; row < std::min(to, begin + kRowsTogether); ++row) {
        const auto outcome = by->remove(tree(name), key_of(row));
        ASSERT_TRUE(outcome.existed && !outcome.conflict);
      }
      by->commit();
    }
  }
  /// Rows [from, to) with large values, of several lengths, in "kept" and in "gone" by turns.
  void fill_large(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t row = from; row < to; ++row) {
      const auto by = database_->begin(txn::Durability::asynchronous);
      const std::string value(5'000 + row * 7'919 % 40'000, static_cast<char>('a' + row % 26));
      ASSERT_FALSE(by->insert(tree(row % 4 == 0 ? "kept" : "gone"), key_of(row), value).conflict);
      by->commit();
    }
  }
  /// "gone" is emptied; what "kept" has then.
  [[nodiscard]] Content without_gone() {
    for (const auto& [key, value] : content_of(tree("gone"))) {
      const auto by = database_->begin(txn::Durability::asynchronous);
      EXPECT_TRUE(by->remove(tree("gone"), key).existed);
      by->commit();
    }
    return content_of(tree("kept"));
  }
  [[nodiscard]] std::uint64_t file_bytes() const {
    return database_->file().page_count() * database_->file().page_size_bytes();
  }

  static constexpr std::uint64_t kRowsTogether = 20;

  EngineOptions options_ = small_options();
  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
};

TEST_F(CompactionTest, PagesAtTheEndMoveToFreedPlaces) {
  fill({"kept", "gone"}, 0, 8'000);
  const std::uint64_t before = file_bytes();
  erase("gone", 0, 8'000);
  const Content content = content_of(tree("kept"));
  std::uint64_t told = 0;
  const CompactionReport report =
      database_->compact({.progress = [&](const CompactionProgress& now) {
        told = now.pages_moved;
        EXPECT_LE(now.pages_moved, now.pages_total);
      }});
  EXPECT_EQ(report.bytes_before, before);
  EXPECT_EQ(report.bytes_after, file_bytes());
  EXPECT_GT(report.pages_moved, 50U);
  EXPECT_EQ(report.pages_moved, told);
  EXPECT_LE(report.bytes_after, report.bytes_in_use / 10 * 11) << "of " << before;
  EXPECT_EQ(report.pages_unmoved, 0U);
  EXPECT_EQ(content_of(tree("kept")), content);
  EXPECT_TRUE(sound(*database_));
  reopen();
  EXPECT_EQ(content_of(tree("kept")), content);
  EXPECT_TRUE(sound(*database_));
  EXPECT_LE(file_bytes(), report.bytes_after);
}

TEST_F(CompactionTest, AShortFileStaysAsItIs) {
  fill({"kept"}, 0, 2'000);
  static_cast<void>(database_->compact({}));
  const CompactionReport report = database_->compact({});
  EXPECT_EQ(report.pages_moved, 0U);
  EXPECT_EQ(report.bytes_after, report.bytes_before);
}

TEST_F(CompactionTest, WhatProgressThrowsEndsIt) {
  struct GivenUp {};
  fill({"kept", "gone"}, 0, 4'000);
  erase("gone", 0, 4'000);
  const Content content = content_of(tree("kept"));
  const auto give_up = [&](const CompactionProgress& now) {
    if (now.pages_moved >= 20) {
      throw GivenUp();
    }
  };
  EXPECT_THROW(static_cast<void>(database_->compact({.progress = give_up})), GivenUp);
  EXPECT_EQ(content_of(tree("kept")), content);
  EXPECT_TRUE(sound(*database_));
  const CompactionReport report = database_->compact({});
  EXPECT_LE(report.bytes_after, report.bytes_in_use / 10 * 11);
}

TEST_F(CompactionTest, LargeValuesMoveToo) {
  fill_large(0, 400);
  const Content content = without_gone();
  const CompactionReport report = database_->compact({});
  EXPECT_GT(report.pages_moved, 400U);
  EXPECT_LE(report.bytes_after, report.bytes_in_use / 10 * 11) << "of " << report.bytes_before;
  EXPECT_LT(report.bytes_after, report.bytes_before / 2);
  EXPECT_EQ(content_of(tree("kept")), content);
  EXPECT_TRUE(sound(*database_));
  lose_power(disk_, database_);
  open();
  EXPECT_EQ(content_of(tree("kept")), content);
  EXPECT_TRUE(sound(*database_));
  reopen();
  EXPECT_EQ(content_of(tree("kept")), content);
  EXPECT_TRUE(sound(*database_));
}

// A snapshot sees another value than the newest: the record stays until no snapshot needs it.
TEST_F(CompactionTest, LargeValuesWithVersionsStay) {
  fill_large(0, 80);
  const Content before = content_of(tree("kept"));
  const auto reader = database_->begin(txn::Durability::asynchronous, txn::Isolation::snapshot);
  EXPECT_EQ(txn::ReadScope(*reader).confirmed([] { return 1; }), 1);
  fill_large(80, 300);
  for (const auto& [key, value] : before) {
    const auto by = database_->begin(txn::Durability::asynchronous, txn::Isolation::snapshot);
    ASSERT_FALSE(by->update(tree("kept"), key, std::string(20'000, 'n')).conflict);
    by->commit();
  }
  const Content after = without_gone();
  static_cast<void>(database_->compact({}));
  for (const auto& [key, value] : before) {
    std::string seen;
    txn::ReadScope(*reader).confirmed(
        [&] { EXPECT_TRUE(tree("kept").lookup(key, seen, nullptr, reader->read_view())); });
    EXPECT_EQ(seen, value) << key;
  }
  EXPECT_EQ(content_of(tree("kept")), after);
  reader->commit();
  const CompactionReport report = database_->compact({});
  EXPECT_LE(report.bytes_after, report.bytes_in_use / 10 * 11);
  EXPECT_EQ(content_of(tree("kept")), after);
  EXPECT_TRUE(sound(*database_));
}

// Their undo names the values that they found.
TEST_F(CompactionTest, LargeValuesThatATransactionHasChangedStay) {
  fill_large(0, 300);
  const Content content = without_gone();
  const std::string longer(30'000, 'w');
  auto filler = database_->begin();  // what the writer makes lies behind that
  for (std::uint64_t row = 0; row < 400; ++row) {
    ASSERT_FALSE(filler->insert(tree("gone"), "f" + key_of(row), longer).conflict);
  }
  auto writer =
      database_->begin(txn::Durability::synchronous, txn::Isolation::none);  // no versions
  std::size_t number = 0;
  for (const auto& [key, value] : content) {
    if (++number % 9 == 0) {
      ASSERT_FALSE(writer->remove(tree("kept"), key).conflict);
    } else if (number % 3 == 0) {
      ASSERT_FALSE(writer->update(tree("kept"), key, longer).conflict);
    }
  }
  filler->rollback();
  filler.reset();
  EXPECT_GT(database_->compact({}).pages_unmoved, 100U);
  database_->log().wait_durable(database_->transactions().now());
  const SimDisk crashed = disk_.crash(1);
  writer->rollback();
  EXPECT_EQ(content_of(tree("kept")), content);
  EXPECT_TRUE(sound(*database_));
  disk_.power_off();
  writer.reset();
  database_.reset();
  disk_ = crashed;
  open();
  EXPECT_EQ(content_of(tree("kept")), content);
  EXPECT_TRUE(sound(*database_));
  const CompactionReport report = database_->compact({});
  EXPECT_LE(report.bytes_after, report.bytes_in_use / 10 * 11);
  EXPECT_EQ(content_of(tree("kept")), content);
}

#ifdef PALIMPSEST_SYNC_POINTS

// Between the copy and the exchange: the copy's pages are given back.
TEST_F(CompactionTest, LargeValuesThatChangeMeanwhileStay) {
  fill_large(0, 200);
  Content content = without_gone();
  bool was_asked = false;
  {
    const SyncHook copied("btree.value_move.copied", [&] {
      if (std::exchange(was_asked, true)) {
        return;
      }
      std::size_t number = 0;
      for (auto at = content.begin(); at != content.end(); ++number) {
        const auto by = database_->begin(txn::Durability::asynchronous);
        if (number % 3 == 0) {
          EXPECT_TRUE(by->remove(tree("kept"), at->first).existed);
          at = content.erase(at);
        } else if (number % 3 == 1) {
          at->second = std::string(30'000, 'm');
          EXPECT_TRUE(by->update(tree("kept"), at->first, at->second).existed);
          ++at;
        } else {
          ++at;
        }
        by->commit();
      }
    });
    static_cast<void>(database_->compact({}));
  }
  EXPECT_TRUE(was_asked);
  EXPECT_EQ(content_of(tree("kept")), content);
  EXPECT_TRUE(sound(*database_));
  const CompactionReport report = database_->compact({});
  EXPECT_LE(report.bytes_after, report.bytes_in_use / 10 * 11);
  EXPECT_EQ(content_of(tree("kept")), content);
  EXPECT_TRUE(sound(*database_));
  reopen();  // pages that no record names are free then
  constexpr std::uint64_t kSlackBytes = 100'000;
  EXPECT_GT(database_->compact({}).bytes_in_use + kSlackBytes, report.bytes_in_use);
}

#endif  // PALIMPSEST_SYNC_POINTS

TEST_F(CompactionTest, ACrashWhileLargeValuesMoveLosesNothing) {
  fill_large(0, 40);
  const Content content = without_gone();
  database_->checkpointer().run();
  palimpsest::test::CrashImages images(disk_);
  images.take_at_operations();
  EXPECT_GT(database_->compact({}).pages_moved, 20U);
  database_->checkpointer().run();
  const auto taken = images.end();
  ASSERT_GT(taken.size(), 20U);
  for (const auto& image : taken) {
    const auto device = image.disk.device();
    const auto recovered = Engine::open(*device, *device, options_);
    ASSERT_EQ(content_of(*recovered->find_tree("kept")), content);
    ASSERT_TRUE(sound(*recovered));
    const CompactionReport again = recovered->compact({});
    ASSERT_LE(again.bytes_after, again.bytes_in_use / 10 * 11);
    ASSERT_EQ(content_of(*recovered->find_tree("kept")), content);
    ASSERT_TRUE(sound(*recovered));
  }
}

// Changed rows stay claimed by their writer until it has ended, wherever their leaf moves.
TEST_F(CompactionTest, WhatHangsOffAPageMovesWithIt) {
  fill({"kept", "gone"}, 0, 4'000);
  erase("gone", 0, 4'000);
  const Content content = content_of(tree("kept"));
  const auto reader = database_->begin(txn::Durability::asynchronous, txn::Isolation::snapshot);
  EXPECT_EQ(txn::ReadScope(*reader).confirmed([] { return 1; }), 1);
  const auto writer = database_->begin();
  for (std::uint64_t row = 0; row < 4'000; row += 21) {
    ASSERT_FALSE(writer->update(tree("kept"), key_of(row), "changed").conflict);
  }
  EXPECT_GT(database_->compact({}).pages_moved, 20U);
  const auto other = database_->begin();
  EXPECT_TRUE(other->update(tree("kept"), key_of(3'990), "lost").conflict);
  other->rollback();
  writer->rollback();
  EXPECT_EQ(content_of(tree("kept")), content);
  reader->commit();
  EXPECT_TRUE(sound(*database_));
}

TEST_F(CompactionTest, LosersAreUndoneWhereTheirPagesAreNow) {
  fill({"kept", "gone"}, 0, 3'000);
  erase("gone", 0, 3'000);
  const Content content = content_of(tree("kept"));
  auto writer = database_->begin();
  for (std::uint64_t row = 0; row < 3'000; row += 7) {
    ASSERT_FALSE(writer->update(tree("kept"), key_of(row), "changed").conflict);
  }
  EXPECT_GT(database_->compact({}).pages_moved, 20U);
  database_->log().wait_durable(database_->transactions().now());
  const SimDisk crashed = disk_.crash(1);
  disk_.power_off();
  writer.reset();
  database_.reset();
  disk_ = crashed;
  open();
  EXPECT_EQ(content_of(tree("kept")), content);
  EXPECT_TRUE(sound(*database_));
}

// At each operation of the disk.
TEST_F(CompactionTest, ACrashAnywhereLosesNothing) {
  fill({"kept", "gone"}, 0, 400);
  static_cast<void>(tree("late"));
  erase("gone", 0, 400);
  const Content content = content_of(tree("kept"));
  database_->checkpointer().run();
  palimpsest::test::CrashImages images(disk_);
  images.take_at_operations();
  const CompactionReport report = database_->compact({});
  EXPECT_GT(report.pages_moved, 5U);
  database_->checkpointer().run();
  const auto taken = images.end();
  ASSERT_GT(taken.size(), 20U);
  for (const auto& image : taken) {
    const auto device = image.disk.device();
    const auto recovered = Engine::open(*device, *device, options_);
    ASSERT_EQ(content_of(*recovered->find_tree("kept")), content);
    ASSERT_TRUE(sound(*recovered));
    const CompactionReport again = recovered->compact({});
    ASSERT_LE(again.bytes_after, again.bytes_in_use / 10 * 11);
    ASSERT_TRUE(sound(*recovered));
  }
}

// The roots of trees that were made when the file was long.
TEST_F(CompactionTest, RootsMoveToo) {
  fill({"gone"}, 0, 4'000);
  for (int number = 0; number < 20; ++number) {
    fill({fmt::format("late-{}", number)}, 0, 5);
  }
  erase("gone", 0, 4'000);
  const CompactionReport report = database_->compact({});
  EXPECT_EQ(report.pages_unmoved, 0U);
  EXPECT_LE(report.bytes_after, report.bytes_in_use / 10 * 11);
  fill({"late-7"}, 5, 50);
  EXPECT_TRUE(sound(*database_));
  database_->log().wait_durable(database_->transactions().now());
  lose_power(disk_, database_, palimpsest::test::CrashKeeps::everything);
  open();
  EXPECT_EQ(content_of(tree("late-7")).size(), 50U);
  EXPECT_EQ(content_of(tree("late-19")).size(), 5U);
  EXPECT_TRUE(sound(*database_));
  reopen();
  EXPECT_EQ(content_of(tree("late-7")).size(), 50U);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(CompactionTest, NothingIsCutBesideABackup) {
  fill({"kept", "gone"}, 0, 2'000);
  erase("gone", 0, 2'000);
  const Content content = content_of(tree("kept"));
  const SimDisk copy;
  const auto into = copy.device();
  bool was_asked = false;
  static_cast<void>(database_->back_up(*into, {.progress = [&](const BackupProgress&) {
    if (!std::exchange(was_asked, true)) {
      const CompactionReport report = database_->compact({});
      EXPECT_GT(report.pages_moved, 0U);
      EXPECT_EQ(report.bytes_after, report.bytes_before);
    }
  }}));
  EXPECT_TRUE(was_asked);
  const CompactionReport report = database_->compact({});
  EXPECT_LT(report.bytes_after, report.bytes_before);
  const auto copied = Engine::open(*into, *into, options_);
  EXPECT_EQ(content_of(*copied->find_tree("kept")), content);
  EXPECT_TRUE(sound(*copied));
}

TEST_F(CompactionTest, ABackupHasLargeValuesThatMovedMeanwhile) {
  fill_large(0, 200);
  const Content content = without_gone();
  const SimDisk copy;
  const auto into = copy.device();
  bool was_asked = false;
  static_cast<void>(database_->back_up(*into, {.progress = [&](const BackupProgress&) {
    if (!std::exchange(was_asked, true)) {
      EXPECT_GT(database_->compact({}).pages_moved, 100U);
    }
  }}));
  EXPECT_TRUE(was_asked);
  EXPECT_EQ(content_of(tree("kept")), content);
  const auto copied = Engine::open(*into, *into, options_);
  EXPECT_EQ(content_of(*copied->find_tree("kept")), content);
  EXPECT_TRUE(sound(*copied));
}

TEST_F(CompactionTest, OneAtATime) {
  fill({"kept", "gone"}, 0, 400);
  erase("gone", 0, 400);
  bool was_asked = false;
  static_cast<void>(database_->compact({.progress = [&](const CompactionProgress&) {
    if (!std::exchange(was_asked, true)) {
      EXPECT_EQ(error_of([&] { static_cast<void>(database_->compact({})); }), ErrorCode::locked);
      EXPECT_EQ(error_of([&] { database_->close(); }), ErrorCode::invalid_argument);
    }
  }}));
  EXPECT_TRUE(was_asked);
}

// Threads change rows, each its own, compared with a model, while pages move, are evicted and
// written.
TEST_F(CompactionTest, WritersGoOnBesideIt) {
  constexpr std::size_t kThreads = 3;
  constexpr std::uint64_t kRows = 1'500;
  const std::uint64_t seed = palimpsest::test::seed();
  fill({"kept", "gone"}, 0, 3'000);
  erase("kept", 0, 3'000);
  erase("gone", 0, 3'000);
  BTree& kept = tree("kept");
  std::vector<Content> models(kThreads);
  std::atomic<std::size_t> running{kThreads};
  const auto write = [&](std::size_t number) {
    Random random(seed + number);
    Content& model = models[number];
    for (int round = 0; round < 150; ++round) {
      const auto by = database_->begin(txn::Durability::asynchronous);
      Content changed = model;
      for (int change = 0; change < 20; ++change) {
        const std::string key = fmt::format("{}-{}", random.below(kRows), number);
        if (random.one_in(3)) {
          EXPECT_FALSE(by->remove(kept, key).conflict);
          changed.erase(key);
        } else {
          const std::uint64_t length = random.below(random.one_in(10) ? 20'000 : 400);
          const std::string value(length, static_cast<char>('a' + random.below(26)));
          EXPECT_FALSE(by->upsert(kept, key, value).conflict);
          changed[key] = value;
        }
      }
      if (random.one_in(5)) {
        by->rollback();
      } else {
        by->commit();
        model = std::move(changed);
      }
    }
    running.fetch_sub(1);
  };
  palimpsest::test::run_threads(kThreads + 1, [&](std::size_t number) {
    if (number < kThreads) {
      write(number);
      return;
    }
    while (running.load() != 0) {
      static_cast<void>(database_->compact({}));
      static_cast<void>(content_of(kept));
    }
  });
  const CompactionReport report = database_->compact({});
  EXPECT_LE(report.bytes_after, report.bytes_in_use / 10 * 11);
  Content expected;
  for (const Content& model : models) {
    expected.insert(model.begin(), model.end());
  }
  EXPECT_EQ(content_of(kept), expected);
  EXPECT_TRUE(sound(*database_));
  lose_power(disk_, database_, palimpsest::test::CrashKeeps::everything);
  open();
  EXPECT_TRUE(sound(*database_));
}

}  // namespace
}  // namespace palimpsest::engine
