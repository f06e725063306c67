// `palimpsest load` reads the schemas' texts as these schemas.
#include "experiments/tpch/schemas.h"

#include <gtest/gtest.h>

#include "tools/load/schema_text.h"

namespace palimpsest::experiments::tpch {
namespace {

TEST(TpchSchemas, AreThoseOfTheLoader) {
  for (const TableId table : kTables) {
    const auto parsed = palimpsest::load::parse_schema(schema_text(table), name_of(table));
    EXPECT_EQ(parsed.table, schema_of(table)) << schema_text(table);
    EXPECT_TRUE(parsed.indexes.empty());
  }
}

}  // namespace
}  // namespace palimpsest::experiments::tpch
