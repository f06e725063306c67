#include "engine/catalog/rows_rebuild.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "palimpsest/error.h"
#include "palimpsest/row.h"

#include "base/sync_point.h"
#include "btree/cursor.h"
#include "bulk/tree_loader.h"
#include "engine/format/row_values.h"
#include "engine/format/value_text.h"
#include "engine/table/new_row.h"

namespace palimpsest::engine {
namespace {

constexpr std::size_t kRowsAtATime = 1000;

class RowConversion {
 public:
  RowConversion(const TableDefinition& before, const TableDefinition& after,
                std::span<const std::optional<std::size_t>> sources, const ConvertRow* convert)
      : before_(*before.format),
        after_(after),
        sources_(sources),
        convert_(convert),
        row_(sources.size()) {}

  /// The new row, valid until the next call.
  [[nodiscard]] btree::NewRecord of(ByteView key, ByteView row);

 private:
  [[nodiscard]] btree::NewRecord encode(ByteView key);
  [[noreturn]] void refuse(ByteView key, std::string_view why) const {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}, in row {}", why, text_of_key(before_.keys(), key)));
  }

  const TableFormat& before_;
  const TableDefinition& after_;
  const std::span<const std::optional<std::size_t>> sources_;
  const ConvertRow* const convert_;
  RowValues values_;
  KeyParts parts_;
  std::vector<Value> row_;
  KeyMemory key_memory_;
  std::string row_memory_;
};

btree::NewRecord RowConversion::of(ByteView key, ByteView row) {
  const std::span<const Value> values = values_.of(before_, key, row);
  for (std::size_t column = 0; column < row_.size(); ++column) {
    row_[column] = sources_[column] ? values[*sources_[column]] : Value();
  }
  if (convert_ != nullptr) {
    parts_.forget();
    (*convert_)(RowView(key, row, before_, parts_), row_);
  }
  return encode(key);
}

btree::NewRecord RowConversion::encode(ByteView key) {
  btree::NewRecord made;
  try {
    made = record_of(after_, row_, key_memory_, row_memory_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) {
      throw;
    }
    refuse(key, error.what());
  }
  if (made.key != key) {
    refuse(key, fmt::format("table \"{}\": altering it cannot change the key of a row",
                            before_.schema().name));
  }
  return made;
}

}  // namespace

void rebuild_rows(txn::Transactions& transactions, txn::Transaction& maker,
                  const TableDefinition& before, const TableDefinition& after,
                  std::span<const std::optional<std::size_t>> sources, const ConvertRow* convert) {
  RowConversion conversion(before, after, sources, convert);
  bulk::TreeLoader fill(transactions, maker, *after.rows);
  std::string row;
  btree::Cursor rows(*before.rows, kRowsAtATime);
  std::size_t count = 0;
  for (rows.seek_first(); rows.valid(); rows.next()) {
    if (count++ % kRowsAtATime == 0) {
      fill.go_on();
    }
    if (rows.read_value(row)) {
      fill.add(conversion.of(rows.key(), row));
    }
  }
  fill.finish();
  PALIMPSEST_SYNC_POINT("engine.table.rebuilt");
}

}  // namespace palimpsest::engine
