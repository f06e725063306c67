// All columns of a stored row as values, in declared order: what index entries are made of.
//
// Thread-safety: one object belongs to one thread; used again for the next row.
// Failure: Error corruption, naming the table, for a key or a row that is none of it.
#pragma once

#include <span>
#include <vector>

#include "palimpsest/value.h"

#include "base/bytes.h"
#include "engine/format/table_format.h"

namespace palimpsest::engine {

class RowValues {
 public:
  /// The values view the key, the row and this; valid until the next call.
  [[nodiscard]] std::span<const Value> of(const TableFormat& format, ByteView key, ByteView row);

 private:
  KeyParts key_;
  std::vector<Value> values_;
};

}  // namespace palimpsest::engine
