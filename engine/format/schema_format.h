// The catalog's record of a table: its schema, the schemas of its indexes, and their trees.
//
// On disk (little-endian; a name is one byte with its length and then its bytes):
//    0  2  version        kSchemaVersion
//    2  2  reserved       zero
//    4  4  tree           of the table, not 0
//    8  2  column_count
//   10  2  key_count      columns of the primary key
//   12  2  index_count
//   14  2  reserved       zero
//   16  .  name           of the table
// then each column, in declared order:
//    0  1  type           ColumnType
//    1  1  flags          bit 0: nullable
//    2  1  precision      0 unless a decimal
//    3  1  scale          0 unless a decimal
//    4  4  length         0 unless character, varchar or bytes
//    8  .  name
// then for each column of the primary key 2 bytes with its number among the columns; then each
// index, with distinct names:
//    0  4  tree           not 0, and distinct
//    4  1  flags          bit 0: unique
//    5  1  reserved       zero
//    6  2  column_count   and, behind the name, 2 bytes with the number of each
//    8  .  name
// The version is also that of the rows, keys and index entries of the table (row_layout.h,
// key_writer.h, index_codec.h).
//
// Failure: Error unsupported_version, or corruption naming the wrong field; safe for any bytes.
// What decodes is valid, and encodes to the same bytes. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "palimpsest/schema.h"

#include "base/bytes.h"
#include "base/ids.h"

namespace palimpsest::engine {

inline constexpr std::uint16_t kSchemaVersion = 1;

struct StoredIndex {
  IndexSchema schema;
  TreeId tree = kNoTree;

  friend bool operator==(const StoredIndex&, const StoredIndex&) = default;
};

struct StoredTable {
  TableSchema schema;
  TreeId tree = kNoTree;
  std::vector<StoredIndex> indexes{};

  friend bool operator==(const StoredTable&, const StoredTable&) = default;
};

/// Throws invalid_argument if a schema, the number or the names of the indexes, or the trees are
/// invalid.
[[nodiscard]] std::string encode_table(const StoredTable& table);
[[nodiscard]] StoredTable decode_table(ByteView bytes);

}  // namespace palimpsest::engine
