// Versions of many records with equal content are folded into spans of their leaves
// (versioning/spans.h): a reader survives appends and erasures beside it, and its view stays the
// same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/sync_point.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/error_of.h"
#include "txn/read_scope.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using txn::Durability;
using txn::Isolation;
using txn::SnapshotUse;

constexpr std::uint64_t kBudget = std::uint64_t{1} << 20U;
/// For buffer pieces that are requested when the budget is nearly full, and for claims, which have
/// no bound.
constexpr std::uint64_t kSlack = kBudget / 4;
/// The minimum size of a row's version and entry.
constexpr std::uint64_t kBytesUnfolded = 112;

std::string key_of(std::uint64_t number) {
  return fmt::format("key{:010}", number);
}

class Folding : public ::testing::Test {
 public:
  ~Folding() override {
    database_->transactions().prune_tables([] { return false; });
    EXPECT_TRUE(sound(*database_));
    database_->close();
  }

 protected:
  Folding() : device_(disk_.device()) {
    EngineOptions options = small_options();
    options.version_bytes_max = kBudget;
    options.log_bytes_max = 64 * wal::kSegmentBytesMin;
    database_ = Engine::open(*device_, *device_, options);
    tree_ = database_->make_tree("tree");
    other_ = database_->make_tree("other");
    const auto transaction = begin(SnapshotUse::reads_and_writes, Isolation::none);
    for (std::uint64_t number = 0; number < 8 * database_->pool().frame_count(); ++number) {
      EXPECT_FALSE(transaction->insert(*other_, key_of(number), std::string(900, 'o')).existed);
    }
    transaction->commit();
    database_->checkpointer().run();
  }

  [[nodiscard]] txn::TransactionPtr begin(SnapshotUse use = SnapshotUse::reads_and_writes,
                                          Isolation isolation = Isolation::snapshot) {
    return database_->begin(Durability::asynchronous, isolation, use);
  }
  [[nodiscard]] txn::TransactionPtr begin_reader() { return begin(SnapshotUse::reads); }
  [[nodiscard]] std::string read(const txn::TransactionPtr& by, std::uint64_t number) {
    std::string value;
    return txn::lookup(*by, *tree_, key_of(number), value) ? value : "none";
  }
  [[nodiscard]] std::uint64_t count(const txn::TransactionPtr& by) {
    std::uint64_t records = 0;
    btree::Cursor cursor(*tree_, 64, by->read_view());
    for (cursor.seek_first(); cursor.valid(); cursor.next()) {
      ++records;
    }
    return records;
  }
  void insert(std::uint64_t first, std::uint64_t end, ByteView value = "value") {
    const auto transaction = begin();
    for (std::uint64_t number = first; number < end; ++number) {
      const auto outcome = transaction->insert(*tree_, key_of(number), value);
      ASSERT_FALSE(outcome.existed || outcome.conflict) << number;
    }
    transaction->commit();
    look_after_log(end - first);
  }
  void update(std::uint64_t number, ByteView value) {
    const auto transaction = begin();
    ASSERT_TRUE(transaction->update(*tree_, key_of(number), value).existed);
    transaction->commit();
  }
  void erase(std::uint64_t first, std::uint64_t end) {
    const auto transaction = begin();
    for (std::uint64_t number = first; number < end; ++number) {
      ASSERT_TRUE(transaction->remove(*tree_, key_of(number)).existed) << number;
    }
    transaction->commit();
    look_after_log(end - first);
  }
  /// Runs the maintenance of the log and of versions.
  void look_after_log(std::uint64_t changes) {
    changes_ += changes;
    if (changes_ >= 1'000) {
      changes_ = 0;
      database_->checkpointer().run();
    }
  }
  void fold() {
    database_->transactions().prune_tables([] { return false; });
  }
  /// Evicts the leaves of the tree by reading another one.
  void evict_all() {
    database_->checkpointer().run();
    for (int round = 0; round < 2; ++round) {
      btree::Cursor cursor(*other_);
      for (cursor.seek_first(); cursor.valid(); cursor.next()) {
      }
    }
  }
  /// Purges ghosts that no snapshot needs.
  std::size_t purge(std::uint64_t first, std::uint64_t end) {
    std::size_t ghosts = 0;
    const auto transaction = begin();
    for (std::uint64_t number = first; number < end; ++number) {
      static_cast<void>(transaction->write([&](const btree::WriteContext& by) {
        ghosts += tree_->purge_ghosts(
            by, key_of(number), [](const btree::LeafView&, btree::SlotIndex) { return true; });
        return btree::WriteOutcome{};
      }));
    }
    transaction->commit();
    return ghosts;
  }
  [[nodiscard]] std::uint64_t entries() { return database_->entries().entries(); }
  [[nodiscard]] std::uint64_t in_use() { return database_->entries().bytes_in_use(); }
  [[nodiscard]] std::uint64_t cancelled() {
    return database_->transactions().version_memory().cancelled();
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
  btree::BTree* tree_ = nullptr;
  btree::BTree* other_ = nullptr;
  std::uint64_t changes_ = 0;  ///< since the last maintenance of the log
};

TEST_F(Folding, AReaderOutlivesAppendsOfTenTimesItsMemory) {
  constexpr std::uint64_t kBefore = 500;
  constexpr std::uint64_t kAppended = 10 * kBudget / kBytesUnfolded;
  constexpr std::uint64_t kBatch = 20;
  insert(0, kBefore);
  const auto old = begin_reader();
  ASSERT_EQ(count(old), kBefore);
  for (std::uint64_t at = 0; at < kAppended; at += kBatch) {
    ASSERT_NO_FATAL_FAILURE(insert(kBefore + at, kBefore + at + kBatch, std::string(100, 'a')));
    ASSERT_LE(in_use(), kBudget + kSlack);
  }
  EXPECT_EQ(cancelled(), 0U);
  EXPECT_EQ(count(old), kBefore);
  EXPECT_EQ(read(old, kBefore), "none");
  EXPECT_EQ(read(old, kBefore - 1), "value");
  EXPECT_EQ(read(begin(), kBefore + 7), std::string(100, 'a'));
  old->commit();
  fold();
}

TEST_F(Folding, AReaderOutlivesErasuresOfTenTimesItsMemory) {
  constexpr std::uint64_t kErased = 10 * kBudget / kBytesUnfolded;
  constexpr std::uint64_t kBatch = 100;
  for (std::uint64_t at = 0; at < kErased; at += kBatch) {
    ASSERT_NO_FATAL_FAILURE(insert(at, at + kBatch));
  }
  const std::uint64_t rows = (kErased + kBatch - 1) / kBatch * kBatch;
  const auto old = begin_reader();
  for (std::uint64_t at = 0; at < rows; at += kBatch) {
    ASSERT_NO_FATAL_FAILURE(erase(at, at + kBatch));
    ASSERT_LE(in_use(), kBudget + kSlack);
  }
  EXPECT_EQ(cancelled(), 0U);
  EXPECT_EQ(count(begin_reader()), 0U);
  EXPECT_EQ(count(old), rows);
  EXPECT_EQ(read(old, rows / 2), "value");
  EXPECT_EQ(read(begin_reader(), rows / 2), "none");
  old->commit();
}

// A leaf has one object in place of all entries: appends cost little, however long a reader stays.
TEST_F(Folding, ARowThatIsFoldedTakesAFewBytes) {
  constexpr std::uint64_t kRows = 5'000;
  insert(0, 1);
  const auto old = begin_reader();
  for (std::uint64_t at = 1; at <= kRows; at += 50) {
    insert(at, at + 50, std::string(100, 'a'));
  }
  fold();
  EXPECT_LE(entries(), kRows / 20)
      << "those set aside, and of leaves evicted before they were folded";
  EXPECT_LE(in_use(), kRows * 12);
  EXPECT_GE(database_->entries().spans(), 1U);
  evict_all();
  EXPECT_LE(database_->entries().spans(), kRows / 100) << "blocks, and leaves still in memory";
  EXPECT_LE(in_use(), kRows * 12);
  EXPECT_EQ(count(old), 1U);
  EXPECT_EQ(count(begin_reader()), kRows + 1);
  old->commit();
}

// A row of a span is changed, erased, made again: chains end at the mark.
TEST_F(Folding, ChainsEndAtTheMark) {
  insert(0, 40, "before");
  const auto old = begin_reader();
  insert(40, 80, "made");
  fold();
  const auto middle = begin_reader();
  update(50, "changed");
  erase(51, 52);
  erase(3, 4);
  fold();
  insert(51, 52, "again");
  insert(3, 4, "again");
  fold();
  const auto young = begin_reader();
  for (const auto& [by, fifty, fifty_one, three] :
       {std::tuple(&old, "none", "none", "before"), std::tuple(&middle, "made", "made", "before"),
        std::tuple(&young, "changed", "again", "again")}) {
    EXPECT_EQ(read(*by, 50), fifty);
    EXPECT_EQ(read(*by, 51), fifty_one);
    EXPECT_EQ(read(*by, 3), three);
  }
  EXPECT_EQ(count(old), 40U);
  EXPECT_EQ(count(middle), 80U);
  EXPECT_EQ(count(young), 80U);
  const auto undone = begin();
  ASSERT_TRUE(undone->remove(*tree_, key_of(60)).existed);
  ASSERT_TRUE(undone->update(*tree_, key_of(61), "undone").existed);
  undone->rollback();
  fold();
  EXPECT_EQ(read(old, 60), "none");
  EXPECT_EQ(read(old, 61), "none");
  EXPECT_EQ(read(young, 60), "made");
  EXPECT_EQ(read(young, 61), "made");
  for (const auto* by : {&old, &middle, &young}) {
    (*by)->commit();
  }
}

// Two readers, one of which sees half of the new rows, keep the halves apart.
TEST_F(Folding, ASnapshotBetweenKeepsThemApart) {
  insert(0, 1);
  const auto old = begin_reader();
  insert(1, 10);
  const auto middle = begin_reader();
  insert(10, 20);
  fold();
  EXPECT_EQ(count(old), 1U);
  EXPECT_EQ(count(middle), 10U);
  EXPECT_EQ(count(begin_reader()), 20U);
  erase(5, 15);
  fold();
  EXPECT_EQ(count(old), 1U);
  EXPECT_EQ(count(middle), 10U);
  EXPECT_EQ(count(begin_reader()), 10U);
  middle->commit();
  fold();
  EXPECT_EQ(count(old), 1U);
  EXPECT_EQ(count(begin_reader()), 10U);
  old->commit();
}

// Pages that were filled beside a reader share their span when they are not in memory, however many
// there are; pages with a snapshot between them do not.
TEST_F(Folding, PagesFilledBesideAReaderShareABlock) {
  constexpr std::uint64_t kLeaves = 6'000;  // 192 bytes for each would be more than the budget
  constexpr std::uint64_t kRowsOfLeaf = 4;
  constexpr std::uint64_t kRows = kLeaves * kRowsOfLeaf;
  const std::string value(900, 'l');
  const auto append = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t at = from; at < to; at += 10) {
      ASSERT_NO_FATAL_FAILURE(insert(at, at + 10, value));
    }
  };
  insert(0, 10, value);
  const auto old = begin_reader();
  ASSERT_NO_FATAL_FAILURE(append(10, kRows / 2));
  const auto middle = begin_reader();
  ASSERT_NO_FATAL_FAILURE(append(kRows / 2, kRows));
  const auto expect_seen = [&] {
    ASSERT_EQ(count(old), 10U);
    ASSERT_EQ(count(middle), kRows / 2);
    ASSERT_EQ(count(begin_reader()), kRows);
  };
  ASSERT_NO_FATAL_FAILURE(expect_seen());
  evict_all();
  EXPECT_EQ(cancelled(), 0U);
  EXPECT_LE(database_->entries().spans(), 100U);
  EXPECT_LE(in_use(), kLeaves * 32);
  ASSERT_NO_FATAL_FAILURE(expect_seen());
  erase(kRows / 2 - 2, kRows / 2 + 2);  // which has pages in memory again, and changes them
  update(3, "changed");
  EXPECT_EQ(read(old, 3), value);
  EXPECT_EQ(read(old, kRows / 2 - 2), "none");
  EXPECT_EQ(read(middle, kRows / 2 - 2), value);
  EXPECT_EQ(read(middle, kRows / 2), "none");
  evict_all();
  old->commit();
  EXPECT_EQ(count(middle), kRows / 2);
  EXPECT_EQ(count(begin_reader()), kRows - 4);
  evict_all();
  middle->commit();
  database_->transactions().collect_versions();  // which computes the horizon
  fold();
  EXPECT_EQ(database_->entries().spans(), 0U);
  EXPECT_EQ(count(begin_reader()), kRows - 4);
}

// Folded versions follow their records: splits in the middle of a span, evictions, merges.
TEST_F(Folding, FollowsTheRecordsWhereverTheyGo) {
  constexpr std::uint64_t kRows = 1'600;
  for (std::uint64_t number = 0; number < kRows; number += 4) {
    insert(number, number + 1, "before");
  }
  const auto old = begin_reader();
  const std::uint64_t seen = count(old);
  const auto expect_same = [&](const char* when) {
    ASSERT_EQ(count(old), seen) << when;
    for (std::uint64_t number = 0; number < kRows; number += 97) {
      ASSERT_EQ(read(old, number), number % 4 == 0 ? "before" : "none") << when << number;
    }
  };
  for (std::uint64_t rest = 1; rest < 4; ++rest) {  // each splits what was folded before
    for (std::uint64_t number = rest; number < kRows; number += 4) {
      insert(number, number + 1, std::string(100, 'm'));
    }
    ASSERT_NO_FATAL_FAILURE(expect_same("made"));
    fold();
    ASSERT_NO_FATAL_FAILURE(expect_same("folded"));
    evict_all();
    ASSERT_NO_FATAL_FAILURE(expect_same("evicted"));
  }
  for (std::uint64_t number = 0; number < kRows; ++number) {
    if (number % 16 != 0) {
      erase(number, number + 1);
    }
  }
  fold();
  ASSERT_NO_FATAL_FAILURE(expect_same("erased"));
  evict_all();
  ASSERT_NO_FATAL_FAILURE(expect_same("erased and evicted"));
  for (std::uint64_t number = 1; number < kRows; number += 16) {  // purges, and merges
    insert(number, number + 1, std::string(300, 'n'));
    erase(number, number + 1);
  }
  fold();
  ASSERT_NO_FATAL_FAILURE(expect_same("merged"));
  EXPECT_EQ(count(begin_reader()), kRows / 16);
  old->commit();
}

// A span that every snapshot sees is freed, and is distinct from the next span of the leaf.
TEST_F(Folding, AMarkThatIsStaleMeansNothing) {
  insert(0, 1);
  {
    const auto old = begin_reader();
    insert(1, 10);
    fold();
    ASSERT_EQ(database_->entries().spans(), 1U);
    old->commit();
  }
  database_->transactions().collect_versions();  // which computes the horizon
  fold();
  ASSERT_EQ(database_->entries().spans(), 0U);
  const auto old = begin_reader();
  insert(10, 20);
  erase(0, 1);
  fold();
  ASSERT_EQ(database_->entries().spans(), 1U);
  EXPECT_EQ(count(old), 10U);
  EXPECT_EQ(count(begin_reader()), 19U);
  old->commit();
}

// Ghosts that a reader sees by a mark only are not purged before it has ended, and go after that.
TEST_F(Folding, GhostsStayAsLongAsAMarkNeedsThem) {
  constexpr std::uint64_t kRows = 400;
  insert(0, kRows, std::string(50, 'v'));
  const auto old = begin_reader();
  erase(0, kRows);
  fold();
  EXPECT_EQ(purge(0, kRows), 0U);
  EXPECT_EQ(count(old), kRows);
  EXPECT_EQ(read(old, 7), std::string(50, 'v'));
  old->commit();
  EXPECT_EQ(purge(0, kRows), kRows);
  EXPECT_EQ(count(begin_reader()), 0U);
}

// A row that was made and erased beside a reader is unclaimed, although its making was folded.
TEST_F(Folding, RowsThatComeAndGoLeaveNothing) {
  constexpr std::uint64_t kRows = 400;
  insert(0, 10);
  const auto old = begin_reader();
  insert(10, 10 + kRows);
  fold();
  erase(10, 10 + kRows);
  fold();
  EXPECT_EQ(purge(10, 10 + kRows), kRows);
  EXPECT_EQ(count(old), 10U);
  EXPECT_EQ(count(begin_reader()), 10U);
  old->commit();
}

// Versions that a writing transaction needs for conflicts or validation are not folded.
TEST_F(Folding, AWriterStillMeetsConflicts) {
  insert(0, 10);
  const auto reader = begin_reader();
  const auto writer = begin();
  const auto serial = begin(SnapshotUse::reads_and_writes, Isolation::serializable);
  ASSERT_EQ(read(serial, 15), "none");
  insert(10, 20);
  erase(0, 5);
  fold();
  EXPECT_TRUE(writer->insert(*tree_, key_of(15), "mine").conflict);
  EXPECT_TRUE(writer->upsert(*tree_, key_of(2), "mine").conflict);
  writer->rollback();
  ASSERT_TRUE(serial->update(*tree_, key_of(8), "mine").existed);
  EXPECT_EQ(error_of([&] { serial->commit(); }), ErrorCode::not_serializable);
  reader->commit();
}

// A writer that leaves no versions must not reuse a record whose mark says that it is needed.
TEST_F(Folding, WithoutVersionsARemovedRowIsNotMadeAgain) {
  insert(0, 10, "before");
  const auto old = begin_reader();
  erase(3, 4);
  fold();
  {
    const auto none = begin(SnapshotUse::reads_and_writes, Isolation::none);
    EXPECT_TRUE(none->upsert(*tree_, key_of(3), "none").conflict);
    none->rollback();
  }
  EXPECT_EQ(read(old, 3), "before");
  old->commit();
  const auto none = begin(SnapshotUse::reads_and_writes, Isolation::none);
  EXPECT_FALSE(none->upsert(*tree_, key_of(3), "none").conflict);
  none->commit();
}

// When spans alone fill the memory, the reader is cancelled, and writers go on. The leaves have old
// rows, too, so each has a span of its own.
TEST_F(Folding, WhatHoldsTooManySpansIsCancelled) {
  constexpr std::uint64_t kOldRows = 40'000;
  constexpr std::uint64_t kEvery = 10;
  const std::string value(900, 'l');  // four rows a leaf
  for (std::uint64_t number = 0; number < kOldRows; number += 10) {
    const auto transaction = begin();
    for (std::uint64_t at = number; at < number + 10; ++at) {
      ASSERT_FALSE(transaction->insert(*tree_, key_of(at * kEvery), value).conflict);
    }
    transaction->commit();
    look_after_log(100);  // the inserts log much
  }
  const auto old = begin_reader();
  std::uint64_t made = 0;
  for (; cancelled() == 0 && made < kOldRows; ++made) {
    ASSERT_NO_FATAL_FAILURE(insert(made * kEvery + 5, made * kEvery + 6, "new"));
    look_after_log(4);
  }
  EXPECT_EQ(cancelled(), 1U) << in_use() << ' ' << database_->entries().spans();
  EXPECT_GE(made, 4'000U);
  EXPECT_EQ(error_of([&] { static_cast<void>(read(old, 0)); }), ErrorCode::snapshot_too_old);
  old->rollback();
  EXPECT_EQ(count(begin_reader()), kOldRows + made);
}

#ifdef PALIMPSEST_SYNC_POINTS

// A snapshot that is being taken counts from its lower bound on; one that is taken later is above
// all folded versions.
TEST_F(Folding, ASnapshotThatIsBeingTakenCounts) {
  insert(0, 1);
  const auto old = begin_reader();
  for (const char* const step : {"versioning.snapshot.marked", "versioning.snapshot.read"}) {
    SCOPED_TRACE(step);
    const std::uint64_t before = count(begin_reader());
    insert(before, before + 3);
    int calls = 0;
    txn::TransactionPtr reader;
    {
      const SyncHook taking(step, [&] {
        if (calls++ == 0) {
          insert(before + 3, before + 5);
          fold();
        }
      });
      reader = begin_reader();
    }
    ASSERT_GE(calls, 1);
    const bool has_read = std::string_view(step).ends_with("read");
    insert(before + 5, before + 7);
    fold();
    EXPECT_EQ(count(reader), before + (has_read ? 3 : 5));
    EXPECT_EQ(count(old), 1U);
    reader->commit();
  }
  old->commit();
}

#endif

}  // namespace
}  // namespace palimpsest::engine::test
