// The rows of these benchmarks (rows.h) as tables of Palimpsest.
#pragma once

#include <cstdint>
#include <string>

#include "palimpsest/database.h"
#include "palimpsest/table_of.h"

#include "experiments/bulk/rows.h"

namespace palimpsest::experiments::bulk {

[[nodiscard]] TableSchema schema_of(const std::string& name);
[[nodiscard]] TableOf<Row> rows_of(const Table& table);

/// Inserts the rows [first, end), many per call.
void insert_rows(const TableOf<Row>& table, Transaction& in, std::uint64_t first,
                 std::uint64_t end);

/// A table of the rows [0, rows), made by one bulk.
[[nodiscard]] Table make_table(Database& database, const std::string& name, std::uint64_t rows);

}  // namespace palimpsest::experiments::bulk
