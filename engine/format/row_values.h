// Decodes all columns of a stored row to values, in declared order: the input of index entries.
//
// Thread-safety: one object belongs to one thread; reusable.
// Failure: Error corruption, naming the table, for an invalid key or row.
#pragma once

#include <span>
#include <vector>

#include "palimpsest/value.h"

#include "base/bytes.h"
#include "engine/format/table_format.h"

namespace palimpsest::engine {

class RowValues {
 public:
  /// The values view the key, the row and this object; valid until the next call.
  [[nodiscard]] std::span<const Value> of(const TableFormat& format, ByteView key, ByteView row);

 private:
  KeyParts key_;
  std::vector<Value> values_;
};

}  // namespace palimpsest::engine
