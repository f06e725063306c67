// The sweep after bulks beside unreadable pages: it goes on with everything else, reports once what
// it could not do, rests, and ends when the damaged table is dropped. And the maximum number of
// bulks beside one old snapshot.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "btree/leaf_walk.h"
#include "btree/unreadable_leaf.h"
#include "buffer/page_header.h"
#include "tests/bulk/bulk_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/log_recorder.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::eventually;
using palimpsest::test::LogRecorder;
using palimpsest::test::RecordedMessage;
using txn::Isolation;

constexpr std::size_t kPageBytes = 4096;
constexpr int kRows = 60;
constexpr std::size_t kBodyBytes = 1000;

EngineOptions sweep_options() {
  EngineOptions options = bulk_options();
  options.log_bytes_max = 64 * wal::kSegmentBytesMin;
  return options;
}

class BulkSweepTest : public BulkRows {
 protected:
  explicit BulkSweepTest(const EngineOptions& options = sweep_options()) : BulkRows(options) {
    options_.log = recorder_.function();
  }

  /// A table of many leaves, all of which a rolled-back bulk has changed; then damages one of these
  /// leaves and opens the database.
  void damage_a_table() {
    make("damaged");
    fill(std::string(kBodyBytes, 'd'));
    roll_back_changes_of(0, kRows, std::string(kBodyBytes, 'd'));
    database_.reset();
    damage_leaf();
    open();
  }
  void make(const std::string& name) {
    const auto by = begin(Isolation::read_committed);
    ASSERT_TRUE(database_->tables().create_table(*by, people(name)));
    by->commit();
    use(name);
  }
  void fill(const std::string& body) {
    const auto by = begin(Isolation::read_committed);
    for (int id = 0; id < kRows; ++id) {
      ASSERT_TRUE(insert(*by, id, 0, body));
    }
    by->commit();
  }
  void roll_back_changes_of(int first, int last, const std::string& body) {
    InBulk bulk(*database_, Isolation::read_committed);
    for (int id = first; id < last; ++id) {
      ASSERT_TRUE(update(bulk, id, 1, body));
    }
    bulk.in->rollback();
  }
  void damage_leaf() {
    const std::vector<std::byte> file = disk_.contents(buffer::kPageFileName);
    std::vector<std::uint64_t> leaves;  // in place, not in the ring
    for (std::size_t at = 0; at + kPageBytes <= file.size(); at += kPageBytes) {
      const ConstBytes page = ConstBytes(file).subspan(at, kPageBytes);
      const buffer::PageHeader header = buffer::header_of(page);
      if (header.type == buffer::PageType::tree_leaf && raw(header.page_id) == at / kPageBytes &&
          std::ranges::count(page, std::byte{'d'}) > 900) {
        leaves.push_back(at);
      }
    }
    ASSERT_GT(leaves.size(), 4U);
    const std::byte other{0x55};
    disk_.overwrite(buffer::kPageFileName, leaves[leaves.size() / 2] + kPageBytes / 2, {&other, 1});
  }
  /// Of the tested table: the number of readable leaves, and of those in which a bulk has left
  /// something.
  struct Leaves {
    std::size_t readable = 0;
    std::size_t of_bulks = 0;
    std::size_t passed = 0;
  };
  [[nodiscard]] Leaves leaves() {
    Leaves leaves;
    const btree::Descent& descent = table().visible_to(nullptr)->rows->descent();
    std::optional<std::string> from = std::string();
    while (from) {
      try {
        btree::LeafWalk walk(descent, {.lower = *from, .upper = std::nullopt},
                             btree::Direction::forward);
        while (walk.next()) {
          ++leaves.readable;
          leaves.of_bulks += walk.leaf().bulk_epoch() != kNoEpoch ? 1U : 0U;
          from = std::string(walk.leaf().upper_fence());
        }
        from = std::nullopt;
      } catch (const Error&) {
        ++leaves.passed;
        from = btree::key_behind_leaf(descent, *from);
      }
    }
    return leaves;
  }

  /// What was reported of bulks that cannot be undone.
  [[nodiscard]] std::vector<RecordedMessage> told() const {
    return recorder_.of("bulk", "cannot be undone on all pages");
  }

  LogRecorder recorder_;
};

TEST_F(BulkSweepTest, ADamagedPageBlocksNeitherOtherTablesNorItsOwn) {
  damage_a_table();
  sweep();
  const Leaves left = leaves();
  EXPECT_EQ(left.passed, 1U);
  EXPECT_GT(left.readable, 10U);
  EXPECT_EQ(left.of_bulks, 0U) << "behind the damaged page, too";
  EXPECT_EQ(database_->bulk_ledger().aborted(), 1U);
  EXPECT_EQ(database_->bulk_sweep().held(), 1U);

  make("sound");
  fill("body");
  for (int round = 0; round < 300; ++round) {
    roll_back_changes_of(round % kRows, round % kRows + 1, "changed");
    sweep();
    ASSERT_EQ(database_->bulk_ledger().aborted(), 1U) << round;
  }
  EXPECT_EQ(told().size(), 1U);
  EXPECT_EQ(told().front().level, LogLevel::warning);
  EXPECT_EQ(told().front().field("tables"), "table \"damaged\"");
  EXPECT_THAT(told().front().field("cause"), ::testing::HasSubstr("page "));
  EXPECT_TRUE(told().front().number("bulk"));

  const auto by = begin(Isolation::read_committed);
  ASSERT_TRUE(database_->tables().drop_table(*by, "damaged"));
  by->commit();
  EXPECT_EQ(recorder_.count("bulk", "is undone now"), 0U);
  sweep();
  EXPECT_EQ(database_->bulk_ledger().aborted(), 0U);
  EXPECT_EQ(database_->bulk_sweep().held(), 0U);
  EXPECT_TRUE(database_->bulk_epochs().is_empty());
  EXPECT_EQ(recorder_.count("bulk", "is undone now"), 1U);
}

#ifdef PALIMPSEST_SYNC_POINTS

TEST_F(BulkSweepTest, WhatHoldsIsToldOnceAndTriedLaterAndLater) {
  options_.sweep_pause = std::chrono::milliseconds(0);
  damage_a_table();
  const SyncHook held("engine.bulk.held", [] {});
  ASSERT_TRUE(eventually([&] {
    sweep();
    return held.hits() >= 3;
  }));
  EXPECT_EQ(told().size(), 1U);

  options_.sweep_pause = std::chrono::minutes(1);
  database_.reset();
  open();
  const std::uint64_t before = held.hits();
  for (int times = 0; times < 50; ++times) {
    sweep();
  }
  EXPECT_EQ(held.hits(), before + 1) << "it rests";
  EXPECT_EQ(told().size(), 2U) << "once each time it is opened";
}

#endif

TEST_F(BulkSweepTest, ATableThatWasDroppedBeforeACrashHoldsNothing) {
  damage_a_table();
  {
    const auto by = database_->begin(txn::Durability::synchronous, Isolation::read_committed);
    ASSERT_TRUE(database_->tables().drop_table(*by, "damaged"));
    by->commit();
  }
  use("people");
  open_after_crash(disk_.crash(1));
  EXPECT_EQ(database_->bulk_ledger().aborted(), 1U);
  sweep();
  EXPECT_EQ(database_->bulk_ledger().aborted(), 0U);
  EXPECT_TRUE(told().empty());
}

TEST_F(BulkSweepTest, ATableThatHoldsManyRefusesMoreAndOtherTablesDoNot) {
  damage_a_table();
  const auto roll_back_one = [&] {
    InBulk bulk(*database_, Isolation::read_committed);
    const Outcome outcome = update(bulk, 0, 1, "changed");
    bulk.in->rollback();
    return outcome.is_done();
  };
  std::size_t rounds = 0;
  std::optional<ErrorCode> code;
  for (; !code && rounds < 100; ++rounds) {
    code = error_of(roll_back_one, "table \"damaged\"");
    sweep();
  }
  EXPECT_EQ(code, ErrorCode::corruption);
  EXPECT_EQ(rounds, bulk::BulkSweep::kHeldMax);
  make("sound");
  fill("body");
  EXPECT_EQ(error_of(roll_back_one), std::nullopt);
}

class SweptInBackground : public BulkSweepTest {
 protected:
  SweptInBackground() : BulkSweepTest(options()) {}

 private:
  static EngineOptions options() {
    EngineOptions options = sweep_options();
    options.background_threads = true;
    options.background_sweeps = false;  // until there is damage
    options.sweep_pause = std::chrono::minutes(1);
    return options;
  }
};

TEST_F(SweptInBackground, DroppingTheDamagedTableEndsItAtOnce) {
  options_.background_sweeps = true;
  damage_a_table();
  ASSERT_TRUE(eventually([&] { return database_->bulk_sweep().held() == 1; }));
  const auto by = begin(Isolation::read_committed);
  ASSERT_TRUE(database_->tables().drop_table(*by, "damaged"));
  by->commit();
  EXPECT_TRUE(eventually([&] { return database_->bulk_ledger().aborted() == 0; }));
}

// The number of bulks

class ManyBulks : public BulkRows {
 protected:
  static constexpr int kTables = 300;

  void make_tables() {
    for (int number = 0; number < kTables; ++number) {
      const auto by = begin(Isolation::read_committed);
      ASSERT_TRUE(database_->tables().create_table(*by, people(name_of_table(number))));
      by->commit();
      use(name_of_table(number));
      const auto filling = begin(Isolation::read_committed);
      ASSERT_TRUE(insert(*filling, 1, 0));
      filling->commit();
      make_log_space();
    }
  }
  [[nodiscard]] static std::string name_of_table(int number) { return fmt::format("t{}", number); }
};

TEST_F(ManyBulks, OfManyTablesBesideOneOldSnapshot) {
  make_tables();
  const std::uint64_t memory = database_->entries().bytes_in_use();
  auto reader = begin();
  for (int number = 0; number < kTables; ++number) {
    use(name_of_table(number));
    InBulk bulk(*database_, Isolation::read_committed, txn::Durability::asynchronous);
    ASSERT_TRUE(update(bulk, 1, 1)) << number;
    bulk.commit();
    make_log_space();
  }
  EXPECT_EQ(database_->bulk_epochs().count(), static_cast<std::size_t>(kTables));
  EXPECT_GE(database_->entries().bytes_in_use(), memory + kTables * 100U) << "it counts";
  for (int number = 0; number < kTables; ++number) {
    use(name_of_table(number));
    ASSERT_EQ(row_of(reader.get(), 1)->name, name_of(1, 0)) << number;
    ASSERT_EQ(row_of(nullptr, 1)->name, name_of(1, 1)) << number;
  }
  reader.reset();
  sweep();
  EXPECT_TRUE(database_->bulk_epochs().is_empty());
  EXPECT_TRUE(database_->bulk_ledger().is_empty());
  EXPECT_TRUE(sound(*database_));
}

TEST_F(ManyBulks, AsManyAsThereMayBeNameTheOldestReader) {
  const auto filling = begin(Isolation::read_committed);
  ASSERT_TRUE(insert(*filling, 1, 0));
  filling->commit();
  versioning::BulkEpochs& epochs = database_->bulk_epochs();
  std::vector<BulkEpoch> taken;
  for (auto next = epochs.next_free(BulkEpoch{1'000'000}); next;
       next = epochs.next_free(BulkEpoch{raw(*next) + 1})) {
    static_cast<void>(epochs.begin(*next));
    taken.push_back(*next);
  }
  EXPECT_EQ(taken.size(), versioning::BulkEpochs::kPlacesMax);
  const auto reader = begin();
  const auto change = [&] {
    InBulk bulk(*database_, Isolation::read_committed);
    return update(bulk, 1, 1).is_done();
  };
  EXPECT_EQ(error_of(change, fmt::format("slot {}", raw(reader->slot()))),
            ErrorCode::too_many_bulks);
  epochs.forget(taken[taken.size() / 2]);
  EXPECT_EQ(error_of(change), std::nullopt);
  for (const BulkEpoch epoch : taken) {
    epochs.forget(epoch);
  }
}

}  // namespace
}  // namespace palimpsest::engine::test
