// Which pages a checkpoint writes, and how much of the log it frees while transactions are open.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/sync_point.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::CrashKeeps;
using palimpsest::test::SimDisk;

constexpr int kRecords = 200;
constexpr int kOpen = 3;
/// An open transaction's first record may lie anywhere in its segment, and so may the log's end.
constexpr std::uint64_t kHeldBack = 2 * wal::kSegmentBytesMin;

std::string key_of(int number) {
  return fmt::format("key{:06}", number);
}

class Checkpoints : public ::testing::Test {
 protected:
  Checkpoints() { make(); }
  void make() {
    database_.reset();
    disk_ = SimDisk();
    open();
    const auto by = database_->begin();
    for (int i = 0; i < kOpen + kRecords; ++i) {
      EXPECT_FALSE(by->insert(records(), key_of(i), std::string(200, 'v')).existed);
    }
    by->commit();
  }
  void open() {
    device_ = disk_.device();
    EngineOptions options = small_options();
    options.memory_bytes = memory_bytes_;
    database_ = Engine::open(*device_, *device_, options);
  }
  [[nodiscard]] btree::BTree& records() {
    btree::BTree* const tree = database_->find_tree("records");
    return tree != nullptr ? *tree : *database_->make_tree("records");
  }
  /// Each has changed a record of its own, in a slot of its own.
  [[nodiscard]] std::vector<txn::TransactionPtr> begin_changes(char value) {
    std::vector<txn::TransactionPtr> open;
    for (int i = 0; i < kOpen; ++i) {
      open.push_back(database_->begin());
      EXPECT_TRUE(open.back()->update(records(), key_of(i), std::string(200, value)).existed);
    }
    return open;
  }
  /// Commits changes of so many records each until recovery would replay so much. No checkpoint
  /// runs meanwhile.
  void write_up_to(std::uint64_t replay_bytes, int records_each = kRecords) {
    for (char value = 'a'; database_->log().replay_bytes() < replay_bytes; ++value) {
      commit(records_each, value);
    }
  }
  void commit(int records, char value) {
    const auto by = database_->begin();
    for (int i = kOpen; i < kOpen + records; ++i) {
      ASSERT_TRUE(by->update(this->records(), key_of(i), std::string(200, value)).existed);
    }
    by->commit();
  }

  std::uint64_t memory_bytes_ = small_options().memory_bytes;
  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
};

// No checkpoint has run since the log was nearly empty, and each open transaction may be in the
// middle of a call that waits for space: the checkpoint frees the log before them, and cancels
// none.
TEST_F(Checkpoints, OpenTransactionsHoldBackNoLogFromBeforeThem) {
  write_up_to(database_->log().capacity_bytes() * 2 / 3);
  const auto late = begin_changes('l');
  database_->checkpointer().run();
  EXPECT_LE(database_->log().replay_bytes(), kHeldBack);
  EXPECT_EQ(database_->checkpointer().statistics().cancelled, 0U);
  for (const auto& transaction : late) {
    transaction->commit();
  }
}

// Each commit is a block of the log's file, and segments are full to the last one.
TEST_F(Checkpoints, SmallCommitsFillTheLogLikewise) {
  write_up_to(database_->log().capacity_bytes() * 2 / 3, 1);
  const auto late = begin_changes('l');
  database_->checkpointer().run();
  EXPECT_LE(database_->log().replay_bytes(), kHeldBack);
}

// The round that brings their records into the stream is the one that sets the mark, wherever in
// its segment it begins.
TEST_F(Checkpoints, RecordsOfTheRoundThatSetsAMarkLieBeforeIt) {
  for (int before = 1; before <= kRecords; before += 8) {
    make();
    commit(before, 'b');
    auto losers = begin_changes('l');
    commit(kRecords, 'w');
    database_->checkpointer().run();
    commit(1, 'x');  // the ends of finished transactions are durable
    const SimDisk crashed = disk_.crash(1, CrashKeeps::nothing);
    disk_.power_off();
    losers.clear();
    database_.reset();
    disk_ = crashed;
    open();
    ASSERT_EQ(content_of(records()).at(key_of(0)), std::string(200, 'v')) << before;
  }
}

// Replay starts at a position where no cycle began.
TEST_F(Checkpoints, WhatIsReplayedBeginsBeforeThoseThatAreUndone) {
  write_up_to(database_->log().capacity_bytes() / 3);
  const Content before = content_of(records());
  auto losers = begin_changes('l');
  write_up_to(database_->log().capacity_bytes() * 2 / 3);
  Content after = content_of(records());
  for (int i = 0; i < kOpen; ++i) {
    after[key_of(i)] = before.at(key_of(i));
  }
  const std::uint64_t replay_bytes = database_->log().replay_bytes();
  database_->checkpointer().run();
  EXPECT_LT(database_->log().replay_bytes(), replay_bytes * 3 / 4);
  const SimDisk crashed = disk_.crash(1, CrashKeeps::nothing);
  disk_.power_off();
  losers.clear();
  database_.reset();
  disk_ = crashed;
  open();
  EXPECT_EQ(database_->recovery().losers, static_cast<std::size_t>(kOpen));
  EXPECT_EQ(content_of(records()), after);
  EXPECT_TRUE(sound(*database_));
}

/// All pages stay in memory: only the checkpointer writes them.
class CheckpointsByAge : public Checkpoints {
 protected:
  /// Records, on a few pages.
  static constexpr int kHot = 20;
  static constexpr int kMany = 12'000;
  [[nodiscard]] static std::string many_key(int number) { return fmt::format("many{:06}", number); }

  CheckpointsByAge() {
    memory_bytes_ = std::uint64_t{8} << 20U;
    make();
    database_->checkpointer().run();
  }

  [[nodiscard]] std::uint64_t bound() const { return database_->log().capacity_bytes() / 8 * 3; }
  [[nodiscard]] CheckpointStatistics statistics() const {
    return database_->checkpointer().statistics();
  }
  void make_due_steps() {
    while (database_->checkpointer().step()) {
    }
  }
  /// Small commits until the log has grown so much; runs the due checkpoint work after each.
  void grow(std::uint64_t bytes, int records_each) {
    const std::uint64_t end = database_->log().end_position() + bytes;
    for (char value = 'a'; database_->log().end_position() < end;
         value = value == 'z' ? 'a' : static_cast<char>(value + 1)) {
      commit(records_each, value);
      make_due_steps();
      ASSERT_LE(database_->log().replay_bytes(), bound());
    }
  }
  /// Records on many pages, which are consecutive in the file.
  void insert_leaves() {
    for (int first = 0; first < kMany; first += kRecords) {
      const auto by = database_->begin();
      for (int i = first; i < first + kRecords; ++i) {
        ASSERT_FALSE(by->insert(records(), many_key(i), std::string(200, 'v')).existed);
      }
      by->commit();
      make_due_steps();
    }
  }
  /// Changes one record of each of those pages, which takes little log.
  void change_leaves() {
    const auto by = database_->begin();
    const std::string changed = 'c' + std::string(199, 'v');
    for (int i = 0; i < kMany; i += kMany / 1000) {
      ASSERT_TRUE(by->update(records(), many_key(i), changed).existed);
    }
    by->commit();
  }
  [[nodiscard]] Content after_crash() {
    const SimDisk crashed = disk_.crash(1, CrashKeeps::nothing);
    const auto device = crashed.device();
    const auto database = Engine::open(*device, *device, small_options());
    EXPECT_TRUE(sound(*database));
    return content_of(*database->find_tree("records"));
  }
};

// A stride is an eighth of the bound. A page is written in each fifth cycle.
TEST_F(CheckpointsByAge, APageThatIsAlwaysChangedIsWrittenOnceInFiveStrides) {
  commit(kHot, 'a');
  const std::uint64_t hot_pages = database_->pool().unwritten_frames().size();
  grow(bound(), kHot);
  const CheckpointStatistics before = statistics();
  grow(6 * bound(), kHot);
  const std::uint64_t cycles = statistics().cycles - before.cycles;
  const std::uint64_t pages = statistics().pages - before.pages;
  EXPECT_GE(cycles, 36U);
  EXPECT_LE(cycles, 49U);  // 48 strides, the first and the last in part
  EXPECT_GE(pages, hot_pages * (cycles / 6 - 1));
  EXPECT_LE(pages, hot_pages * (cycles / 5 + 1));
}

// Pages that become dirty all at once are not written all at once.
TEST_F(CheckpointsByAge, PagesAreWrittenInTheirTurns) {
  insert_leaves();
  database_->checkpointer().run();
  change_leaves();
  constexpr std::uint64_t kNeighbours = buffer::PagesByAge::kNeighbours;
  const std::uint64_t dirty = database_->pool().unwritten_frames().size();
  ASSERT_GE(dirty, 20 * kNeighbours);
  const std::uint64_t before = statistics().pages;
  for (int cycle = 0; cycle < 5; ++cycle) {
    const CheckpointStatistics then = statistics();
    while (statistics().cycles == then.cycles) {
      commit(1, static_cast<char>('b' + cycle));
      make_due_steps();
    }
    EXPECT_LE(statistics().pages - then.pages, dirty / 5 + kNeighbours + 2) << "of cycle " << cycle;
  }
  EXPECT_GE(statistics().pages - before, dirty - 1);  // one is dirty again and again
}

// The next cycle reaches less far back, as far as six strides of log go.
TEST_F(CheckpointsByAge, ALateCycleIsMadeUpForByTheNext) {
  grow(2 * bound(), 1);
  const std::uint64_t stride = bound() / 8;
  const std::uint64_t late = database_->log().end_position() + 3 * stride;
  while (database_->log().end_position() < late) {
    commit(1, 'l');
  }
  for (const std::uint64_t cycles = statistics().cycles; statistics().cycles < cycles + 2;) {
    commit(1, 'm');
    make_due_steps();
  }
  EXPECT_LE(database_->log().replay_bytes(), 7 * stride);
  grow(bound(), 1);
}

TEST_F(CheckpointsByAge, AllIsWrittenWhenTheLogRunsShort) {
  grow(bound(), kHot);
  ASSERT_FALSE(database_->pool().unwritten_frames().empty());
  ASSERT_GT(database_->log().replay_bytes(), bound() / 2);
  database_->checkpointer().log_is_filling();
  make_due_steps();
  EXPECT_TRUE(database_->pool().unwritten_frames().empty());
  EXPECT_LE(database_->log().replay_bytes(), wal::kSegmentBytesMin);
}

// The cycle that is under way would free a few strides only.
TEST_F(CheckpointsByAge, ACycleIsGivenUpWhenTheLogRunsShort) {
  grow(bound(), kHot);
  const std::uint64_t cycles = statistics().cycles;
  while (!database_->checkpointer().step()) {
    commit(1, 'b');
  }
  ASSERT_EQ(statistics().cycles, cycles);
  commit(kHot, 'c');
  database_->checkpointer().log_is_filling();
  make_due_steps();
  EXPECT_EQ(statistics().cycles, cycles + 1);
  EXPECT_TRUE(database_->pool().unwritten_frames().empty());
  EXPECT_LE(database_->log().replay_bytes(), wal::kSegmentBytesMin);
}

// At any power failure, and with every page as a cycle has left it.
TEST_F(CheckpointsByAge, ReplayNeverStartsBehindAnUnwrittenChange) {
  Random random(palimpsest::test::seed());
  Content expected = content_of(records());
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t end = database_->log().end_position() + bound() / 10;
    while (database_->log().end_position() < end) {
      const auto by = database_->begin();
      const std::string key = key_of(static_cast<int>(random.below(kOpen + kRecords)));
      const std::string value = fmt::format("{:0200}", random());
      ASSERT_TRUE(by->update(records(), key, value).existed);
      by->commit();
      expected[key] = value;
      database_->checkpointer().step();
    }
    ASSERT_EQ(after_crash(), expected) << round;
  }
}
#ifdef PALIMPSEST_SYNC_POINTS

// The thread that takes the mark may not run for as long as the log takes to fill.
TEST_F(Checkpoints, AMarkThatTookLongHoldsBackNoLogThatLiesBehindIt) {
  std::vector<txn::TransactionPtr> late;
  {
    const SyncHook hook("engine.checkpoint.started", [&] {
      if (late.empty()) {
        write_up_to(database_->log().replay_bytes() + database_->log().capacity_bytes() / 2);
        late = begin_changes('l');
      }
    });
    database_->checkpointer().run();
    ASSERT_EQ(hook.hits(), 1U);
  }
  database_->checkpointer().run();
  EXPECT_LE(database_->log().replay_bytes(), kHeldBack);
  EXPECT_EQ(database_->checkpointer().statistics().cancelled, 0U);
  for (const auto& transaction : late) {
    transaction->commit();
  }
}

// Recovery skips what a mark counts as before it, which is more than the records that precede it.
TEST_F(CheckpointsByAge, WhatIsAppendedWhileAMarkIsTakenIsWrittenWithWhatLiesBeforeIt) {
  const std::string far = key_of(kOpen + kRecords - 1);  // on a page that nothing else changes
  const std::string value(200, 'x');
  {
    bool done = false;
    const SyncHook hook("engine.checkpoint.started", [&] {
      if (!std::exchange(done, true)) {
        const auto by = database_->begin();
        EXPECT_TRUE(by->update(records(), far, value).existed);
        by->commit();
      }
    });
    grow(bound() / 7, 1);
    ASSERT_EQ(hook.hits(), 1U);
  }
  const std::uint64_t cycles = statistics().cycles;
  for (int cycle = 1; cycle <= 8; ++cycle) {
    while (statistics().cycles < cycles + static_cast<std::uint64_t>(cycle)) {
      grow(1, 1);
    }
    ASSERT_EQ(after_crash().at(far), value) << cycle;
  }
}

// The cycle is so late that after the next one replay starts at its mark, before most pages are
// due: their age has them written.
TEST_F(CheckpointsByAge, WhatIsAppendedWhileAMarkIsTakenIsWrittenHoweverLateTheCycleIs) {
  const std::uint64_t stride = bound() / 8;
  const auto end = [&] { return database_->log().end_position(); };
  grow(2 * bound(), 1);
  std::uint64_t mark = 0;
  const std::uint64_t cycles = statistics().cycles;
  {
    const SyncHook hook("engine.checkpoint.started", [&] {
      mark = end();
      commit(kRecords, 'y');
    });
    while (hook.hits() == 0) {
      commit(1, 'a');
      database_->checkpointer().step();
    }
  }
  while (end() < mark + stride * 11 / 2) {
    commit(1, 'b');
  }
  while (end() - database_->log().replay_bytes() + stride / 2 < mark) {
    commit(1, 'c');
    make_due_steps();
  }
  ASSERT_LE(statistics().cycles, cycles + 3);
  const Content found = after_crash();
  for (int i = kOpen + 1; i < kOpen + kRecords; ++i) {
    ASSERT_EQ(found.at(key_of(i)), std::string(200, 'y')) << i;
  }
}

#endif

}  // namespace
}  // namespace palimpsest::engine::test
