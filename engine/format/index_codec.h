// Entries of secondary indexes: the key and value that an index's tree has for a row.
//
//   unique index       key: the index columns      value: the primary key
//                      A row with a null in an index column equals no other: its primary key is
//                      appended to the entry's key, too.
//   other indexes      key: the index columns, then the primary key      value: empty
//
// The index columns are encoded as key_codec.h says; they are open only in a unique index without
// nullable columns, because nothing ever follows them there. The primary key retains its own bytes,
// so that it can be cut off an entry.
//
// Failure: as KeyCodec. Thread-safety: immutable. Encoding does not allocate.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "palimpsest/schema.h"
#include "palimpsest/value.h"

#include "base/bytes.h"
#include "engine/format/key_codec.h"

namespace palimpsest::engine {

/// A record of an index's tree; views.
struct IndexEntry {
  ByteView key;
  ByteView value;
};

class IndexCodec {
 public:
  /// The schemas are valid.
  IndexCodec(const TableSchema& table, const IndexSchema& index);

  /// The index columns: for prefixes and bounds of scans.
  [[nodiscard]] const KeyCodec& columns() const noexcept { return columns_; }
  [[nodiscard]] bool is_unique() const noexcept { return unique_; }

  /// The entry of a row: `values` are those of all columns of the schema in declared order;
  /// `primary_key` is its encoded key, outside `into`. The entry's key is in `into`, its value is
  /// `primary_key` or empty.
  [[nodiscard]] IndexEntry encode(std::span<const Value> values, ByteView primary_key,
                                  std::span<char> into) const;

  /// The encoded primary key that an entry, which may be hostile, contains; nothing if the entry is
  /// not one of this index. A view of the entry. Does not check that it is a valid primary key.
  [[nodiscard]] std::optional<ByteView> primary_key(const IndexEntry& entry) const noexcept;
  /// Decodes an entry's index columns into `decoded`. Returns why it is not an entry of this index;
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
