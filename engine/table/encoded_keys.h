// Encodes the caller's keys and ranges to the bytes that trees are searched by: of a table, and of
// the columns of an index.
//
// A bound of a range may be the first columns of a key; then it stands for all keys with these
// columns. Keys that are already encoded are used as they are, after a check that they are whole;
// as a bound, bytes that are no whole key stand for all keys that begin with them. An index takes
// values only: RowView::key_bytes() is no key of it.
//
// Failure: Error invalid_argument, naming table (and index) and limit, for too many or too few
// values, values that do not fit, keys that are empty or longer than pages allow, and encoded bytes
// that are no key.
// Thread-safety: immutable. Nothing allocates.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "palimpsest/key.h"

#include "base/bytes.h"
#include "btree/btree.h"
#include "btree/leaf_walk.h"
#include "btree/node/key_bytes.h"
#include "engine/format/key_codec.h"
#include "engine/format/table_format.h"

namespace palimpsest::engine {

/// The keys of a table or of an index, and their tree.
class KeySpace {
 public:
  /// A table's primary keys. The format outlives this.
  KeySpace(const TableFormat& format, const btree::BTree& rows) noexcept
      : format_(&format),
        codec_(&format.keys()),
        bytes_max_(btree::key_bytes_max(rows.descent().page_size())),
        takes_any_bytes_(format.is_key_value()) {}
  /// The columns of an index, by its number.
  KeySpace(const TableFormat& format, std::size_t index, const btree::BTree& entries) noexcept;

  /// The longest key of the tree.
  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }

  /// Throws unless these bytes are a key with all its columns.
  void require_whole(ByteView encoded) const;
  /// Throws if there are too many bytes, or none.
  void require_length(std::size_t bytes) const;
  /// A key with all its columns, in `into` or as given by the caller.
  [[nodiscard]] ByteView whole(const Key& key, KeyMemory& into) const;
  /// A row's primary key from the values of all columns of the table, in declared order.
  [[nodiscard]] ByteView whole_of_row(std::span<const Value> values, KeyMemory& into) const;
  /// The prefix of exactly the keys with these first columns: their lower bound.
  [[nodiscard]] ByteView first_columns(const Key& key, KeyMemory& into) const;
  /// The prefix of keys in which the last given column begins with the given text
  /// (Range::starts_with()).
  [[nodiscard]] ByteView beginning(const Key& key, KeyMemory& into) const;
  /// The smallest bytes above all keys with these first columns; nothing if no key can be above.
  [[nodiscard]] std::optional<ByteView> above(const Key& key, KeyMemory& into) const;
  /// The smallest bytes above one whole key.
  [[nodiscard]] std::optional<ByteView> above_whole(ByteView key, KeyMemory& into) const noexcept;

 private:
  [[nodiscard]] bool is_whole(ByteView encoded) const noexcept;
  void require_encodable(const Key& key) const;
  [[noreturn]] void refuse(const std::string& why) const;

  const TableFormat* format_;
  const KeyCodec* codec_;
  const std::string* index_ = nullptr;  ///< its name; null: the table's keys
  std::size_t bytes_max_;
  bool takes_any_bytes_ = false;
};

/// A range of keys with the memory of its bounds, on the stack.
class EncodedRange {
 public:
  EncodedRange(const KeySpace& space, const Range& range);
  EncodedRange(const EncodedRange&) = delete;
  EncodedRange& operator=(const EncodedRange&) = delete;

  /// Empty if its upper bound is not above the lower one.
  [[nodiscard]] const btree::KeyRange& keys() const noexcept { return keys_; }

 private:
  KeyMemory lower_;
  KeyMemory upper_;
  void begin_with(const KeySpace& space, const Key& key);

  btree::KeyRange keys_;
};

}  // namespace palimpsest::engine
