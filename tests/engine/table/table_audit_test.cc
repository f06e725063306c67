// Tables whose rows and indexes contradict each other, one way after the other: the audit finds
// each, and names it by key and values.
#include "engine/table/table_audit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "btree/node/key_bytes.h"
#include "tests/engine/table/table_fixture.h"

namespace palimpsest::engine::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kRows = 2500;
constexpr std::size_t kByCity = 0;
constexpr std::size_t kByName = 1;

std::string name_of(int id) {
  return fmt::format("name {:04}", id);
}

std::vector<std::string> kept(const btree::Findings& findings) {
  return {findings.kept().begin(), findings.kept().end()};
}

/// Damages the trees, whose pages stay sound.
class TableAuditTest : public ::testing::Test {
 protected:
  TableAuditTest() {
    const std::string large(20'000, 'x');
    for (int begin = 0; begin < kRows; begin += 250) {
      const auto transaction = table_.begin();
      for (int id = begin; id < begin + 250; ++id) {
        const Value city = id % 7 == 0 ? Value() : Value("Rome");
        const std::string name = name_of(id);
        EXPECT_TRUE(
            table_.in(transaction).insert({id, name, city, id % 50, id % 500 == 1 ? large : "-"}));
      }
      transaction->commit();
    }
  }

  [[nodiscard]] btree::BTree& rows() { return *table_.current().rows; }
  [[nodiscard]] btree::BTree& index(std::size_t number) {
    return *table_.current().indexes[number];
  }
  /// In several batches.
  [[nodiscard]] TableAudit audit() {
    return audit_table(table_.current(), {.damaged = {}, .batch_bytes = 100'000});
  }
  [[nodiscard]] std::string key(int id) {
    KeyMemory memory;
    return std::string(table_.format().keys().encode(std::vector<Value>{id}, memory));
  }
  [[nodiscard]] std::string row(const std::vector<Value>& values) {
    std::string row;
    table_.format().rows().encode(values, row);
    return row;
  }
  /// The key of the entry that a row of these values has in an index.
  [[nodiscard]] std::string entry(std::size_t number, const std::vector<Value>& values) {
    KeyMemory memory;
    const std::string primary_key = key(static_cast<int>(values[0].as_integer()));
    return std::string(
        table_.format().indexes()[number].codec.encode(values, primary_key, memory).key);
  }
  [[nodiscard]] std::string name_entry(int id) {
    const std::string name = name_of(id);
    return entry(kByName, {id, name, Value(), 0, ""});
  }

  OneTable table_{people(), indexes_of_people()};
};

TEST_F(TableAuditTest, CountsRowsAndEntries) {
  table_.committed([](auto writes) { return writes.erase({10}); });
  table_.committed([](auto writes) { return writes.update({11}, {{"name", "other"}}); });
  const TableAudit audited = audit();
  EXPECT_TRUE(audited.sound()) << audited.text();
  EXPECT_EQ(audited.rows, kRows - 1U) << "a ghost is no row";
  EXPECT_EQ(audited.damaged_rows, 0U);
  ASSERT_EQ(audited.indexes.size(), 2U);
  EXPECT_EQ(audited.indexes[kByCity].name, "by_city");
  EXPECT_FALSE(audited.indexes[kByCity].is_unique);
  EXPECT_TRUE(audited.indexes[kByName].is_unique);
  for (const IndexAudit& index : audited.indexes) {
    EXPECT_EQ(index.entries, kRows - 1U);
  }
}

TEST_F(TableAuditTest, AnEntryIsMissing) {
  ASSERT_TRUE(index(kByCity).remove(entry(kByCity, {7, "", Value(), 7, ""})));
  ASSERT_TRUE(index(kByName).remove(name_entry(2000)));
  const TableAudit audited = audit();
  EXPECT_FALSE(audited.sound());
  EXPECT_TRUE(audited.findings.none());
  EXPECT_THAT(kept(audited.indexes[kByCity].findings),
              ElementsAre("the entry (null, 7) of the row (7) is missing"));
  EXPECT_THAT(kept(audited.indexes[kByName].findings),
              ElementsAre("the entry (\"name 2000\") of the row (2000) is missing"));
  EXPECT_EQ(audited.indexes[kByName].entries, kRows - 1U);
  EXPECT_EQ(audited.text(),
            "index \"by_city\":\nthe entry (null, 7) of the row (7) is missing\n"
            "index \"by_name\":\nthe entry (\"name 2000\") of the row (2000) is "
            "missing\n");
}

TEST_F(TableAuditTest, AnEntryTooMany) {
  ASSERT_TRUE(index(kByCity).insert(entry(kByCity, {-1, "", "Oslo", 3, ""}), ""));
  ASSERT_TRUE(index(kByName).insert(entry(kByName, {-1, "Nobody", Value(), 0, ""}), key(-1)));
  const TableAudit audited = audit();
  EXPECT_THAT(kept(audited.indexes[kByCity].findings),
              ElementsAre("the entry (\"Oslo\", 3) leads to the row (-1), which does not exist"));
  EXPECT_THAT(kept(audited.indexes[kByName].findings),
              ElementsAre("the entry (\"Nobody\") leads to the row (-1), which does not exist"));
  EXPECT_EQ(audited.indexes[kByName].entries, kRows + 1U);
}

TEST_F(TableAuditTest, AnEntryForOtherValues) {
  ASSERT_TRUE(index(kByCity).insert(entry(kByCity, {5, "", "Oslo", 5, ""}), ""));
  ASSERT_TRUE(index(kByName).update(name_entry(20), key(21)));
  const TableAudit audited = audit();
  EXPECT_THAT(kept(audited.indexes[kByCity].findings),
              ElementsAre("the entry (\"Oslo\", 5) leads to the row (5), which has other values"));
  EXPECT_THAT(kept(audited.indexes[kByName].findings),
              ElementsAre("the entry (\"name 0020\") of the row (20) is missing",
                          "the entry (\"name 0020\") leads to the row (21), which has other "
                          "values"));
}

// As many entries as there should be, and each index wrong by one pair.
TEST_F(TableAuditTest, EntriesOfEqualNumberAreCompared) {
  ASSERT_TRUE(index(kByName).remove(name_entry(30)));
  ASSERT_TRUE(index(kByName).insert(entry(kByName, {30, "changed", Value(), 0, ""}), key(30)));
  const TableAudit audited = audit();
  EXPECT_EQ(audited.indexes[kByName].entries, static_cast<std::uint64_t>(kRows));
  EXPECT_THAT(kept(audited.indexes[kByName].findings),
              ElementsAre("the entry (\"name 0030\") of the row (30) is missing",
                          "the entry (\"changed\") leads to the row (30), which has other values"));
}

TEST_F(TableAuditTest, TwoRowsWithTheSameUniqueValues) {
  const std::vector<Value> twin{9000, "name 0042", "Rome", 1, ""};
  ASSERT_TRUE(rows().insert(key(9000), row(twin)));
  ASSERT_TRUE(index(kByCity).insert(entry(kByCity, twin), ""));
  const TableAudit audited = audit();
  EXPECT_TRUE(audited.indexes[kByCity].findings.none()) << audited.text();
  EXPECT_THAT(kept(audited.indexes[kByName].findings),
              ElementsAre("the rows (42) and (9000) both have (\"name 0042\")"));
}

TEST_F(TableAuditTest, RowsThatAreNone) {
  ASSERT_TRUE(rows().update(key(3), "short"));
  ASSERT_TRUE(rows().insert(key(4) + "tail", row({4, "tail", Value(), 0, ""})));
  ASSERT_TRUE(rows().insert("a", row({0, "a", Value(), 0, ""})));
  const TableAudit audited = audit();
  EXPECT_EQ(audited.rows, kRows + 2U);
  EXPECT_EQ(audited.damaged_rows, 3U);
  EXPECT_THAT(kept(audited.findings),
              ElementsAre(HasSubstr("the row the bytes \"a\" is damaged: "),
                          HasSubstr("the row (3) is damaged: a row of 5 bytes"),
                          "the row (4) is damaged: bytes follow the columns of its key"));
  for (const IndexAudit& index : audited.indexes) {
    EXPECT_TRUE(index.findings.none()) << "the entry of a damaged row is no finding of its own";
    EXPECT_EQ(index.entries, static_cast<std::uint64_t>(kRows));
  }
}

TEST_F(TableAuditTest, EntriesThatAreNone) {
  ASSERT_TRUE(index(kByCity).insert("\x07", ""));
  ASSERT_TRUE(index(kByCity).update(entry(kByCity, {8, "", "Rome", 8, ""}), "value"));
  ASSERT_TRUE(index(kByName).insert(entry(kByName, {0, "nowhere", Value(), 0, ""}), ""));
  const TableAudit audited = audit();
  EXPECT_THAT(
      kept(audited.indexes[kByCity].findings),
      ElementsAre("the entry (\"Rome\", 8) of the row (8) is missing",
                  "the entry (\"Rome\", 8) is damaged: index \"by_city\": its key and its "
                  "value contradict each other",
                  HasSubstr("the entry the bytes \"\\x07\" is damaged: index \"by_city\": ")));
  EXPECT_THAT(kept(audited.indexes[kByName].findings),
              ElementsAre("the entry (\"nowhere\") leads to the row the bytes \"\", which does not "
                          "exist"));
}

TEST_F(TableAuditTest, FindingsAreCountedAndTheFirstKept) {
  for (int id = 0; id < 500; ++id) {
    ASSERT_TRUE(index(kByName).remove(name_entry(id)));
  }
  const TableAudit audited = audit();
  EXPECT_EQ(audited.indexes[kByName].findings.count(), 500U);
  EXPECT_EQ(audited.indexes[kByName].findings.kept().size(), btree::Findings::kKeptMax);
  EXPECT_TRUE(audited.indexes[kByCity].findings.none());
}

TEST_F(TableAuditTest, IndexesInDamagedTreesAreLeftOut) {
  ASSERT_TRUE(index(kByName).remove(name_entry(0)));
  const btree::BTree* const damaged = &index(kByName);
  const TableAudit audited = audit_table(table_.current(), {.damaged = {&damaged, 1}});
  EXPECT_TRUE(audited.sound());
  EXPECT_FALSE(audited.indexes[kByCity].is_left_out);
  EXPECT_EQ(audited.indexes[kByCity].entries, static_cast<std::uint64_t>(kRows));
  EXPECT_TRUE(audited.indexes[kByName].is_left_out);
  EXPECT_EQ(audited.indexes[kByName].entries, 0U);
}

TEST(TableAudit, ARowThatCanHaveNoEntry) {
  OneTable texts({.name = "texts",
                  .columns = {{"id", types::int32()}, {"text", types::varchar(4000)}},
                  .key = {"id"}},
                 {{.name = "by_text", .columns = {"text"}}});
  texts.committed([](auto writes) { return writes.insert({1, "fits"}); });
  std::string row;
  KeyMemory memory;
  const std::string text(std::size_t{2} * btree::key_bytes_max(4096), 't');
  const std::vector<Value> values{2, text};
  texts.format().rows().encode(values, row);
  ASSERT_TRUE(texts.current().rows->insert(texts.format().keys().encode_row(values, memory), row));
  const TableAudit audited = audit_table(texts.current());
  EXPECT_THAT(kept(audited.indexes[0].findings),
              ElementsAre(HasSubstr("the row (2) can have no entry: ")));
}

}  // namespace
}  // namespace palimpsest::engine::test
