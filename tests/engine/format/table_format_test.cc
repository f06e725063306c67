// The properties of a whole table in its format.
#include "engine/format/table_format.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "palimpsest/schema.h"

namespace palimpsest::engine {
namespace {

bool is_key_value(TableSchema schema) {
  StoredTable stored;
  stored.schema = std::move(schema);
  return palimpsest::detail::TableFormat(std::move(stored)).is_key_value();
}

TableSchema two_columns(const DataType& first, const DataType& second, const std::string& key) {
  return {.name = "t", .columns = {{"a", first}, {"b", second}}, .key = {key}};
}

TEST(TableFormat, AnyBytesAreAKeyAndARowOfAKeyValueTable) {
  EXPECT_TRUE(is_key_value(key_value_table("t")));
  const DataType key = types::bytes(kKeyBytesMax);
  EXPECT_TRUE(is_key_value(two_columns(types::bytes(), key, "b")));
  EXPECT_TRUE(is_key_value(two_columns(key, types::varchar(kVarcharBytesMax), "a")));
}

TEST(TableFormat, WhereSomeBytesAreNoneItIsNoKeyValueTable) {
  const DataType key = types::bytes(kKeyBytesMax);
  EXPECT_FALSE(is_key_value(two_columns(types::bytes(100), types::bytes(), "a"))) << "long keys";
  EXPECT_FALSE(is_key_value(two_columns(key, types::bytes(100), "a"))) << "long rows";
  EXPECT_FALSE(is_key_value(two_columns(types::int64(), types::bytes(), "a")));
  EXPECT_FALSE(is_key_value(two_columns(key, types::int64(), "a")));
  EXPECT_FALSE(is_key_value(two_columns(key, types::nullable(types::bytes()), "a")));
  TableSchema three = two_columns(key, types::bytes(), "a");
  three.columns.push_back({"c", types::bytes()});
  EXPECT_FALSE(is_key_value(three));
  TableSchema both = two_columns(key, types::bytes(100), "a");
  both.key = {"a", "b"};
  EXPECT_FALSE(is_key_value(both));
}

}  // namespace
}  // namespace palimpsest::engine
