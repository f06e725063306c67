// How a table's rows, keys and index entries are stored: everything that is computed once from its
// schemas. A RowView reads by it.
//
// In namespace detail, because the public headers name it. Made by std::make_shared only: copies of
// rows share it, whatever becomes of the table's definition.
// Thread-safety: immutable; a KeyParts belongs to one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "palimpsest/column.h"
#include "palimpsest/schema.h"

#include "base/bytes.h"
#include "engine/format/index_codec.h"
#include "engine/format/key_codec.h"
#include "engine/format/row_layout.h"
#include "engine/format/schema_format.h"

namespace palimpsest::detail {

class TableFormat : public RowFormat, public std::enable_shared_from_this<TableFormat> {
 public:
  struct Index {
    engine::IndexCodec codec;
    std::vector<std::size_t> columns;  ///< their numbers in the table's schema
  };

  /// The schemas are valid.
  explicit TableFormat(engine::StoredTable stored);

  /// For shared ownership: a RowView has only a reference.
  [[nodiscard]] std::shared_ptr<const TableFormat> share() const { return shared_from_this(); }

  [[nodiscard]] const engine::StoredTable& stored() const noexcept { return stored_; }
  [[nodiscard]] const TableSchema& schema() const noexcept { return stored_.schema; }
  [[nodiscard]] const engine::RowLayout& rows() const noexcept { return rows_; }
  [[nodiscard]] const engine::KeyCodec& keys() const noexcept { return keys_; }
  /// In the order of stored().indexes.
  [[nodiscard]] std::span<const Index> indexes() const noexcept { return indexes_; }
  [[nodiscard]] std::optional<std::size_t> find_index(std::string_view name) const noexcept;
  /// Throws not_found.
  [[nodiscard]] std::size_t require_index(std::string_view name) const;
  /// The column's number among those of the key; nothing if it is in the row.
  [[nodiscard]] std::optional<std::size_t> key_position(std::size_t column) const noexcept;
  /// The place of a fixed-width column that is not in the key.
  [[nodiscard]] FixedPlace fixed_place(std::size_t column) const noexcept;
  /// Whether any index has this column.
  [[nodiscard]] bool is_indexed(std::size_t column) const noexcept { return indexed_[column]; }
  /// Whether any bytes are a valid key, and a valid row: one column each, of bytes, never null.
  [[nodiscard]] bool is_key_value() const noexcept { return key_value_; }

 private:
  engine::StoredTable stored_;
  engine::RowLayout rows_;
  engine::KeyCodec keys_;
  std::vector<Index> indexes_;
  std::vector<bool> indexed_;
  bool key_value_ = false;
};

/// Decodes a row's key on the first request for one of its columns; reusable for the next row.
class KeyParts {
 public:
  KeyParts() = default;
  KeyParts(const KeyParts&) = delete;
  KeyParts& operator=(const KeyParts&) = delete;

  /// Called when the row changes.
  void forget() noexcept { decoded_ = false; }
  /// The values of the key's columns, which view the key and this object. Throws corruption for an
  /// invalid key.
  [[nodiscard]] std::span<const Value> values(const TableFormat& format, ByteView key);

 private:
  engine::DecodedKey parts_;
  bool decoded_ = false;
};

}  // namespace palimpsest::detail

namespace palimpsest::engine {
using palimpsest::detail::KeyParts;
using palimpsest::detail::TableFormat;
}  // namespace palimpsest::engine
