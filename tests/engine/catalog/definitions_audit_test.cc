// Damages definitions, one way after the other: the audit names each and reads the rest, and the
// database does not open.
#include "engine/catalog/definitions_audit.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "engine/catalog/stored_definitions.h"
#include "engine/format/schema_format.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/error_of.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TableSchema table_of(const std::string& name) {
  return {.name = name,
          .columns = {{"id", types::int32()}, {"name", types::varchar(100)}},
          .key = {"id"}};
}

/// Three tables; the second one has an index.
class DefinitionsAuditTest : public ::testing::Test {
 protected:
  DefinitionsAuditTest() {
    open();
    const auto by = database_->begin();
    for (const char* name : {"cats", "dogs", "owls"}) {
      EXPECT_TRUE(database_->tables().create_table(*by, table_of(name)));
    }
    EXPECT_TRUE(
        database_->tables().create_index(*by, "dogs", {.name = "by_name", .columns = {"name"}}));
    by->commit();
  }
  void open() {
    database_.reset();
    device_ = disk_.device();
    database_ = Engine::open(*device_, *device_, small_options());
  }
  [[nodiscard]] DefinitionsAudit audit() { return audit_definitions(database_->catalog()); }
  [[nodiscard]] btree::BTree& records() { return *database_->find_tree(kTablesTree); }
  [[nodiscard]] StoredTable stored(const std::string& name) {
    return database_->tables().find(name, nullptr)->visible_to(nullptr)->format->stored();
  }
  void store(const std::string& name, const std::string& record) {
    const auto by = database_->begin();
    ASSERT_TRUE(by->update(records(), name, record).existed);
    by->commit();
  }
  /// The definition of "dogs" is damaged like this, and nothing else.
  void expect_damaged_dogs(const std::string& what) {
    const DefinitionsAudit audited = audit();
    ASSERT_EQ(audited.damaged.size(), 1U);
    EXPECT_EQ(audited.damaged[0].table, "dogs");
    EXPECT_THAT(audited.damaged[0].what, HasSubstr(what));
    ASSERT_EQ(audited.tables.size(), 2U);
    EXPECT_EQ(audited.tables[0]->format->schema().name, "cats");
    EXPECT_EQ(audited.tables[1]->format->schema().name, "owls");
    EXPECT_THAT(audited.unused, IsEmpty()) << "it is unknown which";
    database_->close();
    EXPECT_EQ(error_of([&] { open(); }, what), ErrorCode::corruption);
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
};

TEST_F(DefinitionsAuditTest, AllAreRead) {
  const DefinitionsAudit audited = audit();
  EXPECT_THAT(audited.damaged, IsEmpty());
  EXPECT_THAT(audited.unused, IsEmpty());
  ASSERT_EQ(audited.tables.size(), 3U);
  EXPECT_EQ(audited.tables[1]->format->stored(), stored("dogs"));
  EXPECT_EQ(audited.tables[1]->rows->id(), stored("dogs").tree);
  EXPECT_EQ(audited.tables[1]->indexes[0]->id(), stored("dogs").indexes[0].tree);
}

TEST_F(DefinitionsAuditTest, WithoutTables) {
  disk_ = SimDisk();
  open();
  ASSERT_NE(database_->make_tree("plain"), nullptr);
  const DefinitionsAudit audited = audit();
  EXPECT_THAT(audited.damaged, IsEmpty());
  EXPECT_THAT(audited.tables, IsEmpty());
  ASSERT_EQ(audited.unused.size(), 1U);
  EXPECT_EQ(audited.unused[0].name, "plain");
  EXPECT_FALSE(audited.unused[0].is_for_tables);
}

TEST_F(DefinitionsAuditTest, TreesOfNoTable) {
  const TreeId dropped = stored("dogs").indexes[0].tree;
  const auto by = database_->begin();
  ASSERT_TRUE(database_->tables().drop_index(*by, "dogs", "by_name"));
  by->commit();
  const DefinitionsAudit audited = audit();
  ASSERT_EQ(audited.unused.size(), 1U);
  EXPECT_EQ(database_->find_tree(audited.unused[0].name)->id(), dropped);
  EXPECT_TRUE(audited.unused[0].is_for_tables);
}

TEST_F(DefinitionsAuditTest, ARecordThatEnds) {
  const std::string record = encode_table(stored("dogs"));
  store("dogs", record.substr(0, record.size() - 1));
  expect_damaged_dogs("the record of table \"dogs\": ");
}

TEST_F(DefinitionsAuditTest, ARecordOfAnotherTable) {
  StoredTable other = stored("dogs");
  other.schema.name = "wolves";
  store("dogs", encode_table(other));
  expect_damaged_dogs("the record of table \"dogs\" describes table \"wolves\"");
}

TEST_F(DefinitionsAuditTest, ATreeThatIsNotThere) {
  StoredTable table = stored("dogs");
  table.indexes[0].tree = TreeId{999};
  store("dogs", encode_table(table));
  expect_damaged_dogs("table \"dogs\": its tree 999 does not exist");
}

TEST_F(DefinitionsAuditTest, ATreeOfAnotherTable) {
  StoredTable table = stored("dogs");
  table.tree = stored("cats").tree;
  store("dogs", encode_table(table));
  expect_damaged_dogs("also belongs to another table or index");
}

TEST_F(DefinitionsAuditTest, TheTreeOfTheDefinitions) {
  StoredTable table = stored("dogs");
  table.indexes[0].tree = records().id();
  store("dogs", encode_table(table));
  expect_damaged_dogs("is not a tree of tables");
}

TEST_F(DefinitionsAuditTest, ARecordOfALaterVersion) {
  std::string record = encode_table(stored("owls"));
  record[0] = '\x7F';
  store("owls", record);
  const DefinitionsAudit audited = audit();
  ASSERT_EQ(audited.damaged.size(), 1U);
  EXPECT_THAT(audited.damaged[0].what,
              HasSubstr("the record of table \"owls\": the schema of a table: version 127"));
  EXPECT_EQ(audited.tables.size(), 2U);
}

}  // namespace
}  // namespace palimpsest::engine::test
