// Rows encoded and sorted outside of their table.
#include "palimpsest/row_sort.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/row_encoder.h"

#include "base/random.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::error_of;

constexpr std::size_t kMemory = std::size_t{128} << 10U;

TableSchema word_schema(const std::string& name = "word") {
  return {.name = name, .columns = {{"id", int32()}, {"text", varchar(1'000'000)}}, .key = {"id"}};
}

class RowSortTest : public ::testing::Test {
 protected:
  RowSortTest() {
    database_.run([](Transaction& in) { in.create_table(word_schema()).require(); });
  }

  [[nodiscard]] Table words() { return database_.table("word"); }
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path("database"))) {
      count += entry.path().extension() == ".tmp" ? 1U : 0U;
    }
    return count;
  }

  test::TemporaryDirectory directory_;
  Database database_ = Database::open(directory_.path("database"), {.memory_bytes = 16 << 20});
};

TEST_F(RowSortTest, AnyNumberOfRowsComesOutInTheOrderOfKeys) {
  Random random(test::seed());
  RowEncoder encode(words());
  RowSort sort(words(), {.memory_bytes = kMemory});
  std::vector<std::int32_t> ids(20'000);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<std::int32_t>(i) - 10'000;
  }
  for (std::size_t i = ids.size() - 1; i > 0; --i) {
    std::swap(ids[i], ids[random.below(i + 1)]);
  }
  for (const std::int32_t id : ids) {
    const std::string text = fmt::format("the text of {}", id);
    sort.add(encode({id, std::string_view(text)}), fmt::format("note {}", id));
  }
  EXPECT_EQ(files(), 0U) << "nothing would remove it if the process were killed";
  sort.finish();
  Transaction bulk = database_.begin({.bulk = true});
  std::int32_t id = -10'000;
  for (; sort.next(); ++id) {
    EXPECT_EQ(sort.note(), fmt::format("note {}", id));
    words().insert(bulk, sort.row()).require();
  }
  EXPECT_EQ(id, 10'000);
  bulk.commit();
  for (const std::int32_t one : {-10'000, -1, 0, 9'999}) {
    EXPECT_EQ((*words().get({one}))["text"].as_bytes(), fmt::format("the text of {}", one));
  }
}

TEST_F(RowSortTest, RowsWithOneKeyStayInTheirOrder) {
  RowEncoder encode(words());
  RowSort sort(words(), {.memory_bytes = kMemory, .threads = 0});
  for (int i = 0; i < 100; ++i) {
    sort.add(encode({i % 10, "text"}), std::to_string(i));
  }
  sort.finish();
  for (int id = 0; id < 10; ++id) {
    for (int i = id; i < 100; i += 10) {
      ASSERT_TRUE(sort.next());
      EXPECT_EQ(sort.note(), std::to_string(i));
    }
  }
  EXPECT_FALSE(sort.next());
}

TEST_F(RowSortTest, OfATableThatTheTransactionMakes) {
  Transaction bulk = database_.begin({.bulk = true});
  bulk.create_table(word_schema("new")).require();
  const Table table = bulk.table("new");
  RowEncoder encode(table);
  RowSort sort(table);
  for (const int id : {3, 1, 2}) {
    sort.add(encode({id, "x"}));
  }
  sort.finish();
  std::vector<std::int64_t> ids;
  while (sort.next()) {
    table.insert(bulk, sort.row()).require();
    EXPECT_EQ(sort.note(), "");
  }
  bulk.commit();
  database_.table("new").visit(Range::all(), [&](const RowView& row) {
    ids.push_back(row["id"].as_integer());
    return true;
  });
  EXPECT_THAT(ids, testing::ElementsAre(1, 2, 3));
}

TEST_F(RowSortTest, RowsAreKeptForAnotherSort) {
  RowEncoder encode(words());
  const RowSortOptions options{.memory_bytes = kMemory, .kept_as = "words.runs"};
  std::string saved;
  {
    RowSort sort(words(), options);
    for (const int id : {3, 1, 2}) {
      sort.add(encode({id, "x"}), std::to_string(id));
    }
    saved = sort.save();
    sort.add(encode({0, "not saved"}));
  }
  EXPECT_EQ(saved.find('\n'), std::string::npos);
  RowSortOptions with_saved = options;
  with_saved.saved = saved;
  RowSort sort(words(), with_saved);
  sort.add(encode({2, "later"}), "4");
  sort.finish();
  std::string notes;
  while (sort.next()) {
    notes += sort.note();
  }
  EXPECT_EQ(notes, "1243");
  EXPECT_TRUE(std::filesystem::exists(directory_.path("database/words.runs")));
  for (const std::string name : {"pages", ".runs", "a/b.runs"}) {
    EXPECT_EQ(error_of([&] { return RowSort(words(), {.kept_as = name}); }, name),
              ErrorCode::invalid_argument);
  }
}

TEST_F(RowSortTest, WhatIsRefusedDoesNotEndIt) {
  RowEncoder encode(words());
  RowSort sort(words(), {.memory_bytes = kMemory});
  EXPECT_EQ(error_of([&] { return encode({"x", "y"}); }, "column \"id\""),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { return encode({1}); }, "2 columns"), ErrorCode::invalid_argument);
  const std::string large(kMemory, 'x');
  const EncodedRow row = encode({1, std::string_view(large)});
  EXPECT_GT(row.key.size() + row.bytes.size(), sort.row_bytes_max());
  EXPECT_EQ(error_of([&] { return sort.add(row), 0; }), ErrorCode::invalid_argument);
  const std::string fits(sort.row_bytes_max() - 100, 'y');
  sort.add(encode({2, std::string_view(fits)}), std::string(30, 'n'));
  sort.finish();
  ASSERT_TRUE(sort.next());
  EXPECT_EQ(sort.note(), std::string(30, 'n'));
  EXPECT_FALSE(sort.next());
  database_.run([](Transaction& in) { in.drop_table("word").require(); });
  EXPECT_EQ(error_of([&] { return words(); }), ErrorCode::not_found);
}

}  // namespace
}  // namespace palimpsest
