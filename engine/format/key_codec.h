// Keys of tables and indexes: the columns that make them, to bytes whose memcmp order is the order
// of the columns, and back.
//
// A key is its columns one after the other, each as key_writer.h says. A text is closed, so that it
// ends where it ends, unless it is the last column and nothing can follow: then it is open, and a
// table of bytes to bytes has keys that are exactly the caller's bytes. Decoding gives back what
// was encoded, but for what was never significant: the sign of zero, which NaN, spaces at the end
// of character.
//
// Invariants: (1) keys of equal first columns begin with the same bytes, and no others begin with
//                 them, unless the last of these columns is open;
//             (2) a key has one form: what decodes encodes to the same bytes.
// Failure: values that do not fit their columns and keys longer than the memory given throw Error
//          invalid_argument. Bytes to decode may be hostile: the reason is returned.
// Thread-safety: immutable. Encoding does not allocate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/schema.h"
#include "palimpsest/value.h"

#include "base/bytes.h"
#include "engine/format/key_writer.h"

namespace palimpsest::engine {

/// Memory that holds any key, and what is next above it.
using KeyMemory = std::array<char, kKeyBytesMax + 1>;

/// Whether something can follow the columns of a key.
enum class KeyEnd : std::uint8_t {
  open = 1,  ///< nothing does: a text at the end lies there as it is
  closed,
};

/// A key taken apart; used again for the next one. The values view the key and this object.
class DecodedKey {
 public:
  DecodedKey() = default;
  DecodedKey(const DecodedKey&) = delete;
  DecodedKey& operator=(const DecodedKey&) = delete;

  [[nodiscard]] std::span<const Value> values() const noexcept { return values_; }
  /// What follows the columns; empty for open keys.
  [[nodiscard]] ByteView rest() const noexcept { return rest_; }

 private:
  friend class KeyCodec;

  std::vector<Value> values_;
  std::vector<char> unescaped_;  ///< as large as the key before values view it
  ByteView rest_;
};

class KeyCodec {
 public:
  /// The primary key of a table whose schema is valid.
  explicit KeyCodec(const TableSchema& table) : KeyCodec(table, table.key, KeyEnd::open) {}
  /// Columns of a table, by name.
  KeyCodec(const TableSchema& table, std::span<const std::string> columns, KeyEnd end);

  [[nodiscard]] std::size_t column_count() const noexcept { return columns_.size(); }
  /// No whole key has fewer bytes.
  [[nodiscard]] std::size_t bytes_min() const noexcept;
  /// The number in the schema of each of its columns.
  [[nodiscard]] std::span<const std::size_t> columns() const noexcept { return numbers_; }

  /// The first columns of a key, in the key's order: the key if these are all of them, and
  /// otherwise what exactly the keys with these values begin with.
  [[nodiscard]] ByteView encode(std::span<const Value> first_values, std::span<char> into) const;
  /// What exactly the keys begin with whose first columns have these values, but for the last one,
  /// a text, which its column begins with. Throws for a column that holds no text.
  [[nodiscard]] ByteView encode_beginning(std::span<const Value> first_values,
                                          std::span<char> into) const;
  /// A key by the values of all columns of the schema, in declared order.
  [[nodiscard]] ByteView encode_row(std::span<const Value> values, std::span<char> into) const;
  /// The smallest bytes above all keys with these first values: where a scan of them ends. Nothing
  /// if no key can be above.
  [[nodiscard]] std::optional<ByteView> encode_above(std::span<const Value> first_values,
                                                     std::span<char> into) const;

  /// Whether these are the bytes of a whole key, and decode() would find no fault: quickly. If not,
  /// it may still find none.
  [[nodiscard]] bool is_surely_valid(ByteView key) const;
  /// Why the bytes do not begin with these columns; nothing if they do and are taken apart.
  [[nodiscard]] std::optional<std::string> decode(ByteView key, DecodedKey& decoded) const;
  /// The bytes that the columns take at the beginning of a key; nothing if they are not there.
  [[nodiscard]] std::optional<std::size_t> bytes_of(ByteView key) const noexcept;

 private:
  [[nodiscard]] bool is_open(std::size_t column) const noexcept {
    return open_ && column + 1 == columns_.size();
  }
  void put(KeyWriter& writer, std::size_t column, const Value& value) const;
  [[nodiscard]] ByteView finish(const KeyWriter& writer, std::size_t room) const;
  [[nodiscard]] bool is_plain_text(std::size_t column, ByteView stored) const noexcept;
  [[nodiscard]] std::optional<ByteView> take(std::size_t column, ByteView& rest) const noexcept;
  [[nodiscard]] std::optional<std::string> decode_column(std::size_t column, ByteView& rest,
                                                         DecodedKey& decoded) const;
  [[nodiscard]] std::optional<std::string> decode_value(std::size_t column, ByteView stored,
                                                        DecodedKey& decoded) const;

  std::string table_;  ///< for messages
  std::vector<ColumnDefinition> columns_;
  std::vector<std::size_t> numbers_;
  bool open_ = false;  ///< the last column is a text that is open
  /// Of keys that may be any bytes, if there are as many; 0: there is more to be judged.
  std::size_t plain_bytes_ = 0;
};

/// The smallest bytes above all that begin with a prefix, made in its place; nothing if the prefix
/// is empty or all its bytes are FF.
[[nodiscard]] std::optional<ByteView> successor_of_prefix(std::span<char> prefix) noexcept;

}  // namespace palimpsest::engine
