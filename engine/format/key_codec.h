// Encodes the key columns of tables and indexes to bytes, ordered by memcmp as the columns are, and
// decodes them.
//
// A key is its columns one after the other, each as key_writer.h says. A text is closed (its end is
// marked), unless it is the last column and nothing can follow: then it is open, and the keys of a
// table of bytes to bytes are exactly the caller's bytes. Decoding returns what was encoded, except
// what is not significant: the sign of zero, the kind of NaN, trailing spaces of character.
//
// Invariants:
// (1) Keys with equal first columns begin with the same bytes, and no other keys do, unless the
//     last of these columns is open.
// (2) A key has one form: what decodes encodes to the same bytes.
// Failure: values that do not fit their columns and keys longer than the given memory throw Error
// invalid_argument. Bytes to decode may be hostile: the fault is returned.
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
#include "base/thread_blocks.h"
#include "engine/format/key_writer.h"

namespace palimpsest::engine {

/// Memory for a key, and for the smallest bytes above it, for use on the stack. Keys of the
/// smallest pages lie in it, longer ones in a block of the thread (base/thread_blocks.h).
class KeyMemory {
 public:
  KeyMemory() noexcept {}  // NOLINT(modernize-use-equals-default): leaves bytes_ uninitialised
  KeyMemory(const KeyMemory&) = delete;
  KeyMemory& operator=(const KeyMemory&) = delete;

  /// For keys of at most `key_bytes_max` bytes, and one byte more. All calls must ask for the same
  /// length and get the same memory.
  [[nodiscard]] std::span<char> room(std::size_t key_bytes_max) noexcept {
    if (key_bytes_max < bytes_.size()) [[likely]] {
      return std::span<char>(bytes_).first(key_bytes_max + 1);
    }
    if (!block_.has_memory()) {
      block_.take();
    }
    return {block_.chars(), key_bytes_max + 1};
  }
  /// For keys of pages of any size.
  operator std::span<char>() noexcept {  // NOLINT(google-explicit-constructor)
    return room(kKeyBytesMax);
  }

 private:
  static constexpr std::size_t kSmallKeyBytesMax = 512;  ///< in pages of 4 KiB
  static_assert(kKeyBytesMax < ThreadBlock::kBytes);

  ThreadBlock block_;
  std::array<char, kSmallKeyBytesMax + 1> bytes_;
};

/// Whether something can follow the columns of a key.
enum class KeyEnd : std::uint8_t {
  open = 1,  ///< nothing follows: a text at the end is stored as it is
  closed,
};

/// A decoded key; reusable. The values view the key and this object.
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
  std::vector<char> unescaped_;  ///< reserved for the whole key before values view it
  ByteView rest_;
};

class KeyCodec {
 public:
  /// The primary key of a table with a valid schema.
  explicit KeyCodec(const TableSchema& table) : KeyCodec(table, table.key, KeyEnd::open) {}
  /// Columns of a table, by name.
  KeyCodec(const TableSchema& table, std::span<const std::string> columns, KeyEnd end);

  [[nodiscard]] std::size_t column_count() const noexcept { return columns_.size(); }
  /// Every whole key has at least this many bytes.
  [[nodiscard]] std::size_t bytes_min() const noexcept;
  /// The number in the schema of each of its columns.
  [[nodiscard]] std::span<const std::size_t> columns() const noexcept { return numbers_; }

  /// Encodes the first columns of a key, in the key's order. All of them: the key. Fewer: the
  /// prefix that exactly the keys with these values have.
  [[nodiscard]] ByteView encode(std::span<const Value> first_values, std::span<char> into) const;
  /// The prefix of exactly those keys that have these values in their first columns, where for the
  /// last value, a text, it suffices that its column begins with it. Throws for a column that is no
  /// text.
  [[nodiscard]] ByteView encode_beginning(std::span<const Value> first_values,
                                          std::span<char> into) const;
  /// A key from the values of all columns of the schema, in declared order.
  [[nodiscard]] ByteView encode_row(std::span<const Value> values, std::span<char> into) const;
  /// The smallest bytes above all keys with these first values: the end of a scan of them. Nothing
  /// if no key can be above.
  [[nodiscard]] std::optional<ByteView> encode_above(std::span<const Value> first_values,
                                                     std::span<char> into) const;

  /// A quick check: true only if decode() would find no fault; may be false although it would find
  /// none.
  [[nodiscard]] bool is_surely_valid(ByteView key) const;
  /// Decodes these columns from the start of the bytes. Returns the fault, or nothing.
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
  bool open_ = false;  ///< the last column is an open text
  /// The length of keys for which any bytes of that length are valid; 0: validity depends on the
  /// bytes.
  std::size_t plain_bytes_ = 0;
};

/// The smallest bytes above all that begin with a prefix, computed in place; nothing if the prefix
/// is empty or all its bytes are FF.
[[nodiscard]] std::optional<ByteView> successor_of_prefix(std::span<char> prefix) noexcept;

}  // namespace palimpsest::engine
