// Entries of secondary indexes: which key and value stand in an index's tree for a row.
//
//   unique index       key: the index columns      value: the primary key
//                      A row with a null in an index column is like no other: its primary key is
//                      appended to the entry's key, too.
//   other indexes      key: the index columns, then the primary key      value: empty
//
// The index columns are as key_codec.h says: open only in a unique index none of whose columns is
// nullable, since nothing ever follows there. The primary key has its own bytes, so that it is
// taken off an entry as it is.
//
// Failure: as the codec of keys. Thread-safety: immutable. Encoding does not allocate.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "palimpsest/schema.h"
#include "palimpsest/value.h"

#include "base/bytes.h"
#include "engine/format/key_codec.h"

namespace palimpsest::engine {

/// What stands in an index's tree; views.
struct IndexEntry {
  ByteView key;
  ByteView value;
};

class IndexCodec {
 public:
  /// Of schemas that are valid.
  IndexCodec(const TableSchema& table, const IndexSchema& index);

  /// The index columns: for prefixes and bounds of scans.
  [[nodiscard]] const KeyCodec& columns() const noexcept { return columns_; }
  [[nodiscard]] bool is_unique() const noexcept { return unique_; }

  /// The entry of a row: `values` are those of all columns of the schema in declared order,
  /// `primary_key` is its encoded key and not in `into`. The key lies in `into`, the value is
  /// `primary_key` or empty.
  [[nodiscard]] IndexEntry encode(std::span<const Value> values, ByteView primary_key,
                                  std::span<char> into) const;

  /// The encoded primary key of the row that an entry, which may be hostile, stands for; nothing if
  /// it is none of this index. A view of the entry. Whether it is a primary key is not judged.
  [[nodiscard]] std::optional<ByteView> primary_key(const IndexEntry& entry) const noexcept;
  /// Takes an entry apart: its index columns are in `decoded`. Why it is none of this index;
  /// nothing if it is.
  [[nodiscard]] std::optional<std::string> decode(const IndexEntry& entry,
                                                  DecodedKey& decoded) const;

 private:
  [[nodiscard]] bool has_null(std::span<const Value> values) const noexcept;

  KeyCodec columns_;
  std::string name_;  ///< for messages
  bool unique_;
};

}  // namespace palimpsest::engine
