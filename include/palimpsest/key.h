// What rows are named by, and ranges of them: keys as values, or as the bytes that are stored.
//
//   table.get({7, "Ada"});                       // the values of the key's columns, in its order
//   table.cursor(Range::prefix({7}));            // all rows whose key begins with 7
//   blobs.get(Key::encoded(bytes));              // of a table of bytes: the key itself
//
// Lifetime: none of these owns anything. They are made where a function is called, and live until
// it returns. Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "palimpsest/value.h"

namespace palimpsest {

/// Values of columns, in order.
class Values {
 public:
  // Implicit on purpose: a list of values is passed where Values are asked for.
  // NOLINTBEGIN(google-explicit-constructor)
  constexpr Values(std::initializer_list<Value> values) noexcept
      : values_(values.begin(), values.size()) {}
  constexpr Values(std::span<const Value> values) noexcept : values_(values) {}
  Values(const std::vector<Value>& values) noexcept : values_(values) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] constexpr std::span<const Value> span() const noexcept { return values_; }

 private:
  std::span<const Value> values_;
};

/// A key, or the first columns of one.
class Key {
 public:
  // Implicit on purpose, as Values.
  // NOLINTBEGIN(google-explicit-constructor)
  constexpr Key(std::initializer_list<Value> values) noexcept
      : values_(values.begin(), values.size()) {}
  constexpr Key(std::span<const Value> values) noexcept : values_(values) {}
  Key(const std::vector<Value>& values) noexcept : values_(values) {}
  // NOLINTEND(google-explicit-constructor)

  /// The bytes that RowView::key_bytes() shows. Of a table whose key is one column of bytes or
  /// varchar, not nullable, these are the bytes of the column.
  [[nodiscard]] static constexpr Key encoded(std::string_view bytes) noexcept {
    return {std::span<const Value>(), bytes, true};
  }

  [[nodiscard]] constexpr bool is_encoded() const noexcept { return encoded_; }
  /// Unless it is encoded.
  [[nodiscard]] constexpr std::span<const Value> values() const noexcept { return values_; }
  /// If it is encoded.
  [[nodiscard]] constexpr std::string_view bytes() const noexcept { return bytes_; }

 private:
  constexpr Key(std::span<const Value> values, std::string_view bytes, bool encoded) noexcept
      : values_(values), bytes_(bytes), encoded_(encoded) {}

  std::span<const Value> values_;
  std::string_view bytes_;
  bool encoded_ = false;
};

/// Rows between two keys, or with the same first columns.
class Range {
 public:
  /// How a bound counts. A bound may be the first columns of a key: then it stands for all keys
  /// that begin with them.
  enum class Bound : unsigned char { inclusive = 1, exclusive };

  [[nodiscard]] static constexpr Range all() noexcept { return {}; }
  /// Keys that begin with these values.
  [[nodiscard]] static constexpr Range prefix(const Key& key) noexcept { return between(key, key); }
  [[nodiscard]] static constexpr Range from(const Key& lower,
                                            Bound bound = Bound::inclusive) noexcept {
    Range range;
    range.lower_ = lower;
    range.lower_bound_ = bound;
    return range;
  }
  [[nodiscard]] static constexpr Range up_to(const Key& upper,
                                             Bound bound = Bound::inclusive) noexcept {
    Range range;
    range.upper_ = upper;
    range.upper_bound_ = bound;
    return range;
  }
  [[nodiscard]] static constexpr Range between(const Key& lower, const Key& upper,
                                               Bound lower_bound = Bound::inclusive,
                                               Bound upper_bound = Bound::inclusive) noexcept {
    Range range = from(lower, lower_bound);
    range.upper_ = upper;
    range.upper_bound_ = upper_bound;
    return range;
  }

  [[nodiscard]] constexpr const std::optional<Key>& lower() const noexcept { return lower_; }
  [[nodiscard]] constexpr const std::optional<Key>& upper() const noexcept { return upper_; }
  [[nodiscard]] constexpr Bound lower_bound() const noexcept { return lower_bound_; }
  [[nodiscard]] constexpr Bound upper_bound() const noexcept { return upper_bound_; }

 private:
  constexpr Range() noexcept = default;

  std::optional<Key> lower_;
  std::optional<Key> upper_;
  Bound lower_bound_ = Bound::inclusive;
  Bound upper_bound_ = Bound::inclusive;
};

}  // namespace palimpsest
