// A refused call releases the rows that it has claimed itself, unchanged, to other transactions.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/sync_point.h"
#include "engine/table/table_writer.h"
#include "tests/engine/table/table_fixture.h"

namespace palimpsest::engine::test {
namespace {

constexpr const char* kNoNote = "";

/// Nothing is durable before a commit makes it so.
EngineOptions options_of_losers() {
  EngineOptions options = small_options();
  options.transactions.asynchronous_interval = std::chrono::seconds(60);
  return options;
}

class RefusedWrites : public ::testing::TestWithParam<txn::Isolation> {
 protected:
  RefusedWrites() {
    const auto transaction = table_.begin();
    for (const auto& [id, name] : {std::pair(1, "Ada"), {2, "Bob"}, {3, "Cleo"}, {4, "Dan"}}) {
      EXPECT_TRUE(table_.in(transaction).insert({id, name, "Rome", 30 + id, kNoNote}));
    }
    transaction->commit();
  }
  [[nodiscard]] txn::TransactionPtr begin() {
    return table_.database().begin(txn::Durability::synchronous, GetParam());
  }
  [[nodiscard]] std::string text(int id, txn::Transaction* in = nullptr) {
    std::string text = "none";
    table_.reads(in).read({id}, [&](const RowView& row) { text = row.text(); });
    return text;
  }
  /// A transaction that has changed row 4, and was refused the changes of row 1 and of a new row 9.
  [[nodiscard]] txn::TransactionPtr refused() {
    txn::TransactionPtr writer = begin();
    const RowStatements writes = table_.in(writer);
    EXPECT_TRUE(writes.update({4}, {{"age", 99}}));
    EXPECT_EQ(writes.update({1}, {{"city", "Oslo"}, {"name", "Bob"}}).kind(), OutcomeKind::exists);
    EXPECT_EQ(writes.insert({9, "Bob", "Oslo", 1, kNoNote}).kind(), OutcomeKind::exists);
    EXPECT_EQ(writes.update({4}, {{"city", "Oslo"}, {"name", "Bob"}}).kind(), OutcomeKind::exists);
    return writer;
  }
  void change_what_was_refused() {
    const auto other = begin();
    const RowStatements writes = table_.in(other);
    EXPECT_TRUE(writes.update({1}, {{"age", 70}, {"note", "longer than it was"}}));
    EXPECT_TRUE(writes.insert({9, "Zoe", "Oslo", 1, kNoNote}));
    EXPECT_TRUE(writes.erase({4}).is_conflict()) << "changed by a call that was done";
    other->commit();
  }
  void expect_changed(bool row_4) {
    EXPECT_EQ(text(1), "(1, \"Ada\", \"Rome\", 70, \"longer than it was\")");
    EXPECT_EQ(text(9), "(9, \"Zoe\", \"Oslo\", 1, \"\")");
    EXPECT_EQ(text(4),
              row_4 ? "(4, \"Dan\", \"Rome\", 99, \"\")" : "(4, \"Dan\", \"Rome\", 34, \"\")");
    EXPECT_TRUE(table_.indexes_are_of(table_.rows()));
    EXPECT_TRUE(sound(table_.database()));
  }

  OneTable table_{people(), indexes_of_people(), options_of_losers()};
};

INSTANTIATE_TEST_SUITE_P(Levels, RefusedWrites,
                         ::testing::Values(txn::Isolation::none, txn::Isolation::read_committed,
                                           txn::Isolation::snapshot),
                         [](const auto& level) { return std::string(name_of(level.param)); });

TEST_P(RefusedWrites, EachKindOfCallReleasesItsRows) {
  const auto holder = table_.begin();
  ASSERT_TRUE(table_.in(holder).update({3}, {{"age", 50}}));
  const std::vector<Value> ids{1, 2, 77};
  const auto key_of = [&](std::size_t number) { return Key(std::span(ids).subspan(number, 1)); };
  const std::vector<Key> keys{key_of(0), key_of(1), key_of(2)};
  const auto throws = [](auto&&...) { throw std::bad_alloc(); };
  const std::vector<std::pair<const char*, std::function<bool(const RowStatements&)>>> calls{
      {"update", [](auto in) { return !in.update({1}, {{"city", "x"}, {"name", "Bob"}}); }},
      {"upsert", [](auto in) { return !in.upsert({1, "Bob", "x", 1, kNoNote}); }},
      {"insert", [](auto in) { return !in.insert({9, "Bob", "x", 1, kNoNote}); }},
      {"erase_range", [](auto in) { return !in.erase_range(Range::all()).outcome; }},
      {"modify",
       [&](auto in) {
         EXPECT_THROW(static_cast<void>(in.modify({1}, throws)), std::bad_alloc);
         return true;
       }},
      {"modify_many",
       [&](auto in) { return !in.modify_many(keys, [](std::size_t, RowEditor&) {}); }},
      {"rewrite",
       [](auto in) {
         return error_of([&] {
                  return in.rewrite({1}, [](const RowView&) { return ByteView("no row"); });
                }) == ErrorCode::invalid_argument;
       }},
  };
  for (const auto& [name, is_refused] : calls) {
    SCOPED_TRACE(name);
    const auto writer = begin();
    EXPECT_TRUE(is_refused(table_.in(writer)));
    const auto other = begin();
    for (const int id : {1, 2}) {
      EXPECT_TRUE(table_.in(other).update({id}, {{"age", 40}, {"note", name}}));
    }
    EXPECT_TRUE(table_.in(other).insert({9, "Zoe", "Oslo", 1, kNoNote}));
    EXPECT_TRUE(table_.in(other).erase({9}));
    other->commit();
    writer->commit();
    EXPECT_EQ(text(1), std::string(R"((1, "Ada", "Rome", 40, ")") + name + "\")");
    EXPECT_TRUE(table_.indexes_are_of(table_.rows()));
  }
  holder->rollback();
  EXPECT_TRUE(sound(table_.database()));
}

// However the refused transaction ends, later changes of its rows by other transactions stay.
TEST_P(RefusedWrites, ItsEndDoesNotTouchLaterWritersOfTheRows) {
  for (const bool commits : {true, false}) {
    auto writer = refused();
    change_what_was_refused();
    commits ? static_cast<void>(writer->commit()) : writer->rollback();
    writer.reset();
    expect_changed(commits);
    table_.crash();
    expect_changed(commits);
    table_.committed([](auto in) { return in.erase({9}); });
    table_.committed([](auto in) { return in.update({4}, {{"age", 34}}); });
  }
}

TEST_P(RefusedWrites, RecoveryUndoesWhatIsLeftOfItOnly) {
  {
    const auto writer = refused();
    change_what_was_refused();
  }  // rolled back; nothing of it is durable
  table_.crash();
  EXPECT_EQ(table_.database().recovery().losers, 1U);
  expect_changed(false);
}

class RefusedSnapshots : public RefusedWrites {};
INSTANTIATE_TEST_SUITE_P(Level, RefusedSnapshots, ::testing::Values(txn::Isolation::snapshot),
                         [](const auto& level) { return std::string(name_of(level.param)); });

// A refused change affects no reader, whichever transaction has changed the row since.
TEST_P(RefusedSnapshots, EachSnapshotSeesWhatWasCommitted) {
  const std::string before = text(1);
  const auto reader = begin();
  EXPECT_EQ(text(1, reader.get()), before);
  auto writer = refused();
  EXPECT_EQ(text(1, reader.get()), before);
  change_what_was_refused();
  const std::string after = text(1);
  EXPECT_NE(after, before);
  const auto late = begin();
  const auto expect_seen = [&] {
    EXPECT_EQ(text(1, reader.get()), before);
    EXPECT_EQ(text(9, reader.get()), "none");
    EXPECT_EQ(text(4, reader.get()), "(4, \"Dan\", \"Rome\", 34, \"\")");
    EXPECT_EQ(text(1, late.get()), after);
  };
  expect_seen();
  EXPECT_EQ(text(1, writer.get()), before);
  EXPECT_TRUE(table_.in(writer).update({1}, {{"age", 1}}).is_conflict()) << "changed since";
  EXPECT_TRUE(table_.in(writer).insert({9, "Yan", "x", 1, kNoNote}).is_conflict());
  writer->commit();
  expect_seen();
  expect_changed(true);
}

#ifdef PALIMPSEST_SYNC_POINTS

// The writer keeps its claims until its versions are gone. Meanwhile readers see the rows
// unchanged, and writers of them conflict with an active writer.
TEST_P(RefusedSnapshots, VersionsGoBeforeClaims) {
  const std::string before = text(1);
  const auto reader = begin();
  std::vector<bool> in_conflict;
  bool is_looking = false;
  const SyncHook hook("txn.statement.versions_gone", [&] {
    if (std::exchange(is_looking, true)) {
      return;  // the refused call of `other`
    }
    const auto other = begin();
    in_conflict.push_back(table_.in(other).update({1}, {{"age", 1}}).is_conflict());
    EXPECT_EQ(text(1, reader.get()), before);
    is_looking = false;
  });
  const auto writer = refused();
  EXPECT_EQ(in_conflict, (std::vector<bool>{true, false, false})) << "rows 1, 9 and 4 are refused";
}

#endif

}  // namespace
}  // namespace palimpsest::engine::test
