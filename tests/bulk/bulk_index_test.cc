// Indexes that a bulk creates on a table with rows, while it changes rows in place: they include
// its changes, become visible when it commits, and are freed otherwise.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "palimpsest/error.h"

#include "base/random.h"
#include "engine/table/row_cursor.h"
#include "tests/bulk/bulk_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::error_of;
using txn::Isolation;

const IndexSchema kByBody{.name = "by_body", .columns = {"body"}};
const IndexSchema kUniqueBody{.name = "unique_body", .columns = {"body"}, .unique = true};

class BulkIndex : public BulkRows {
 protected:
  BulkIndex() : BulkRows(options_for_sorting()) {}

  [[nodiscard]] static EngineOptions options_for_sorting() {
    EngineOptions options = bulk_options();
    options.sort_bytes = 1;  // the least that a sort takes
    options.log_bytes_max = 100 * wal::kSegmentBytesMin;
    return options;
  }
  [[nodiscard]] static std::string body_of(int id) { return fmt::format("body {:05}", id); }

  void fill(int count) {
    const auto by = database_->begin(txn::Durability::synchronous, Isolation::read_committed);
    for (int id = 0; id < count; ++id) {
      ASSERT_TRUE(insert(*by, id, 0, body_of(id)));
    }
    by->commit();
  }
  /// The number of indexes in the current definition, or in the one that `by` sees.
  [[nodiscard]] std::size_t indexes(const txn::Transaction* by = nullptr) {
    return table().visible_to(by)->indexes.size();
  }
  /// The entries of the index, in its order.
  [[nodiscard]] std::multimap<std::string, int> by_index(txn::Transaction* by,
                                                         const std::string& index = "by_body") {
    std::multimap<std::string, int> found;
    for (RowCursor row(TableReader(by, table()), index, Range::all()); row.valid(); row.next()) {
      found.emplace(row.row()["body"].as_bytes(), static_cast<int>(row.row()["id"].as_integer()));
    }
    return found;
  }
  [[nodiscard]] static std::multimap<std::string, int> bodies_of(const Rows& rows) {
    std::multimap<std::string, int> bodies;
    for (const auto& [id, row] : rows) {
      bodies.emplace(row.body, id);
    }
    return bodies;
  }
  void change(InBulk& bulk, int begin, int end) {
    for (int id = begin; id < end; id += 5) {
      ASSERT_TRUE(update(bulk, id, 1, body_of(90'000 - id)));
      ASSERT_TRUE(erase(bulk, id + 1));
      ASSERT_TRUE(insert(bulk, 50'000 + id, 1, body_of(id)));
    }
  }
  void expect_clean() {
    sweep();
    while (database_->tree_pool().step()) {
      make_log_space();
    }
    sweep();
    EXPECT_TRUE(sound(*database_));
  }
};

TEST_F(BulkIndex, SaysWhatTheBulkHasDoneAndCountsWithIt) {
  fill(500);
  auto before = begin();
  const Rows old = rows_of(before.get());
  Rows changed;
  {
    InBulk bulk(*database_);
    change(bulk, 0, 250);
    ASSERT_TRUE(bulk.bulk->create_index("people", kByBody));
    EXPECT_EQ(by_index(bulk.in.get()), bodies_of(rows_of(bulk.in.get())));
    change(bulk, 250, 500);
    changed = rows_of(bulk.in.get());
    EXPECT_EQ(by_index(bulk.in.get()), bodies_of(changed));
    EXPECT_EQ(indexes(), 1U);
    EXPECT_EQ(rows_of(nullptr), old);
    bulk.commit();
  }
  EXPECT_EQ(rows_of(before.get()), old);
  EXPECT_EQ(error_of([&] { return by_index(before.get()); }), ErrorCode::not_found);
  auto after = begin();
  EXPECT_EQ(rows_of(after.get()), changed);
  EXPECT_EQ(by_index(after.get()), bodies_of(changed));
  EXPECT_EQ(by_index(nullptr), bodies_of(changed));
  before.reset();
  after.reset();
  expect_clean();
  open_after_crash(disk_.crash(1, palimpsest::test::CrashKeeps::nothing));
  EXPECT_EQ(by_index(nullptr), bodies_of(changed));
  expect_clean();
}

TEST_F(BulkIndex, IsNobodysIfTheBulkIsRolledBack) {
  fill(500);
  const Rows old = rows_of(nullptr);
  {
    InBulk bulk(*database_);
    ASSERT_TRUE(bulk.bulk->create_index("people", kByBody));
    change(bulk, 0, 500);
    bulk.in->rollback();
  }
  EXPECT_EQ(indexes(), 1U);
  EXPECT_EQ(rows_of(nullptr), old);
  expect_clean();
  InBulk again(*database_);
  ASSERT_TRUE(again.bulk->create_index("people", kByBody));
  again.commit();
  EXPECT_EQ(by_index(nullptr), bodies_of(old));
  expect_clean();
}

TEST_F(BulkIndex, OfMoreRowsThanAreSortedInMemory) {
  fill(10);
  Rows rows;
  InBulk bulk(*database_);
  for (int id = 10; id < 20'000; ++id) {
    const std::string name = name_of(id, 0);
    const std::string body = body_of(id * 7919 % 20'000);
    ASSERT_TRUE(bulk.bulk->insert(table(), {id, std::string_view(name), std::string_view(body)}));
    if (id % 100 == 0) {
      make_log_space();
    }
  }
  ASSERT_TRUE(bulk.bulk->create_index("people", kByBody));
  bulk.commit();
  EXPECT_EQ(by_index(nullptr), bodies_of(rows_of(nullptr)));
  expect_clean();
}

TEST_F(BulkIndex, TwoRowsWithOneKeyAreTheBulksAsWell) {
  fill(100);
  InBulk bulk(*database_);
  ASSERT_TRUE(update(bulk, 5, 1, body_of(70)));
  const Outcome outcome = bulk.bulk->create_index("people", kUniqueBody);
  EXPECT_EQ(outcome.kind(), OutcomeKind::exists);
  EXPECT_EQ(outcome.place().key, "(\"body 00070\")");
  ASSERT_TRUE(erase(bulk, 70));
  ASSERT_TRUE(bulk.bulk->create_index("people", kUniqueBody));
  EXPECT_EQ(insert(bulk, 200, 1, body_of(70)).kind(), OutcomeKind::exists);
  EXPECT_EQ(insert(bulk, 200, 1, body_of(80)).kind(), OutcomeKind::exists);
  ASSERT_TRUE(insert(bulk, 200, 1, body_of(5)));
  const Rows changed = rows_of(bulk.in.get());
  bulk.commit();
  EXPECT_EQ(by_index(nullptr, "unique_body"), bodies_of(changed));
  expect_clean();
}

TEST_F(BulkIndex, OfATableThatAnotherBulkHasFilled) {
  {
    InBulk first(*database_);
    for (int id = 0; id < 200; ++id) {
      ASSERT_TRUE(insert(first, id, 0, body_of(id)));
    }
    first.commit();
  }
  for (const bool commits : {false, true}) {
    InBulk bulk(*database_);
    change(bulk, 0, 200);
    ASSERT_TRUE(bulk.bulk->create_index("people", kByBody));
    const Rows changed = rows_of(bulk.in.get());
    bulk.bulk->publish();
    EXPECT_EQ(indexes(), 1U) << "it counts when the bulk has ended";
    commits ? static_cast<void>(bulk.in->commit()) : bulk.in->rollback();
    EXPECT_EQ(indexes(), commits ? 2U : 1U);
    if (commits) {
      EXPECT_EQ(by_index(nullptr), bodies_of(changed));
    }
    expect_clean();
  }
}

TEST_F(BulkIndex, LaterOnesAndOtherWritersKeepItAsAnyOther) {
  fill(300);
  {
    InBulk maker(*database_);
    change(maker, 0, 50);
    ASSERT_TRUE(maker.bulk->create_index("people", kByBody));
    maker.commit();
  }
  const Rows made = rows_of(nullptr);
  {
    InBulk aborted(*database_);
    change(aborted, 50, 150);
    EXPECT_EQ(by_index(nullptr), bodies_of(made)) << "no transaction sees what a later one does";
    EXPECT_EQ(by_index(aborted.in.get()), bodies_of(rows_of(aborted.in.get())));
    aborted.in->rollback();
  }
  EXPECT_EQ(by_index(nullptr), bodies_of(made));
  expect_clean();
  {
    InBulk later(*database_);
    change(later, 150, 250);
    later.commit();
  }
  const auto by = begin();
  ASSERT_TRUE(update(*by, 299, 3, "changed by another"));
  ASSERT_TRUE(erase(*by, 298));
  by->commit();
  EXPECT_EQ(by_index(nullptr), bodies_of(rows_of(nullptr)));
  expect_clean();
}

TEST_F(BulkIndex, ACrashLeavesAllOfItOrNothing) {
  fill(100);
  const Rows old = rows_of(nullptr);
  Rows changed;
  palimpsest::test::CrashImages crashes(disk_);
  {
    InBulk bulk(*database_);
    crashes.take_at_operations();
    change(bulk, 0, 50);
    database_->checkpointer().run();
    ASSERT_TRUE(bulk.bulk->create_index("people", kByBody));
    change(bulk, 50, 100);
    database_->checkpointer().run();
    changed = rows_of(bulk.in.get());
    bulk.commit();
  }
  crashes.set_committed();
  crashes.take();
  for (const auto& [disk, is_committed] : crashes.end()) {
    open_after_crash(disk);
    const Rows rows = rows_of(nullptr);
    ASSERT_TRUE(rows == changed || (rows == old && !is_committed));
    ASSERT_EQ(indexes(), rows == changed ? 2U : 1U);
    if (rows == changed) {
      ASSERT_EQ(by_index(nullptr), bodies_of(changed));
    }
    expect_clean();
    ASSERT_FALSE(HasFailure());
  }
}

TEST_F(BulkIndex, AtRandomBesideAModel) {
  Random random(palimpsest::test::seed());
  fill(100);
  palimpsest::test::Sweep sweep_of(200, 10, 5);
  while (sweep_of.next()) {
    const Rows old = rows_of(nullptr);
    const std::size_t before = indexes();
    InBulk bulk(*database_);
    std::size_t made = 0;
    for (std::uint64_t call = random.below(60) + 1; call-- > 0;) {
      const int id = static_cast<int>(random.below(200));
      const std::string body = body_of(static_cast<int>(random.below(50)));
      const int variant = static_cast<int>(random.below(1000)) + 1;
      switch (random.below(8)) {
        case 0:
        case 1: static_cast<void>(insert(bulk, id, variant, body)); break;
        case 2: static_cast<void>(erase(bulk, id)); break;
        case 3: {
          IndexSchema schema = kByBody;
          schema.name = fmt::format("by_body_{}", before + made);
          if (before + made < 8) {
            ASSERT_TRUE(bulk.bulk->create_index("people", schema));
            ++made;
          }
          break;
        }
        default: static_cast<void>(upsert(bulk, id, variant, body)); break;
      }
      make_log_space();
    }
    const Rows changed = rows_of(bulk.in.get());
    EXPECT_EQ(rows_of(nullptr), old);
    const bool commits = random.below(2) == 0;
    commits ? bulk.commit() : bulk.in->rollback();
    ASSERT_EQ(rows_of(nullptr), commits ? changed : old);
    ASSERT_EQ(indexes(), before + (commits ? made : 0));
    ASSERT_TRUE(tables_agree(*database_));
    if (random.below(4) == 0) {
      expect_clean();
    }
    if (indexes() == 8) {
      const auto by = database_->begin(txn::Durability::asynchronous, Isolation::read_committed);
      ASSERT_TRUE(database_->tables().drop_index(*by, "people", "by_body_7"));
      by->commit();
    }
  }
  expect_clean();
}

}  // namespace
}  // namespace palimpsest::engine::test
