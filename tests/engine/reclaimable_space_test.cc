// A disk full of space that no snapshot needs any more: erased rows make space for new ones.
#include "engine/reclaimable_space.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "base/sync_point.h"
#include "buffer/page_header.h"
#include "engine/api/bulk_rows.h"
#include "engine/table/table_writer.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/table/row_statements.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/thread_group.h"

namespace palimpsest::engine::test {
namespace {

using namespace palimpsest::types;
using palimpsest::test::error_of;
using palimpsest::test::run_threads;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using palimpsest::test::SimOptions;
using txn::Durability;
using txn::Isolation;

constexpr std::uint64_t kDiskBytes = std::uint64_t{8} << 20U;
constexpr std::size_t kLargeBytes = std::size_t{256} << 10U;
constexpr std::size_t kSmallBytes = 800;
constexpr int kTooMany = 100'000;
constexpr std::size_t kPageBytes = 4096;

class ReclaimableSpaceTest : public ::testing::Test {
 protected:
  ReclaimableSpaceTest() : log_device_(log_disk_.device()) {
    open();
    make("large");
    make("small");
  }
  void TearDown() override {
    database_->transactions().free_deferred();
    if (!is_damaged_) {
      EXPECT_TRUE(sound(*database_));
    }
  }

  void open() {
    database_.reset();
    device_ = disk_.device();
    EngineOptions options = small_options();
    options.memory_bytes = std::uint64_t{4} << 20U;
    options.log_bytes_max = 256 * wal::kSegmentBytesMin;
    database_ = Engine::open(*device_, *log_device_, options);
  }
  void make(const std::string& name) {
    const auto by = begin(Isolation::read_committed);
    ASSERT_TRUE(database_->tables().create_table(
        *by,
        {.name = name, .columns = {{"id", int32()}, {"text", varchar(1 << 20)}}, .key = {"id"}}));
    by->commit();
  }
  [[nodiscard]] txn::TransactionPtr begin(Isolation isolation = Isolation::snapshot) {
    return database_->begin(durability_, isolation);
  }
  [[nodiscard]] TablePtr table(const std::string& name) {
    return database_->tables().find(name, nullptr);
  }
  Outcome put(int id, Isolation isolation = Isolation::snapshot, std::size_t bytes = kLargeBytes,
              const std::string& name = "large") {
    make_log_space();
    const auto by = begin(isolation);
    const std::string text(bytes, 't');
    const Outcome outcome = RowStatements(*by, *table(name)).upsert({id, text});
    by->commit();
    return outcome;
  }
  void erase(int id, Isolation isolation = Isolation::snapshot, const std::string& name = "large") {
    make_log_space();
    const auto by = begin(isolation);
    ASSERT_TRUE(RowStatements(*by, *table(name)).erase({id}));
    by->commit();
  }
  /// All at once: none of them is purged while another one is erased.
  void erase_all(int rows) {
    const auto by = begin();
    for (int id = 0; id < rows; ++id) {
      ASSERT_TRUE(RowStatements(*by, *table("large")).erase({id}));
    }
    by->commit();
  }
  void make_log_space() {
    while (database_->checkpointer().step()) {
    }
  }
  /// Puts rows from 0 on until the disk is full; returns their number.
  [[nodiscard]] int fill(Isolation isolation = Isolation::snapshot, std::size_t bytes = kLargeBytes,
                         const std::string& name = "large") {
    for (int id = 0; id < kTooMany; ++id) {
      const auto failed = error_of([&] { return put(id, isolation, bytes, name); });
      if (failed) {
        EXPECT_EQ(failed, ErrorCode::no_space);
        return id;
      }
    }
    ADD_FAILURE() << "the disk has no end";
    return kTooMany;
  }
  /// Puts and erases large rows: the space they take is that of a few more.
  void expect_no_growth(Isolation isolation) {
    constexpr int kRows = 8;
    constexpr int kMore = 4;
    const std::uint64_t before = database_->space().counts().allocated;
    std::vector<int> ids;
    for (int id = 1; id <= kRows; ++id) {
      ids.push_back(id);
      ASSERT_TRUE(put(id, isolation));
    }
    Random random(1);
    for (int turn = 0; turn < 200; ++turn) {
      int& id = ids[random.below(kRows)];
      erase(id, isolation);
      id = turn * 500 + 1 + static_cast<int>(random.below(499));
      ASSERT_TRUE(put(id, isolation));
      EXPECT_LE(database_->space().counts().allocated - before,
                (kRows + kMore) * (kLargeBytes / 4096 + 2))
          << turn;
    }
  }
  [[nodiscard]] std::optional<ErrorCode> error_of_put(int id) {
    return error_of([&] { return put(id); });
  }
  /// A full disk whose dead space no cache in memory lists.
  void fill_and_forget() {
    make("other");
    const int rows = fill();
    // the rest of the space, too
    static_cast<void>(fill(Isolation::snapshot, kSmallBytes, "other"));
    erase_all(rows);
    database_->close();
    open();
  }
  /// Runs the change as a bulk.
  void change(const std::function<void(Bulk& bulk)>& work) {
    make_log_space();
    const auto by = begin();
    Bulk bulk(database_->transactions(), database_->tables(), *by);
    work(bulk);
    bulk.publish();
    by->commit();
  }
  /// Damages a leaf of small rows of a database that is not open.
  void damage_leaf_of_small_rows() {
    database_.reset();
    const std::vector<std::byte> file = disk_.contents(buffer::kPageFileName);
    std::vector<std::uint64_t> leaves;
    for (std::size_t at = 0; at + kPageBytes <= file.size(); at += kPageBytes) {
      const ConstBytes page = ConstBytes(file).subspan(at, kPageBytes);
      if (buffer::header_of(page).type == buffer::PageType::tree_leaf &&
          std::ranges::count(page, std::byte{'t'}) > 2000) {
        leaves.push_back(at);
      }
    }
    ASSERT_GT(leaves.size(), 2U);
    const std::byte other{0x55};
    disk_.overwrite(buffer::kPageFileName, leaves[leaves.size() / 2] + kPageBytes / 2, {&other, 1});
    is_damaged_ = true;
  }

  Durability durability_ = Durability::asynchronous;
  bool is_damaged_ = false;
  SimDisk log_disk_;
  SimDisk disk_{SimOptions{.capacity_bytes = kDiskBytes, .reorder_completions = false}};
  std::unique_ptr<io::Device> log_device_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
};

class ReclaimableSpaceAtLevels : public ReclaimableSpaceTest,
                                 public ::testing::WithParamInterface<Isolation> {};
INSTANTIATE_TEST_SUITE_P(, ReclaimableSpaceAtLevels,
                         ::testing::Values(Isolation::none, Isolation::read_committed,
                                           Isolation::snapshot));

// All rows are erased, and as many inserted again, any number of times.
TEST_P(ReclaimableSpaceAtLevels, OfErasedLargeRowsIsUsedAgain) {
  const int rows = fill(GetParam());
  ASSERT_GT(rows, 10);
  for (int turn = 0; turn < 5; ++turn) {
    for (int id = 0; id < rows; ++id) {
      erase(id, GetParam());
    }
    for (int id = 0; id < rows; ++id) {
      ASSERT_EQ(error_of([&] { return put(id, GetParam()); }), std::nullopt) << turn << " " << id;
    }
  }
}

// After opening, no cache in memory knows where ghosts lie.
TEST_P(ReclaimableSpaceAtLevels, IsFoundAfterOpening) {
  const int rows = fill(GetParam());
  for (int id = 0; id < rows; ++id) {
    erase(id, GetParam());
  }
  database_->close();
  open();
  for (int id = 0; id < rows; ++id) {
    ASSERT_EQ(error_of([&] { return put(kTooMany + id, GetParam()); }), std::nullopt) << id;
  }
}

TEST_F(ReclaimableSpaceTest, OfLargeRowsIsForSmallOnesOfAnotherTable) {
  const int rows = fill();
  static_cast<void>(fill(Isolation::snapshot, kSmallBytes, "small"));  // the rest of the space, too
  erase_all(rows);
  database_->close();
  open();
  for (int id = 0; id < 1000; ++id) {
    ASSERT_EQ(
        error_of([&] { return put(kTooMany + id, Isolation::snapshot, kSmallBytes, "small"); }),
        std::nullopt)
        << id;
  }
}

TEST_F(ReclaimableSpaceTest, OfSmallRowsIsForLargeOnes) {
  const int rows = fill(Isolation::snapshot, kSmallBytes, "small");
  for (int id = 0; id < rows; ++id) {
    erase(id, Isolation::snapshot, "small");
  }
  database_->close();
  open();
  for (int id = 0; id < 10; ++id) {
    ASSERT_EQ(error_of_put(id), std::nullopt) << id;
  }
}

// The space is not dead before the reader ends.
TEST_F(ReclaimableSpaceTest, IsReusedOnceNoSnapshotSeesIt) {
  const int rows = fill();
  const auto reader = begin();
  erase_all(rows);
  EXPECT_EQ(error_of_put(0), ErrorCode::no_space);
  reader->rollback();
  std::thread([&] { EXPECT_EQ(error_of_put(0), std::nullopt); }).join();  // with another slot
}

// A transaction that has computed the horizon before, for another change, computes it again.
TEST_F(ReclaimableSpaceTest, IsReusedOnceNoSnapshotSeesItByATransactionThatLookedBefore) {
  for (int id = 0; id < 10; ++id) {
    ASSERT_TRUE(put(id, Isolation::snapshot, kSmallBytes, "small"));
  }
  const int rows = fill();
  const auto reader = begin();
  erase_all(rows);
  std::thread([&] {
    const auto by = begin(Isolation::read_committed);
    for (int id = 0; id < 10; ++id) {  // purges, or would
      ASSERT_TRUE(RowStatements(*by, *table("small")).erase({id}));
    }
    const std::string text(kLargeBytes, 't');
    const auto insert = [&] {
      return RowStatements(*by, *table("large")).insert({kTooMany, text});
    };
    EXPECT_EQ(error_of(insert), ErrorCode::no_space);
    reader->rollback();
    EXPECT_EQ(error_of(insert), std::nullopt);
    by->commit();
  }).join();
}

// The search skips an unreadable table, which is an error only for its readers, and finds dead
// space in the others.
TEST_F(ReclaimableSpaceTest, OfOtherTablesIsFoundBesideADamagedPage) {
  make("a before");
  for (int id = 0; id < 100; ++id) {
    ASSERT_TRUE(put(id, Isolation::snapshot, kSmallBytes, "a before"));
  }
  fill_and_forget();
  database_->close();
  damage_leaf_of_small_rows();
  open();
  for (int id = 0; id < 10; ++id) {
    EXPECT_EQ(error_of_put(kTooMany + id), std::nullopt) << id;
  }
}

TEST_F(ReclaimableSpaceTest, IsNotThereWhereNothingCanBeRead) {
  for (int id = 0; id < 2000; ++id) {
    ASSERT_TRUE(put(id, Isolation::snapshot, kSmallBytes, "small"));
  }
  static_cast<void>(fill());
  database_->close();
  open();
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::read),
                .file = std::string(buffer::kPageFileName),
                .nth = 20,
                .for_good = true});
  EXPECT_EQ(error_of_put(kTooMany), ErrorCode::no_space);
  disk_.clear_faults();
}

// Only its leaves list what bulks have deleted and replaced; after opening nothing else does.
TEST_F(ReclaimableSpaceTest, IsWhatBulksHaveErased) {
  for (const bool is_opened : {false, true}) {
    const int rows = fill();
    change(
        [&](Bulk& bulk) { ASSERT_TRUE(bulk.erase_range(*table("large"), Range::all()).outcome); });
    if (is_opened) {
      database_->close();
      open();
    }
    // no earlier transaction has looked with a snapshot that sees the bulk
    const auto at_once = [&] {
      const auto by = begin();
      const std::string text(kLargeBytes, 't');
      ASSERT_TRUE(RowStatements(*by, *table("large")).insert({0, text}));
      by->commit();
    };
    ASSERT_EQ(error_of(at_once), std::nullopt) << is_opened;
    for (int id = 1; id < rows; ++id) {
      ASSERT_EQ(error_of_put(id), std::nullopt) << is_opened << " " << id;
    }
  }
}

TEST_F(ReclaimableSpaceTest, IsWhatBulksHaveReplaced) {
  for (const bool is_opened : {false, true}) {
    const int rows = fill();
    change([&](Bulk& bulk) {
      for (int id = 0; id < rows; ++id) {
        ASSERT_TRUE(bulk.write(*table("large"), [&](const TableWriter& writes) {
          return writes.update({id}, {{"text", std::string_view("short")}});
        }));
      }
    });
    if (is_opened) {
      database_->close();
      open();
    }
    for (int id = 0; id < rows; ++id) {
      ASSERT_EQ(error_of_put(id), std::nullopt) << is_opened << " " << id;
    }
  }
}

// Rows that a bulk deleted are not dead before it has committed, nor for older snapshots.
TEST_F(ReclaimableSpaceTest, IsNotWhatABulkMayBringBack) {
  const int rows = fill();
  const auto reader = begin();
  {
    const auto by = begin();
    Bulk bulk(database_->transactions(), database_->tables(), *by);
    ASSERT_TRUE(bulk.erase_range(*table("large"), Range::all()).outcome);
    EXPECT_EQ(error_of([&] { return put(0, Isolation::snapshot, kLargeBytes, "small"); }),
              ErrorCode::no_space);
    bulk.let_go();
    by->rollback();
  }
  EXPECT_EQ(error_of([&] { return put(0, Isolation::snapshot, kLargeBytes, "small"); }),
            ErrorCode::no_space);
  change([&](Bulk& bulk) { ASSERT_TRUE(bulk.erase_range(*table("large"), Range::all()).outcome); });
  EXPECT_EQ(error_of([&] { return put(0, Isolation::snapshot, kLargeBytes, "small"); }),
            ErrorCode::no_space);
  reader->rollback();
  for (int id = 0; id < rows; ++id) {
    EXPECT_EQ(error_of([&] { return put(id, Isolation::snapshot, kLargeBytes, "small"); }),
              std::nullopt);
  }
}

// Leaves that a bulk appends, and roots, take pages, too.
TEST_F(ReclaimableSpaceTest, IsForRowsThatABulkAppends) {
  fill_and_forget();
  const std::string text(kSmallBytes, 'b');
  change([&](Bulk& bulk) {
    for (int id = 0; id < 5000; ++id) {
      ASSERT_TRUE(bulk.insert(*table("small"), {id, text}));
    }
  });
}

TEST_F(ReclaimableSpaceTest, IsForIndexes) {
  for (int id = 0; id < 2000; ++id) {
    ASSERT_TRUE(put(id, Isolation::snapshot, 200, "small"));
  }
  fill_and_forget();
  const auto by = begin(Isolation::read_committed);
  ASSERT_TRUE(database_->tables().create_index(
      *by, "small", {.name = "by text", .columns = {"text"}, .unique = false}));
  by->commit();
}

TEST_F(ReclaimableSpaceTest, IsForTables) {
  fill_and_forget();
  for (int number = 0; number < 20; ++number) {
    make(fmt::format("table {}", number));
  }
}

#ifdef PALIMPSEST_SYNC_POINTS
// A transaction that searches for dead space, or waits for another's search, holds back the log;
// when the log is needed, both are cancelled.
TEST_F(ReclaimableSpaceTest, IsNotLookedForByATransactionThatIsToEnd) {
  for (int id = 0; id < 3000; ++id) {
    ASSERT_TRUE(put(id, Isolation::snapshot, kSmallBytes, "small"));
  }
  static_cast<void>(fill());
  database_->close();
  open();
  std::atomic<std::thread::id> looks_first;
  std::atomic<bool> stands{false};
  std::atomic<bool> may_go_on{false};
  const SyncHook in_the_walk("buffer.fault.inserted", [&] {
    if (std::this_thread::get_id() == looks_first.load() && !stands.exchange(true)) {
      EXPECT_TRUE(palimpsest::test::eventually([&] { return may_go_on.load(); }));
    }
  });
  const auto error_of_look = [&](txn::Transaction& by) {
    const std::string text(kLargeBytes, 't');
    return error_of([&] { return RowStatements(by, *table("large")).insert({kTooMany, text}); });
  };
  const auto cancel_all = [&] {
    database_->transactions().cancel_older_than(database_->transactions().now());
  };
  const auto waits = begin(Isolation::read_committed);
  ASSERT_TRUE(
      RowStatements(*waits, *table("small")).update({1}, {{"text", std::string_view("o")}}));
  std::thread first([&] {
    const auto by = begin(Isolation::read_committed);
    looks_first = std::this_thread::get_id();
    EXPECT_EQ(error_of_look(*by), ErrorCode::transaction_too_old);
  });
  EXPECT_TRUE(palimpsest::test::eventually([&] { return stands.load(); }));
  {
    const SyncHook awaited("engine.reclaimable_space.awaited", cancel_all);
    EXPECT_EQ(error_of_look(*waits), ErrorCode::transaction_too_old);
    EXPECT_NE(awaited.hits(), 0U);
  }
  may_go_on = true;
  first.join();
}
#endif

// Commits free replaced values, but need not be durable yet.
TEST_F(ReclaimableSpaceTest, OfReplacedValuesIsWaitedFor) {
  const int rows = fill();
  for (int id = 0; id < rows; ++id) {
    ASSERT_TRUE(put(id, Isolation::snapshot, 10));
  }
  for (int id = 0; id < rows; ++id) {
    ASSERT_EQ(error_of_put(id), std::nullopt) << id;
  }
}

// A search ends when there is enough space: one row does not make it visit all leaves.
TEST_F(ReclaimableSpaceTest, IsTakenAsItIsNeeded) {
  constexpr int kRows = 20;
  const auto id_of = [](int row) { return 100 * row + 50; };
  for (int row = 0; row < kRows; ++row) {
    ASSERT_TRUE(put(id_of(row)));
    for (int beside = 0; beside < 10; ++beside) {  // so that each is in another leaf
      ASSERT_TRUE(put(100 * row + beside, Isolation::snapshot, kSmallBytes));
    }
  }
  static_cast<void>(fill(Isolation::snapshot, kSmallBytes, "small"));
  {
    const auto by = begin();
    for (int row = 0; row < kRows; ++row) {
      ASSERT_TRUE(RowStatements(*by, *table("large")).erase({id_of(row)}));
    }
    by->commit();
  }
  database_->close();
  open();
  ASSERT_EQ(error_of_put(kTooMany), std::nullopt);
  database_->log().wait_durable(database_->transactions().now());
  database_->space().complete_frees();
  EXPECT_LT(database_->space().counts().free, 8 * kLargeBytes / 4096);
  for (int row = 1; row < kRows; ++row) {
    ASSERT_EQ(error_of_put(kTooMany + row), std::nullopt) << row;
  }
}

// After a long search in vain there is a pause, unless a transaction removes something first.
TEST_F(ReclaimableSpaceTest, IsLookedForAgainWhenRecordsAreRemoved) {
  database_.reset();
  disk_ = SimDisk({.capacity_bytes = 6 * kDiskBytes, .reorder_completions = false});
  log_disk_ = SimDisk();
  log_device_ = log_disk_.device();
  open();
  make("large");
  make("small");
  for (int id = 0; id < 40'000; ++id) {  // more than a search repeats at once
    ASSERT_TRUE(put(id, Isolation::snapshot, kSmallBytes, "small"));
  }
  int next = 0;
  for (int turn = 0; turn < 3; ++turn) {
    while (!error_of_put(next)) {
      ++next;
    }
    {
      const auto by = begin();
      for (int id = 1000 * turn; id < 1000 * (turn + 1); ++id) {
        ASSERT_TRUE(RowStatements(*by, *table("small")).erase({id}));
      }
      by->commit();
    }
    EXPECT_EQ(error_of_put(next), std::nullopt) << turn;
  }
}

// The tree of a table that was dropped is emptied in the background, a few records at a time.
TEST_F(ReclaimableSpaceTest, OfADroppedTableIsWaitedFor) {
  const int rows = fill(Isolation::snapshot, kSmallBytes, "small");
  const auto by = begin(Isolation::read_committed);
  ASSERT_TRUE(database_->tables().drop_table(*by, "small"));
  by->commit();
  database_->tree_pool().start();
  for (int id = 0; id < rows / 2; ++id) {
    ASSERT_EQ(error_of([&] { return put(id, Isolation::snapshot, kSmallBytes); }), std::nullopt)
        << id;
  }
  database_->tree_pool().stop();
}

TEST_F(ReclaimableSpaceTest, OfLargeRowsDoesNotGrow) {
  durability_ = Durability::synchronous;  // pages are freed when that is durable
  for (int between = 0; between < kTooMany; between += 500) {  // each in another leaf
    ASSERT_TRUE(put(between, Isolation::snapshot, kSmallBytes));
  }
  expect_no_growth(Isolation::snapshot);
}

// Without versions no hint names the leaf; but the next removal from a leaf purges its older
// ghosts.
TEST_F(ReclaimableSpaceTest, OfLargeRowsOfOneLeafDoesNotGrow) {
  durability_ = Durability::synchronous;
  expect_no_growth(Isolation::none);
}

// Some writes are refused because the other threads have not erased enough yet; no thread waits
// forever, and no page is lost or allocated twice.
TEST_F(ReclaimableSpaceTest, IsSharedByThreads) {
  static_cast<void>(fill());
  std::atomic<int> done{0};
  run_threads(4, [&](std::size_t number) {
    Random random(number);
    for (int turn = 0; turn < 60; ++turn) {
      const int id = static_cast<int>(random.below(32));
      try {
        make_log_space();
        const auto by = begin();
        const RowStatements writes(*by, *table("large"));
        const std::string text(kLargeBytes, 't');
        const Outcome outcome =
            random.below(2) == 0 ? writes.erase({id}) : writes.insert({id, text});
        outcome.is_done() ? static_cast<void>(by->commit()) : by->rollback();
        done += outcome.is_done() ? 1 : 0;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::no_space) << error.what();
      }
    }
  });
  EXPECT_GT(done.load(), 20);
}

}  // namespace
}  // namespace palimpsest::engine::test
