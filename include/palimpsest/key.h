// What rows are named by, and ranges of them: keys as values, or as the bytes that are stored.
//
//   table.get({7, "Ada"});                       // the values of the key's columns, in its order
//   table.cursor(Range::prefix({7}));            // all rows whose key begins with 7
//   blobs.get(Key::encoded(bytes));              // of a table of bytes: the key itself
//
// Lifetime: a key that is written as a list has a copy of its values, and may be kept under a name;
// one that is made of a span or a vector looks at that, an encoded one at the bytes, and all look
// at the texts and bytes that their values were made of. Values own nothing: they are made where a
// function is called. A range has copies of its keys. Thread-safety: plain values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "palimpsest/value.h"

/// What is made of this argument looks at it: clang warns where it would live longer.
#if defined(__clang__)
#define PALIMPSEST_LOOKED_AT [[clang::lifetimebound]]
#else
#define PALIMPSEST_LOOKED_AT
#endif

namespace palimpsest {

/// Values of columns, in order.
class Values {
 public:
  // Implicit on purpose: a list of values is passed where Values are asked for.
  // NOLINTBEGIN(google-explicit-constructor)
  constexpr Values(std::initializer_list<Value> values PALIMPSEST_LOOKED_AT) noexcept
      : values_(values.begin(), values.size()) {}
  constexpr Values(std::span<const Value> values PALIMPSEST_LOOKED_AT) noexcept : values_(values) {}
  Values(const std::vector<Value>& values PALIMPSEST_LOOKED_AT) noexcept : values_(values) {}
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
  /// Copies them. Throws std::bad_alloc, if they are more than four.
  Key(std::initializer_list<Value> values) : content_(copy_of(values)) {}
  Key(std::span<const Value> values PALIMPSEST_LOOKED_AT) noexcept : content_(values) {}
  Key(const std::vector<Value>& values PALIMPSEST_LOOKED_AT) noexcept
      : content_(std::span<const Value>(values)) {}
  // NOLINTEND(google-explicit-constructor)

  /// The bytes that RowView::key_bytes() shows. Of a table whose key is one column of bytes or
  /// varchar, not nullable, these are the bytes of the column.
  [[nodiscard]] static Key encoded(std::string_view bytes PALIMPSEST_LOOKED_AT) noexcept {
    return Key(Encoded{bytes});
  }

  [[nodiscard]] bool is_encoded() const noexcept {
    return std::holds_alternative<std::string_view>(content_);
  }
  /// Unless it is encoded. They live as long as the key, or as what it was made of.
  [[nodiscard]] std::span<const Value> values() const noexcept {
    if (const auto* few = std::get_if<Few>(&content_)) {
      return std::span(few->values).first(few->count);
    }
    if (const auto* elsewhere = std::get_if<std::span<const Value>>(&content_)) {
      return *elsewhere;
    }
    const auto* many = std::get_if<std::vector<Value>>(&content_);
    return many != nullptr ? std::span<const Value>(*many) : std::span<const Value>();
  }
  /// If it is encoded.
  [[nodiscard]] std::string_view bytes() const noexcept {
    const auto* bytes = std::get_if<std::string_view>(&content_);
    return bytes != nullptr ? *bytes : std::string_view();
  }

 private:
  /// What most keys have takes no memory of its own.
  struct Few {
    std::array<Value, 4> values{};
    std::size_t count = 0;
  };
  using Content = std::variant<std::span<const Value>, std::string_view, Few, std::vector<Value>>;

  struct Encoded {
    std::string_view bytes;
  };
  explicit Key(Encoded key) noexcept : content_(key.bytes) {}

  static Content copy_of(std::initializer_list<Value> values) {
    Few few;
    if (values.size() > few.values.size()) {
      return std::vector<Value>(values);
    }
    std::ranges::copy(values, few.values.begin());
    few.count = values.size();
    return few;
  }

  Content content_;
};

/// Rows between two keys, or with the same first columns.
class Range {
 public:
  /// How a bound counts. A bound may be the first columns of a key: then it stands for all keys
  /// that begin with them.
  enum class Bound : unsigned char { inclusive = 1, exclusive };

  [[nodiscard]] static Range all() noexcept { return {}; }
  /// Keys that begin with these values.
  [[nodiscard]] static Range prefix(const Key& key) { return between(key, key); }
  [[nodiscard]] static Range from(const Key& lower, Bound bound = Bound::inclusive) {
    Range range;
    range.lower_ = lower;
    range.lower_bound_ = bound;
    return range;
  }
  [[nodiscard]] static Range up_to(const Key& upper, Bound bound = Bound::inclusive) {
    Range range;
    range.upper_ = upper;
    range.upper_bound_ = bound;
    return range;
  }
  [[nodiscard]] static Range between(const Key& lower, const Key& upper,
                                     Bound lower_bound = Bound::inclusive,
                                     Bound upper_bound = Bound::inclusive) {
    Range range = from(lower, lower_bound);
    range.upper_ = upper;
    range.upper_bound_ = upper_bound;
    return range;
  }

  [[nodiscard]] const std::optional<Key>& lower() const noexcept { return lower_; }
  [[nodiscard]] const std::optional<Key>& upper() const noexcept { return upper_; }
  [[nodiscard]] Bound lower_bound() const noexcept { return lower_bound_; }
  [[nodiscard]] Bound upper_bound() const noexcept { return upper_bound_; }

 private:
  Range() noexcept = default;

  std::optional<Key> lower_;
  std::optional<Key> upper_;
  Bound lower_bound_ = Bound::inclusive;
  Bound upper_bound_ = Bound::inclusive;
};

}  // namespace palimpsest

#undef PALIMPSEST_LOOKED_AT
