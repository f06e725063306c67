// How a table's rows, keys and index entries are stored, by its schemas: everything that is
// computed from them once. What a RowView is read by.
//
// In namespace detail, since the public headers name it. Made by std::make_shared only: copies of
// rows keep it, whatever becomes of the table's definition.
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

  /// Of schemas that are valid.
  explicit TableFormat(engine::StoredTable stored);

  /// For who keeps it: a RowView has but a reference.
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
  /// Of a column of fixed width that is not in the key.
  [[nodiscard]] FixedPlace fixed_place(std::size_t column) const noexcept;
  /// Whether a column of an index.
  [[nodiscard]] bool is_indexed(std::size_t column) const noexcept { return indexed_[column]; }
  /// Whether any bytes are a key, and a row: one column each, of bytes, never null.
  [[nodiscard]] bool is_key_value() const noexcept { return key_value_; }

 private:
  engine::StoredTable stored_;
  engine::RowLayout rows_;
  engine::KeyCodec keys_;
  std::vector<Index> indexes_;
  std::vector<bool> indexed_;
  bool key_value_ = false;
};

/// A row's key taken apart, when somebody asks for a column of it first; used again for the next
/// row.
class KeyParts {
 public:
  KeyParts() = default;
  KeyParts(const KeyParts&) = delete;
  KeyParts& operator=(const KeyParts&) = delete;

  /// The next row is another one.
  void forget() noexcept { decoded_ = false; }
  /// The values of the key's columns, which view the key and this. Throws corruption if the bytes
  /// are no key of the table.
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
