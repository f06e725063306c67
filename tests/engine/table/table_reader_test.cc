// Reads: rows, many rows, rows in their pages, by a unique index; and of a table that is dropped.
#include "engine/table/table_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/table/table_fixture.h"

namespace palimpsest::engine::test {
namespace {

using ::testing::HasSubstr;

using Ids = std::vector<std::int64_t>;

constexpr int kPeople = 400;

class TableReaderTest : public ::testing::Test {
 protected:
  /// Ids 0, 2, 4, ..; every 40th row is large.
  TableReaderTest() {
    const auto transaction = table_.begin();
    for (int id = 0; id < 2 * kPeople; id += 2) {
      const std::string note(id % 80 == 0 ? 5000 : 20, static_cast<char>('a' + id % 7));
      const std::string name = name_of(id);
      EXPECT_TRUE(table_.in(transaction).insert({id, name, "Rome", id, note}));
    }
    transaction->commit();
  }
  static std::string name_of(int id) { return "n" + std::to_string(id); }
  static std::int64_t id_of(const RowView& row) {
    EXPECT_EQ(row["name"].as_bytes(), name_of(static_cast<int>(row["id"].as_integer())));
    EXPECT_EQ(row["age"], row["id"]);
    EXPECT_EQ(row["note"].as_bytes().size(), row["id"].as_integer() % 80 == 0 ? 5000U : 20U);
    return row["id"].as_integer();
  }
  [[nodiscard]] Ids visited(const Range& range, Direction direction, std::size_t most = kPeople) {
    Ids ids;
    table_.reads().visit(
        range,
        [&](const RowView& row) {
          ids.push_back(id_of(row));
          return ids.size() < most;
        },
        direction);
    return ids;
  }
  static Ids every_second(int first, int last) {
    Ids ids;
    for (int id = first; first <= last ? id <= last : id >= last; id += first <= last ? 2 : -2) {
      ids.push_back(id);
    }
    return ids;
  }

  OneTable table_{people(), indexes_of_people()};
};

TEST_F(TableReaderTest, OneRow) {
  const auto transaction = table_.begin();
  for (txn::Transaction* in : {static_cast<txn::Transaction*>(nullptr), transaction.get()}) {
    for (const int id : {0, 2, 80}) {
      std::int64_t read = -1;
      EXPECT_TRUE(table_.reads(in).read({id}, [&](const RowView& row) { read = id_of(row); }));
      EXPECT_EQ(read, id);
    }
    EXPECT_FALSE(table_.reads(in).read({1}, [](const RowView&) { ADD_FAILURE(); }));
  }
  transaction->commit();
  EXPECT_EQ(error_of([&] { return table_.reads(transaction.get()).read({0}, [](const auto&) {}); }),
            ErrorCode::invalid_argument);
}

TEST_F(TableReaderTest, ManyRowsByTheirNumbers) {
  const std::vector<Value> ids{4, 3, 80, 4};
  std::vector<Key> keys;
  keys.reserve(ids.size());
  for (const Value& id : ids) {
    keys.emplace_back(std::span<const Value>(&id, 1));
  }
  std::vector<std::pair<std::size_t, std::int64_t>> read;
  const auto transaction = table_.begin();
  table_.reads(transaction.get()).read_many(keys, [&](std::size_t key, const RowView& row) {
    read.emplace_back(key, id_of(row));
    // A function that receives a row may use the engine, also within the same transaction.
    EXPECT_TRUE(table_.in(transaction).update({4}, {{"city", "Oslo"}}));
  });
  EXPECT_EQ(read, (decltype(read){{0, 4}, {2, 80}, {3, 4}}));
}

TEST_F(TableReaderTest, ManyRowsWhereTheyLie) {
  const std::vector<Key> keys{{4}, {3}, {80}, {4}};
  const auto all_of = [&](txn::Transaction* in) {
    std::vector<std::pair<std::size_t, std::string>> seen;
    table_.reads(in).visit_many(
        keys, [&](std::size_t key, const RowView& row) { seen.emplace_back(key, row.text()); });
    return seen;
  };
  const auto before = all_of(nullptr);
  ASSERT_EQ(before.size(), 3U);
  EXPECT_EQ(before[1].first, 2U);
  EXPECT_EQ(before[0].second, before[2].second);
  const auto reader = table_.begin();
  EXPECT_EQ(all_of(reader.get()), before);
  table_.committed([](auto writes) { return writes.update({4}, {{"city", "Oslo"}}); });
  table_.committed([](auto writes) { return writes.erase({80}); });
  EXPECT_EQ(all_of(reader.get()), before) << "of its snapshot";
  const auto after = all_of(nullptr);
  ASSERT_EQ(after.size(), 2U);
  EXPECT_THAT(after[0].second, HasSubstr("Oslo"));
  EXPECT_EQ(after[1].first, 3U);
  const auto stop = [](std::size_t, const RowView&) { throw std::range_error("enough"); };
  EXPECT_THROW(table_.reads().visit_many(keys, stop), std::range_error);
  table_.committed([](auto writes) { return writes.update({4}, {{"city", "Bern"}}); });
  EXPECT_THAT(all_of(nullptr)[0].second, HasSubstr("Bern")) << "nothing is left latched";
}

TEST_F(TableReaderTest, ByAUniqueIndex) {
  std::int64_t read = -1;
  const auto use = [&](const RowView& row) { read = id_of(row); };
  EXPECT_TRUE(table_.reads().read_by_index("by_name", {"n80"}, use));
  EXPECT_EQ(read, 80);
  EXPECT_FALSE(table_.reads().read_by_index("by_name", {"n8"}, use) && read != 8);
  EXPECT_FALSE(table_.reads().read_by_index("by_name", {"n81"}, use));
  const auto code = [&](const char* index, const Key& key, const char* why) {
    return error_of([&] { return table_.reads().read_by_index(index, key, use); },
                    std::string_view(why));
  };
  EXPECT_EQ(code("by_nam", {"x"}, "has no index \"by_nam\""), ErrorCode::not_found);
  EXPECT_EQ(code("by_city", {"x", 1}, "only a unique index can find a single row"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code("by_name", {"x", 1}, "2 values"), ErrorCode::invalid_argument);
}

TEST_F(TableReaderTest, NullsAreInNoUniqueKey) {
  OneTable table(people(), {{.name = "by_city", .columns = {"city"}, .unique = true}});
  table.committed([](auto writes) { return writes.insert({1, "a", Value(), 1, ""}); });
  table.committed([](auto writes) { return writes.insert({2, "a", Value(), 1, ""}); });
  table.committed([](auto writes) { return writes.insert({3, "a", "Rome", 1, ""}); });
  const auto use = [](const RowView& row) { EXPECT_EQ(row["id"], Value(3)); };
  EXPECT_TRUE(table.reads().read_by_index("by_city", {"Rome"}, use));
  EXPECT_FALSE(table.reads().read_by_index("by_city", {Value()}, use));
  EXPECT_TRUE(table.indexes_are_of(table.rows()));
}

TEST_F(TableReaderTest, VisitsInBothDirections) {
  const int last = 2 * kPeople - 2;
  EXPECT_EQ(visited(Range::all(), Direction::forward), every_second(0, last));
  EXPECT_EQ(visited(Range::all(), Direction::backward), every_second(last, 0));
  EXPECT_EQ(visited(Range::between({80}, {160}), Direction::forward), every_second(80, 160));
  EXPECT_EQ(visited(Range::between({80}, {160}), Direction::backward), every_second(160, 80));
  const std::vector<Value> lower{80};
  const std::vector<Value> upper{160};
  const Range open = Range::between(lower, upper, Range::Bound::exclusive, Range::Bound::exclusive);
  EXPECT_EQ(visited(open, Direction::forward), every_second(82, 158));
  EXPECT_EQ(visited(open, Direction::backward), every_second(158, 82));
  EXPECT_EQ(visited(Range::from({79}), Direction::forward, 3), every_second(80, 84));
  EXPECT_EQ(visited(Range::from({80}), Direction::forward, 1), every_second(80, 80));
  EXPECT_EQ(visited(Range::between({160}, {80}), Direction::forward), Ids());
  EXPECT_EQ(visited(Range::between({160}, {80}), Direction::backward), Ids());
  const auto transaction = table_.begin();
  int rows = 0;
  table_.reads(transaction.get())
      .visit(Range::all(), [&](const RowView&) { return ++rows > 0; }, Direction::forward);
  EXPECT_EQ(rows, kPeople);
}

TEST_F(TableReaderTest, ATableThatWasDroppedIsNotFound) {
  TableReader before = table_.reads();
  table_.state().change_to(nullptr);
  table_.state().end_change(true);
  const auto code = [](const auto& read) { return error_of(read, "no table \"people\""); };
  const auto fail = [](const RowView&) { ADD_FAILURE(); };
  EXPECT_EQ(code([&] { return table_.reads(); }), ErrorCode::not_found);
  EXPECT_EQ(code([&] { return before.read({0}, fail); }), ErrorCode::not_found);
  EXPECT_EQ(code([&] { return before.read({1}, fail); }), ErrorCode::not_found);
  EXPECT_EQ(code([&] {
              before.visit(Range::all(), [](const RowView&) { return true; }, Direction::forward);
              return true;
            }),
            ErrorCode::not_found);
  for (const int id : {0, 1}) {
    const std::vector<Key> keys{{id}};
    const auto fail_many = [](std::size_t, const RowView&) { ADD_FAILURE(); };
    EXPECT_EQ(code([&] { return before.visit_many(keys, fail_many), 0; }), ErrorCode::not_found);
    EXPECT_EQ(code([&] { return before.read_many(keys, fail_many), 0; }), ErrorCode::not_found);
  }
  EXPECT_EQ(error_of([&] { return before.read_by_index("by_name", {"n0"}, fail); }, "by_name"),
            ErrorCode::not_found);
}

TEST_F(TableReaderTest, DamagedRowsAreNotShown) {
  KeyMemory memory;
  const std::string key(table_.reads().read({4}, [](const auto&) {})
                            ? KeySpace(table_.format(), *table_.current().rows).whole({4}, memory)
                            : ByteView());
  ASSERT_TRUE(table_.current().rows->update(key, "x"));
  const auto code = [](const auto& read) { return error_of(read, "the row (4) is damaged"); };
  const auto fail = [](const RowView&) { ADD_FAILURE(); };
  EXPECT_EQ(code([&] { return table_.reads().read({4}, fail); }), ErrorCode::corruption);
  EXPECT_EQ(code([&] { return visited(Range::all(), Direction::forward); }), ErrorCode::corruption);
  const auto transaction = table_.begin();
  EXPECT_EQ(code([&] { return table_.in(transaction).update({4}, {{"age", 1}}); }),
            ErrorCode::corruption);
  EXPECT_EQ(code([&] { return table_.in(transaction).modify({4}, [](RowEditor&) {}); }),
            ErrorCode::corruption);
}

}  // namespace
}  // namespace palimpsest::engine::test
