// Rows to be written, as records of their table's tree.
//
// Failure: Error invalid_argument for an invalid row, naming table, column and limit.
// Thread-safety: belongs to one thread.
#pragma once

#include <span>
#include <string>

#include "palimpsest/row.h"
#include "palimpsest/table.h"

#include "base/bytes.h"
#include "btree/write_outcome.h"
#include "engine/format/row_values.h"
#include "engine/table/encoded_keys.h"
#include "engine/table/table_definition.h"

namespace palimpsest::engine {

/// The record of a row from the values of all its columns; views of these and of the memory. Throws
/// invalid_argument for an invalid row.
[[nodiscard]] btree::NewRecord record_of(const TableDefinition& definition,
                                         std::span<const Value> values, KeyMemory& key_memory,
                                         std::string& row_memory);

/// A row to be written, with the memory that it may need.
class NewRow {
 public:
  /// Both throw invalid_argument for an invalid row. The arguments outlive this.
  NewRow(const TableDefinition& definition, const Values& row);
  NewRow(const TableDefinition& definition, const EncodedRow& row);
  NewRow(const NewRow&) = delete;
  NewRow& operator=(const NewRow&) = delete;

  [[nodiscard]] ByteView key() const noexcept { return key_; }
  [[nodiscard]] ByteView bytes() const noexcept { return bytes_; }
  /// Of all columns, in declared order.
  [[nodiscard]] std::span<const Value> values(const TableFormat& format);

 private:
  KeyMemory key_memory_;
  std::string encoded_;
  RowValues decoded_;
  ByteView key_;
  ByteView bytes_;
  std::span<const Value> values_;  ///< the caller's, if it gave any
};

/// The record of an encoded row. Throws invalid_argument for an invalid row.
[[nodiscard]] btree::NewRecord record_of(const TableDefinition& definition, const EncodedRow& row);

}  // namespace palimpsest::engine
