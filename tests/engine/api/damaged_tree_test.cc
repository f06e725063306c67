// A damaged page of a table, of an index or of neither: the calls that need it report it, and all
// others succeed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "palimpsest/database.h"

#include "base/io/open_device.h"
#include "engine/catalog/definitions_audit.h"
#include "engine/offline_database.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kRows = 600;

TableSchema schema_of(const std::string& name) {
  return {.name = name,
          .columns = {{"id", int64()}, {"color", int64()}, {"body", varchar(400)}},
          .key = {"id"}};
}
const IndexSchema kByColor{.name = "by_color", .columns = {"color"}};

Options options_of(bool read_only = false) {
  Options options;
  options.memory_bytes = std::uint64_t{16} << 20U;
  options.read_only = read_only;
  options.durability = Durability::asynchronous;
  return options;
}

void fill(const Table& table, Transaction& in) {
  const std::string body(300, 'b');
  for (std::int64_t id = 0; id < kRows; ++id) {
    table.insert(in, {id, id % 7, body}).require();
  }
}

std::int64_t rows_of(const Table& table) {
  std::int64_t rows = 0;
  for (Cursor cursor = table.cursor(); cursor.valid(); cursor.next()) {
    EXPECT_EQ(cursor.row()["color"].as_integer(), cursor.row()["id"].as_integer() % 7);
    ++rows;
  }
  return rows;
}
std::int64_t entries_of(const Table& table) {
  std::int64_t entries = 0;
  for (Cursor cursor = table.index("by_color").cursor(); cursor.valid(); cursor.next()) {
    ++entries;
  }
  return entries;
}

/// Two tables with an index each, and a small one; leftover trees of a dropped table.
class DamagedTree : public ::testing::Test {
 protected:
  DamagedTree() {
    Database database = Database::open(path(), options_of());
    for (const std::string name : {"good", "bad", "gone"}) {
      const Table table = database.create_table(schema_of(name));
      database.create_index(name, kByColor);
      database.run([&](Transaction& in) { fill(table, in); });
    }
    database.drop_table("gone");
    const Table small = database.create_table(schema_of("small"));
    small.insert({1, 1, "its root is a leaf"}).require();
    database.close();
    find_roots();
  }

  [[nodiscard]] std::string path() const { return directory_.path("database"); }

  /// By table, by "table.index", and other trees by their names in the catalog.
  void find_roots() {
    const auto device = io::open_device(path(), {});
    engine::OfflineDatabase closed(*device);
    closed.open_space();
    closed.open_catalog(std::uint64_t{16} << 20U);
    page_bytes_ = closed.file().page_size_bytes();
    roots_["catalog"] = closed.file().catalog_root();
    std::map<PageId, std::string> names;
    const engine::DefinitionsAudit definitions = engine::audit_definitions(closed.catalog());
    for (const auto& table : definitions.tables) {
      const std::string& name = table->format->schema().name;
      names[table->rows->root_page()] = name;
      for (const btree::BTree* const index : table->indexes) {
        names[index->root_page()] = name + ".by_color";
      }
    }
    for (const txn::TreeCatalog::Entry& entry : closed.catalog().entries()) {
      const auto known = names.find(entry.root);
      roots_[known != names.end() ? known->second
             : entry.name.empty() ? "catalog"
                                  : entry.name] = entry.root;
    }
  }
  void damage(const std::string& tree) {
    ASSERT_TRUE(roots_.contains(tree)) << tree;
    damage(roots_.at(tree));
  }
  /// A second call repairs it.
  void damage(PageId page) {
    const auto at = static_cast<std::streamoff>(raw(page) * page_bytes_ + page_bytes_ / 2);
    std::fstream file(path() + "/pages", std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 0x20));
    ASSERT_TRUE(file.good());
  }
  [[nodiscard]] std::string page_of(const std::string& tree) const {
    return fmt::format("page {} is damaged", raw(roots_.at(tree)));
  }

  /// The call fails, and its error names the tree.
  template <class Call>
  void expect_damaged(const Call& call, const std::string& whose, const std::string& tree) {
    std::string message;
    EXPECT_EQ(error_of(call, &message), ErrorCode::corruption);
    EXPECT_THAT(message, AllOf(HasSubstr(whose), HasSubstr(page_of(tree))));
  }
  static void expect_whole(const Database& database, const std::string& table) {
    EXPECT_EQ(rows_of(database.table(table)), kRows);
    EXPECT_EQ(entries_of(database.table(table)), kRows);
  }

  test::TemporaryDirectory directory_{test::memory_file_system()};
  std::map<std::string, PageId> roots_;
  std::uint64_t page_bytes_ = 0;
};

TEST_F(DamagedTree, OfATableIsThatTablesProblem) {
  damage("bad");
  for (const bool read_only : {true, false}) {
    Database database = Database::open(path(), options_of(read_only));
    expect_whole(database, "good");
    EXPECT_EQ(database.tables().size(), 3U);
    const Table bad = database.table("bad");
    const std::string whose = "table \"bad\": ";
    expect_damaged([&] { return bad.get({1}); }, whose, "bad");
    expect_damaged([&] { return rows_of(bad); }, whose, "bad");
    EXPECT_EQ(entries_of(database.table("good")), kRows);
    if (!read_only) {
      expect_damaged([&] { return bad.insert({kRows, 1, "x"}); }, whose, "bad");
      expect_damaged([&] { return bad.erase({1}); }, whose, "bad");
      EXPECT_TRUE(database.table("good").update({1}, {{"body", "y"}}));
      database.create_table(schema_of("new"));
    }
    database.close();
  }
}

TEST_F(DamagedTree, ATableIsDroppedAndMadeAgain) {
  damage("bad");
  for (int round = 0; round < 2; ++round) {
    Database database = Database::open(path(), options_of());
    database.drop_table("bad");
    const Table table = database.create_table(schema_of("bad"));
    database.create_index("bad", kByColor);
    database.run([&](Transaction& in) { fill(table, in); });
    expect_whole(database, "bad");
    database.close();
  }
  Database database = Database::open(path(), options_of(true));
  expect_whole(database, "bad");
  expect_whole(database, "good");
}

TEST_F(DamagedTree, AnIndexIsDroppedAndMadeAgain) {
  damage("bad.by_color");
  Database database = Database::open(path(), options_of());
  const Table bad = database.table("bad");
  const std::string whose = "index \"by_color\" of table \"bad\": ";
  EXPECT_EQ(rows_of(bad), kRows);
  EXPECT_TRUE(bad.update({1}, {{"body", "no entry of the index"}}));
  expect_damaged([&] { return entries_of(bad); }, whose, "bad.by_color");
  expect_damaged([&] { return bad.insert({kRows, 1, "x"}); }, whose, "bad.by_color");
  expect_damaged([&] { return bad.update({1}, {{"color", 99}}); }, whose, "bad.by_color");
  database.drop_index("bad", "by_color");
  EXPECT_TRUE(bad.insert({kRows, kRows % 7, "x"}));
  database.create_index("bad", kByColor);
  EXPECT_EQ(entries_of(bad), kRows + 1);
  database.close();
  EXPECT_EQ(entries_of(Database::open(path(), options_of()).table("bad")), kRows + 1);
}

// Also the engine's own trees: if one is damaged, opening says what is missing.
TEST_F(DamagedTree, EachRootInTurn) {
  EXPECT_GE(roots_.size(), 6U);
  for (const auto& [tree, root] : roots_) {
    SCOPED_TRACE(tree);
    damage(root);
    for (const bool read_only : {true, false}) {
      std::string message;
      const auto code = error_of(
          [&] {
            Database database = Database::open(path(), options_of(read_only));
            EXPECT_TRUE(tree == "good" || rows_of(database.table("good")) == kRows);
            EXPECT_TRUE(tree == "bad" || rows_of(database.table("bad")) == kRows);
            if (!read_only) {
              database.create_table(schema_of("new"));
              database.drop_table("new");
            }
            database.close();
            return 0;
          },
          &message);
      if (tree == "catalog" || tree == "tables") {
        EXPECT_EQ(code, ErrorCode::corruption);
        EXPECT_THAT(message, AllOf(HasSubstr(page_of(tree)), HasSubstr("restore a backup")));
      } else {
        EXPECT_EQ(code, std::nullopt) << message;
      }
    }
    damage(root);
  }
  Database database = Database::open(path(), options_of());
  expect_whole(database, "good");
  expect_whole(database, "bad");
}

TEST_F(DamagedTree, IsBackedUpAsItIs) {
  damage("bad");
  Database database = Database::open(path(), options_of());
  const std::string copy = directory_.path("copy");
  EXPECT_EQ(database.backup(copy).damaged_pages, 1U);
  Database copied = Database::open(copy, options_of());
  expect_whole(copied, "good");
  expect_damaged([&] { return copied.table("bad").get({1}); }, "table \"bad\": ", "bad");
}

/// The state after a crash that followed the insertion of one row.
class DamagedTreeAfterACrash : public DamagedTree {
 protected:
  void crash_after_inserting_into(const std::string& name) {
    const std::string crashed = directory_.path("crashed");
    {
      Database database = Database::open(path(), options_of());
      database.run(
          [&](Transaction& in) {
            database.table(name).insert(in, {kRows, kRows % 7, "x"}).require();
          },
          {.transaction = {.durability = Durability::synchronous}});
      std::filesystem::copy(path(), crashed);
    }
    std::filesystem::remove_all(path());
    std::filesystem::rename(crashed, path());
  }
};

TEST_F(DamagedTreeAfterACrash, RecoveryGoesPastWhatTheLogDoesNotChange) {
  crash_after_inserting_into("good");
  damage("bad");
  Database database = Database::open(path(), options_of());
  EXPECT_EQ(rows_of(database.table("good")), kRows + 1);
  expect_damaged([&] { return database.table("bad").get({1}); }, "table \"bad\": ", "bad");
}

// Otherwise it would lose committed changes silently.
TEST_F(DamagedTreeAfterACrash, RecoveryRefusesAPageThatTheLogChanges) {
  crash_after_inserting_into("small");
  damage("small");
  for (const bool read_only : {true, false}) {
    std::string message;
    EXPECT_EQ(error_of([&] { return Database::open(path(), options_of(read_only)); }, &message),
              ErrorCode::corruption);
    EXPECT_THAT(message, AllOf(HasSubstr("a page that the log changes cannot be read"),
                               HasSubstr(page_of("small")), HasSubstr("restore a backup")));
  }
}

TEST_F(DamagedTree, OpeningWithFewPagesAndManyTables) {
  constexpr int kTables = 1500;
  Options options = options_of();
  options.memory_bytes = std::uint64_t{4} << 20U;
  const auto name = [](int number) { return fmt::format("many {}", number); };
  Database database = Database::open(path(), options);
  for (int number = 0; number < kTables; ++number) {
    database.create_table(schema_of(name(number))).insert({number, number, "x"}).require();
  }
  database.close();
  database = Database::open(path(), options);
  for (int number = 0; number < kTables; ++number) {
    const Table table = database.table(name(number));
    ASSERT_TRUE(table.get({number}));
    ASSERT_TRUE(table.insert({number + 1, 0, "y"}));
  }
  expect_whole(database, "good");
  database.close();
}

}  // namespace
}  // namespace palimpsest
