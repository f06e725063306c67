// Keys that name rows, and ranges of them: as column values, or in their stored bytes.
//
//   table.get({7, "Ada"});                       // the values of the key's columns, in its order
//   table.cursor(Range::prefix({7}));            // all rows whose key's first column is 7
//   table.cursor(Range::starts_with({7, "Ad"}));  // and whose second one begins with "Ad"
//   blobs.get(Key::encoded(bytes));              // of a table of bytes: the key itself
//
// Lifetime: a Key copies the values of a list, and may be kept under a name. A key made from a span
// or a vector views it, an encoded key views the bytes, and every key views the texts and bytes
// that its values were made of. Exception: a temporary text in a list, as in {"a" + s}, is moved
// into the key. Values own nothing: create them in the function call that uses them. A Range copies
// its keys. Thread-safety: plain values.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "palimpsest/value.h"

/// The result views this argument: clang warns where it would outlive it.
#if defined(__clang__)
#define PALIMPSEST_LOOKED_AT [[clang::lifetimebound]]
#else
#define PALIMPSEST_LOOKED_AT
#endif

namespace palimpsest {

/// Values of columns, in order.
class Values {
 public:
  // Implicit on purpose: a list of values is passed where Values are expected.
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

/// An element of the list that a key is written as: anything that converts to a Value, or a
/// temporary text or byte vector, which the key then owns.
class KeyPart {
 public:
  // Implicit on purpose, as Value.
  // NOLINTBEGIN(google-explicit-constructor)
  /// Null.
  constexpr KeyPart() noexcept = default;
  template <class Type>
    requires(!std::same_as<std::remove_cvref_t<Type>, KeyPart> && std::convertible_to<Type, Value>)
  KeyPart(Type&& value) : value_(std::forward<Type>(value)) {}
  KeyPart(std::string&& text) : kept_(std::make_shared<const std::string>(std::move(text))) {
    value_ = *kept_;
  }
  template <detail::ByteType Byte>
  KeyPart(std::vector<Byte>&& bytes)
      : KeyPart(std::string(detail::view_of(std::span<const Byte>(bytes)))) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] const Value& value() const noexcept { return value_; }
  /// The text that the value views and the key must own; or null.
  [[nodiscard]] const std::shared_ptr<const std::string>& kept() const noexcept { return kept_; }

 private:
  Value value_{};
  std::shared_ptr<const std::string> kept_{};
};

/// A key, or the first columns of one.
class Key {
 public:
  // Implicit on purpose, as Values.
  // NOLINTBEGIN(google-explicit-constructor)
  /// Copies the values. Throws std::bad_alloc if there are more than four, or if it owns texts.
  Key(std::initializer_list<KeyPart> values) : content_(copy_of(values)), kept_(kept_of(values)) {}
  Key(std::span<const Value> values PALIMPSEST_LOOKED_AT) noexcept : content_(values) {}
  Key(const std::vector<Value>& values PALIMPSEST_LOOKED_AT) noexcept
      : content_(std::span<const Value>(values)) {}
  // NOLINTEND(google-explicit-constructor)

  /// The bytes that RowView::key_bytes() shows. If the key is one column of bytes or varchar, not
  /// nullable, they are the column's bytes.
  [[nodiscard]] static Key encoded(std::string_view bytes PALIMPSEST_LOOKED_AT) noexcept {
    return Key(Encoded{bytes});
  }

  [[nodiscard]] bool is_encoded() const noexcept {
    return std::holds_alternative<std::string_view>(content_);
  }
  /// Empty if the key is encoded. They live as long as the key, or as what it was made of.
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
  /// Empty unless the key is encoded.
  [[nodiscard]] std::string_view bytes() const noexcept {
    const auto* bytes = std::get_if<std::string_view>(&content_);
    return bytes != nullptr ? *bytes : std::string_view();
  }

 private:
  /// Up to four values need no allocation.
  struct Few {
    std::array<Value, 4> values{};
    std::size_t count = 0;
  };
  using Content = std::variant<std::span<const Value>, std::string_view, Few, std::vector<Value>>;

  struct Encoded {
    std::string_view bytes;
  };
  explicit Key(Encoded key) noexcept : content_(key.bytes) {}

  /// Owns texts that the values of this key, and of its copies, view; they do not move.
  using Kept = std::shared_ptr<const void>;

  static Content copy_of(std::initializer_list<KeyPart> values) {
    Few few;
    if (values.size() > few.values.size()) {
      std::vector<Value> many;
      many.reserve(values.size());
      std::ranges::transform(values, std::back_inserter(many), &KeyPart::value);
      return many;
    }
    std::ranges::transform(values, few.values.begin(), &KeyPart::value);
    few.count = values.size();
    return few;
  }
  static Kept kept_of(std::initializer_list<KeyPart> values) {
    Kept kept;
    for (const KeyPart& part : values) {
      if (part.kept() != nullptr) [[unlikely]] {
        kept = kept == nullptr ? Kept(part.kept())
                               : std::make_shared<const std::pair<Kept, Kept>>(kept, part.kept());
      }
    }
    return kept;
  }

  Content content_;
  Kept kept_{};
};

/// Rows between two keys, or with the same first columns.
class Range {
 public:
  /// How a bound counts. A bound may be the first columns of a key; it then stands for all keys
  /// that begin with them.
  enum class Bound : unsigned char { inclusive = 1, exclusive };

  [[nodiscard]] static Range all() noexcept { return {}; }
  /// Keys whose first columns have these values. The last value must match wholly: prefix({"ab"})
  /// does not contain ("abc"), whatever the column, including that of key_value_table();
  /// starts_with() does.
  [[nodiscard]] static Range prefix(const Key& key) { return between(key, key); }
  /// Keys whose first columns have these values, except for the last value, a text or bytes, with
  /// which its column must begin: starts_with({7, "Ad"}) contains (7, "Ada"). For an encoded key:
  /// keys whose bytes begin with these, cut off anywhere. The last value may end with any byte,
  /// including FF. Without a value, or with an empty text, the range is all(). Padding spaces of a
  /// `character` column count. If the last column holds no text, the call that uses the range
  /// throws invalid_argument.
  [[nodiscard]] static Range starts_with(const Key& key) {
    Range range = between(key, key);
    range.is_beginning_ = true;
    return range;
  }
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
  /// Made by starts_with(): both bounds are the beginning of keys.
  [[nodiscard]] bool is_beginning() const noexcept { return is_beginning_; }

 private:
  Range() noexcept = default;

  std::optional<Key> lower_;
  std::optional<Key> upper_;
  Bound lower_bound_ = Bound::inclusive;
  Bound upper_bound_ = Bound::inclusive;
  bool is_beginning_ = false;
};

}  // namespace palimpsest

#undef PALIMPSEST_LOOKED_AT
