#include "experiments/bulk/table.h"

#include <algorithm>
#include <span>
#include <vector>

namespace palimpsest::experiments::bulk {

TableSchema schema_of(const std::string& name) {
  using namespace palimpsest::types;
  return {.name = name,
          .columns = {{"id", int64()},
                      {"number", int64()},
                      {"round", int64()},
                      {"body", character(kBodyBytes)}},
          .key = {"id"}};
}

TableOf<Row> rows_of(const Table& table) {
  return {
      table,
      {{"id", &Row::id}, {"number", &Row::number}, {"round", &Row::round}, {"body", &Row::body}}};
}

void insert_rows(const TableOf<Row>& table, Transaction& in, std::uint64_t first,
                 std::uint64_t end) {
  constexpr std::uint64_t kRowsOfCall = 500;
  std::vector<Row> rows(std::min(kRowsOfCall, end - first));
  while (first < end) {
    const std::uint64_t count = std::min<std::uint64_t>(rows.size(), end - first);
    for (std::uint64_t i = 0; i < count; ++i) {
      make_row(first + i, rows[i]);
    }
    table.insert_many(in, std::span(rows).first(count)).require();
    first += count;
  }
}

Table make_table(Database& database, const std::string& name, std::uint64_t rows) {
  const Table table = database.create_table(schema_of(name));
  Transaction bulk = database.begin({.bulk = true});
  insert_rows(rows_of(table), bulk, 0, rows);
  bulk.commit();
  return table;
}

}  // namespace palimpsest::experiments::bulk
