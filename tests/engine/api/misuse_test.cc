// Calls in the wrong order, or with objects of another database: each throws an Error, and harms
// neither memory nor the database. Runs under AddressSanitizer, too.
#include <gmock/gmock.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/row_encoder.h"
#include "palimpsest/row_sort.h"
#include "palimpsest/row_writer.h"
#include "palimpsest/table_of.h"

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::error_of;

constexpr auto kRefused = ErrorCode::invalid_argument;
constexpr std::int64_t kOther = 0x7777;

TableSchema narrow() {
  return {.name = "narrow", .columns = {{"id", int64()}, {"a", int64()}}, .key = {"id"}};
}

TableSchema wide(const std::string& name = "wide") {
  TableSchema schema{.name = name, .columns = {{"id", int64()}}, .key = {"id"}};
  for (int column = 0; column < 8; ++column) {
    schema.columns.push_back({"c" + std::to_string(column), int64()});
  }
  schema.columns.push_back({"last", nullable(int64())});
  return schema;
}

/// An index may contain the text, but it is too long for a key.
TableSchema texts() {
  return {.name = "text", .columns = {{"id", int64()}, {"text", varchar(20'000)}}, .key = {"id"}};
}

class MisuseTest : public ::testing::Test {
 protected:
  [[nodiscard]] Table table_of_rows(const TableSchema& schema, std::int64_t rows) {
    Table table = database_.create_table(schema);
    for (std::int64_t id = 1; id <= rows; ++id) {
      table.insert({id, 10 * id}).require();
    }
    return table;
  }

  test::TemporaryDirectory directory_;
  Database database_ =
      Database::open(directory_.path("database"), {.memory_bytes = std::uint64_t{16} << 20U});
};

// A database that was closed

TEST_F(MisuseTest, AHandleOfADatabaseThatWasClosedSaysSo) {
  const Table table = table_of_rows(narrow(), 10);
  database_.create_index("narrow", {.name = "by_a", .columns = {"a"}});
  const Index index = table.index("by_a");
  std::optional<Table> own;
  database_.run([&](Transaction& in) {
    in.create_table(wide("made")).require();
    own = in.table("made");
  });
  database_.close();
  const auto refused = [](const auto& call) {
    EXPECT_EQ(error_of([&] { return call(), 0; }, "the database was closed"), kRefused);
  };
  refused([&] { static_cast<void>(table.get({1})); });
  refused([&] { static_cast<void>(own->get({1})); });
  refused([&] { static_cast<void>(table.read({1}, [](const RowView&) {})); });
  refused([&] { table.insert({20, 20}).require(); });
  refused([&] { static_cast<void>(table.erase_range(Range::all())); });
  refused([&] { static_cast<void>(table.cursor()); });
  refused([&] { static_cast<void>(index.cursor()); });
  refused([&] { static_cast<void>(RowEncoder(table)); });
  refused([&] { static_cast<void>(RowSort(table)); });
  refused([&] { static_cast<void>(database_.begin()); });
  EXPECT_EQ(table.schema().columns.size(), 2U) << "what is known without it";
  EXPECT_EQ(table.indexes().size(), 1U);
}

// It was made before, and the table's definition may be freed.
TEST_F(MisuseTest, AnEncoderOfADatabaseThatWasClosedSaysSo) {
  const Table table = table_of_rows(narrow(), 1);
  RowEncoder encode(table);
  EXPECT_FALSE(encode({2, 20}).key.empty());
  database_.close();
  EXPECT_EQ(error_of([&] { return encode({3, 30}); }, "table \"narrow\": the database was closed"),
            kRefused);
}

// Moved-from objects

template <class Moved>
void expect_moved_away(std::string_view what, const Moved& call) {
  EXPECT_EQ(error_of([&] { return call(), 0; }, "the " + std::string(what) + " was moved from"),
            kRefused);
}

// NOLINTBEGIN(bugprone-use-after-move): on purpose
TEST_F(MisuseTest, ATableThatWasMovedAwayIsRefused) {
  Table table = table_of_rows(narrow(), 1);
  Table moved = std::move(table);
  const std::vector<Key> keys{Key{1}};
  const EncodedRow row = EncodedRow::of("key", "row");
  const auto refused = [](const auto& call) { expect_moved_away("table", call); };
  refused([&] { static_cast<void>(table.schema()); });
  refused([&] { static_cast<void>(table.indexes()); });
  refused([&] { static_cast<void>(table.index("by_a")); });
  refused([&] { static_cast<void>(table.column<std::int64_t>("a")); });
  refused([&] { static_cast<void>(table.get({1})); });
  refused([&] { static_cast<void>(table.read({1}, [](const RowView&) {})); });
  refused([&] { table.read_many(keys, [](std::size_t, const RowView&) {}); });
  refused([&] { table.visit_many(keys, [](std::size_t, const RowView&) {}); });
  refused([&] { table.visit(Range::all(), [](const RowView&) { return true; }); });
  refused([&] { static_cast<void>(table.cursor()); });
  refused([&] { static_cast<void>(table.insert({1, 2})); });
  refused([&] { static_cast<void>(table.insert(row)); });
  refused([&] { static_cast<void>(table.insert_many({&row, 1})); });
  refused([&] { static_cast<void>(table.upsert({1, 2})); });
  refused([&] { static_cast<void>(table.upsert(row)); });
  refused([&] { static_cast<void>(table.update({1}, {{"a", 2}})); });
  refused([&] { static_cast<void>(table.modify({1}, [](RowEditor&) {})); });
  refused([&] { static_cast<void>(table.modify_many(keys, [](std::size_t, RowEditor&) {})); });
  refused([&] {
    static_cast<void>(table.rewrite({1}, [](const RowView& view) { return view.bytes(); }));
  });
  refused([&] { static_cast<void>(table.erase({1})); });
  refused([&] { static_cast<void>(table.erase_range(Range::all())); });
  refused([&] { static_cast<void>(RowEncoder(table)); });
  refused([&] { static_cast<void>(RowSort(table)); });
  refused([&] { static_cast<void>(RowWriter::of(table)); });
  EXPECT_EQ(error_of([&] { return database_.prefetch({{table, {1}}}), 0; }, "moved from"),
            kRefused);
  Transaction in = database_.begin();
  refused([&] { static_cast<void>(table.get(in, {1})); });
  refused([&] { static_cast<void>(table.insert(in, {1, 2})); });
  refused([&] { static_cast<void>(table.erase_range(in, Range::all())); });
  table = std::move(moved);
  EXPECT_TRUE(table.get(in, {1})) << "the transaction goes on";
}

TEST_F(MisuseTest, AnIndexThatWasMovedAwayIsRefused) {
  const Table table = table_of_rows(narrow(), 1);
  database_.create_index("narrow", {.name = "by_a", .columns = {"a"}, .unique = true});
  Index index = table.index("by_a");
  const Index moved = std::move(index);
  const auto refused = [](const auto& call) { expect_moved_away("index", call); };
  refused([&] { static_cast<void>(index.schema()); });
  refused([&] { static_cast<void>(index.get({10})); });
  refused([&] { static_cast<void>(index.cursor()); });
  EXPECT_EQ(error_of([&] { return database_.prefetch({{index, {10}}}), 0; }, "moved from"),
            kRefused);
  EXPECT_TRUE(moved.get({10}));
}

TEST_F(MisuseTest, ATableOfStructsThatWasMovedAwayIsRefused) {
  struct Narrow {
    std::int64_t id = 0;
    std::int64_t a = 0;
  };
  TableOf<Narrow> table(table_of_rows(narrow(), 1), {{"id", &Narrow::id}, {"a", &Narrow::a}});
  const TableOf<Narrow> moved = std::move(table);
  const Row row = moved.table().get({1}).value();
  const auto refused = [](const auto& call) { expect_moved_away("table", call); };
  refused([&] { static_cast<void>(table.get({1})); });
  refused([&] { static_cast<void>(table.of(row.view())); });
  refused([&] { static_cast<void>(table.insert({.id = 2})); });
  refused([&] { static_cast<void>(table.update({.id = 1})); });
  refused([&] { static_cast<void>(table.modify({1}, [](Narrow&) {})); });
  refused([&] { static_cast<void>(table.erase({1})); });
  EXPECT_EQ(moved.get({1}).value().a, 10);
}

TEST_F(MisuseTest, AnEncoderThatWasMovedAwayIsRefused) {
  RowEncoder encode(table_of_rows(narrow(), 1));
  RowEncoder moved = std::move(encode);
  expect_moved_away("encoder", [&] { static_cast<void>(encode({1, 2})); });
  EXPECT_FALSE(moved({1, 2}).key.empty());
}

TEST_F(MisuseTest, ASortThatWasMovedAwayIsRefused) {
  const Table table = table_of_rows(narrow(), 1);
  RowEncoder encode(table);
  RowSort sort(table);
  RowSort moved = std::move(sort);
  const auto refused = [](const auto& call) { expect_moved_away("sort", call); };
  refused([&] { sort.add(encode({1, 2})); });
  refused([&] { static_cast<void>(sort.save()); });
  refused([&] { sort.finish(); });
  refused([&] { static_cast<void>(sort.next()); });
  refused([&] { static_cast<void>(sort.row()); });
  refused([&] { static_cast<void>(sort.note()); });
  EXPECT_EQ(sort.row_bytes_max(), 0U);
  EXPECT_EQ(sort.file_bytes(1'000'000, 1'000'000'000), 0U);
  moved.add(encode({1, 2}));
  moved.finish();
  EXPECT_TRUE(moved.next());
}
// NOLINTEND(bugprone-use-after-move)

// Cursors

TEST_F(MisuseTest, ACursorOfABulkThatIsGoneIsRefused) {
  const Table table = table_of_rows(narrow(), 100);
  std::optional<Transaction> bulk = database_.begin({.bulk = true});
  Cursor cursor = table.cursor(*bulk);
  Cursor second = table.cursor(*bulk);
  Cursor third = table.cursor(*bulk);
  ASSERT_TRUE(cursor.valid());
  cursor.next();
  bulk.reset();
  EXPECT_EQ(error_of([&] { return cursor.next(), 0; }, "has ended"), kRefused);
  EXPECT_EQ(error_of([&] { return cursor.seek_first(), 0; }, "has ended"), kRefused);
  const Transaction next = database_.begin();  // in the same slot
  EXPECT_EQ(error_of([&] { return second.next(), 0; }, "has ended"), kRefused);
  bulk = database_.begin({.bulk = true});
  EXPECT_EQ(error_of([&] { return third.next(), 0; }, "has ended"), kRefused);
}

TEST_F(MisuseTest, ACursorOfABulkThatHasEndedIsRefused) {
  const Table table = table_of_rows(narrow(), 100);
  Transaction bulk = database_.begin({.bulk = true});
  Cursor cursor = table.cursor(bulk);
  bulk.commit();
  EXPECT_EQ(error_of([&] { return cursor.next(), 0; }, "has ended"), kRefused);
}

// Columns

TEST_F(MisuseTest, AColumnBehindTheRowIsNotSet) {
  const Table table = table_of_rows(narrow(), 3);
  const Table other = database_.create_table(wide());
  const auto far = other.column<std::int64_t>("c7");
  const auto last = other.column<std::int64_t>("last");
  const auto edit = [&](const auto& change) {
    return error_of([&] { return table.modify({2}, change); }, "edited in place");
  };
  EXPECT_EQ(edit([&](RowEditor& row) { row.set(far, kOther); }), kRefused);
  EXPECT_EQ(edit([&](RowEditor& row) { row.set(last, kOther); }), kRefused);
  EXPECT_EQ(edit([&](RowEditor& row) { row.set_null(last); }), kRefused);
  EXPECT_EQ(edit([&](RowEditor& row) { EXPECT_EQ(row.get(far), 0); }), kRefused);
  for (std::int64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ((*table.get({id}))["a"].as_integer(), 10 * id);
  }
}

TEST_F(MisuseTest, AColumnBehindTheRowIsNotShown) {
  const Table table = table_of_rows(narrow(), 1);
  const Table other = database_.create_table(wide());
  const auto far = other.column<std::int64_t>("c7");
  const auto last = other.column<std::int64_t>("last");
  const Row row = table.get({1}).value();
  EXPECT_EQ(error_of([&] { return row.get(far); }, "table \"narrow\""), kRefused);
  EXPECT_EQ(error_of([&] { return row.get_nullable(last); }, "another table"), kRefused);
  EXPECT_EQ(error_of([&] { return row.view().is_null(last); }), kRefused);
  EXPECT_EQ(error_of([&] {
              return table.read({1},
                                [&](const RowView& view) { static_cast<void>(view.get(far)); });
            }),
            kRefused);
}

TEST_F(MisuseTest, AColumnOfATableThatWasMadeAnewIsRefused) {
  const auto far = database_.create_table(wide("narrow")).column<std::int64_t>("c7");
  database_.drop_table("narrow");
  const Table table = table_of_rows(narrow(), 1);
  EXPECT_EQ(
      error_of([&] { return table.modify({1}, [&](RowEditor& row) { row.set(far, kOther); }); }),
      kRefused);
}

TEST_F(MisuseTest, AnEditThatIsRefusedHalfWayChangesNothing) {
  const Table table = database_.create_table(key_value_table("word"));
  const Table other = database_.create_table(wide());
  const auto near = other.column<std::int64_t>("c0");
  const auto far = other.column<std::int64_t>("c7");
  const std::string value(32, 'v');
  Transaction in = database_.begin();
  table.insert(in, {"key", std::string_view(value)}).require();
  const auto edit = [&](RowEditor& row) {
    row.set(near, kOther);
    row.set(far, kOther);
  };
  EXPECT_EQ(error_of([&] { return table.modify(in, {"key"}, edit); }), kRefused);
  EXPECT_EQ(table.get(in, {"key"})->bytes(), value);
}

// Keys of indexes

TEST_F(MisuseTest, AKeyThatIsTooLongForAnIndexNamesIt) {
  const Table table = database_.create_table(texts());
  const std::string longer(600, 'x');
  const std::string longest(15'000, 'x');
  for (const bool unique : {false, true}) {
    database_.create_index("text", {.name = "by_text", .columns = {"text"}, .unique = unique});
    for (const std::string& text : {longer, longest}) {
      EXPECT_EQ(
          error_of([&] { return table.insert({7, std::string_view(text)}); },
                   "table \"text\", index \"by_text\", row (7): a key of more than 512 bytes"),
          kRefused);
    }
    database_.drop_index("text", "by_text");
  }
}

TEST_F(MisuseTest, AnIndexThatRowsAreTooLongForIsNotMade) {
  const Table table = database_.create_table(texts());
  const std::string fits(500, 'y');
  table.insert({1, std::string_view(fits)}).require();
  for (const std::size_t bytes : {std::size_t{600}, std::size_t{15'000}}) {
    const std::string text(bytes, 'x');
    table.upsert({7, std::string_view(text)}).require();
    for (const bool unique : {false, true}) {
      const IndexSchema schema{.name = "by_text", .columns = {"text"}, .unique = unique};
      EXPECT_EQ(
          error_of([&] { return database_.create_index("text", schema), 0; },
                   "table \"text\", index \"by_text\", row (7): a key of more than 512 bytes"),
          kRefused);
      Transaction bulk = database_.begin({.bulk = true});
      EXPECT_EQ(error_of([&] { return bulk.create_index("text", schema); }, "row (7)"), kRefused);
    }
  }
  EXPECT_TRUE(table.indexes().empty());
}

TEST_F(MisuseTest, AnEmptyTextIsNoKeyOfAUniqueIndex) {
  const Table table = database_.create_table(texts());
  database_.create_index("text", {.name = "by_text", .columns = {"text"}, .unique = true});
  EXPECT_EQ(error_of([&] { return table.insert({7, ""}); },
                     "table \"text\", index \"by_text\", row (7): a key of 0 bytes"),
            kRefused);
}

// Sorting

TEST_F(MisuseTest, ASortTellsWhoseTurnItIs) {
  const Table table = database_.create_table(narrow());
  RowEncoder encode(table);
  RowSort sort(table);
  EXPECT_EQ(error_of([&] { return sort.next(); }, "added, then finished"), kRefused);
  EXPECT_EQ(error_of([&] { return sort.row(); }, "next()"), kRefused);
  EXPECT_EQ(error_of([&] { return sort.save(); }, "kept_as"), kRefused);
  sort.add(encode({1, 2}));
  sort.finish();
  EXPECT_EQ(error_of([&] { return sort.add(encode({2, 2})), 0; }), kRefused);
  EXPECT_EQ(error_of([&] { return sort.finish(), 0; }), kRefused);
  EXPECT_EQ(error_of([&] { return sort.row(); }), kRefused);
  EXPECT_EQ(error_of([&] { return sort.note(); }), kRefused);
  ASSERT_TRUE(sort.next()) << "it goes on";
  EXPECT_EQ(sort.row().key, encode({1, 2}).key);
  EXPECT_FALSE(sort.next());
  EXPECT_FALSE(sort.next());
  EXPECT_EQ(error_of([&] { return sort.row(); }), kRefused);
}

TEST_F(MisuseTest, ASortThatIsReadIsNotSaved) {
  RowSort sort(database_.create_table(narrow()), {.kept_as = "narrow.runs"});
  sort.finish();
  EXPECT_EQ(error_of([&] { return sort.save(); }, "added, then finished"), kRefused);
}

// Databases

void expect_unusable(Database& database, std::string_view why) {
  EXPECT_EQ(error_of([&] { return database.close(), 0; }, why), kRefused);
  EXPECT_EQ(error_of([&] { return database.begin(); }, why), kRefused);
  EXPECT_EQ(error_of([&] { return database.run([](Transaction&) { return 0; }); }, why), kRefused);
  EXPECT_EQ(error_of([&] { return database.table("t"); }, why), kRefused);
  EXPECT_EQ(error_of([&] { return database.find_table("t"); }, why), kRefused);
  EXPECT_EQ(error_of([&] { return database.tables(); }, why), kRefused);
  EXPECT_EQ(error_of([&] { return database.create_table(narrow()); }, why), kRefused);
  EXPECT_EQ(error_of([&] { return database.prefetch({}), 0; }, why), kRefused);
  EXPECT_EQ(error_of([&] { return database.statistics().pool_bytes; }, why), kRefused);
  EXPECT_EQ(error_of([&] { return database.options().size(); }, why), kRefused);
}

TEST_F(MisuseTest, ADatabaseThatWasClosedIsRefused) {
  database_.close();
  expect_unusable(database_, "was closed");
}

TEST_F(MisuseTest, ADatabaseThatWasMovedAwayIsRefused) {
  Database moved = std::move(database_);
  expect_unusable(database_, "was moved from");  // NOLINT(bugprone-use-after-move): on purpose
  database_ = std::move(moved);
  EXPECT_TRUE(database_.tables().empty());
}

// What run() returns

TEST_F(MisuseTest, ABodyMayReturnAReference) {
  int number = 7;
  auto body = [&](Transaction&) -> int& { return number; };
  static_assert(std::is_same_v<decltype(database_.run(body)), int&>);
  int& same = database_.run(body);
  EXPECT_EQ(&same, &number);
  const auto text = database_.run([](Transaction&) { return std::string(100, 'x'); });
  EXPECT_EQ(text, std::string(100, 'x'));
  std::unique_ptr<int> owned = database_.run([](Transaction&) { return std::make_unique<int>(8); });
  EXPECT_EQ(*owned, 8);
}

}  // namespace
}  // namespace palimpsest
