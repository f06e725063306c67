// One column's value at run time, for code that learns the columns only then: loaders, printers,
// checks. Code that knows its columns reads and writes them as C++ types.
//
// Text and bytes are views. Rows and fields of files are parsed without a copy, and a value that
// owned a string would allocate for nearly each of them; to keep a value longer, keep the row.
// Temporary texts and vectors (std::string&&) do not compile: give them a name first. The list of a
// key accepts them (key.h).
// Thread-safety: a plain value. Failure: asking for another kind than the value's throws Error
// invalid_argument, which names both.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "palimpsest/types.h"

namespace palimpsest {

/// The kind of a Value.
enum class ValueKind : std::uint8_t {
  null = 0,
  boolean,
  integer,   ///< columns int8 to int64
  floating,  ///< columns float32 and float64
  decimal,
  date,
  timestamp,
  bytes,  ///< columns character, varchar, bytes
};

[[nodiscard]] std::string_view name_of(ValueKind kind) noexcept;

namespace detail {

// These names appear in the compiler's message when it refuses a temporary.
using GiveTheTextANameFirstThatAValueOnlyViews = std::string;
using GiveTheBytesANameFirstThatAValueOnlyViews = std::vector<std::uint8_t>;

template <class Type>
concept ByteType = std::same_as<std::remove_const_t<Type>, std::byte> ||
                   std::same_as<std::remove_const_t<Type>, std::uint8_t>;

template <ByteType Byte>
[[nodiscard]] std::string_view view_of(std::span<Byte> bytes) noexcept {
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

}  // namespace detail

/// A value of any column, or null; converts from its C++ types, and is read by the as_...() of its
/// kind().
class Value {
 public:
  /// Null.
  constexpr Value() noexcept = default;

  // Implicit on purpose: a list of values is written {7, "Ada", Date::of(...)}.
  // NOLINTBEGIN(google-explicit-constructor)
  template <std::same_as<bool> Boolean>
  constexpr Value(Boolean value) noexcept : content_(value) {}
  /// Any integer type that fits in std::int64_t.
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool> && !std::same_as<Integer, char> &&
             (sizeof(Integer) < sizeof(std::int64_t) ||
              (sizeof(Integer) == sizeof(std::int64_t) && std::signed_integral<Integer>)))
  constexpr Value(Integer value) noexcept : content_(static_cast<std::int64_t>(value)) {}
  /// Unsigned 64-bit integers: no column holds more than std::int64_t does. Throws invalid_argument
  /// for a larger one.
  template <std::unsigned_integral Integer>
    requires(sizeof(Integer) == sizeof(std::int64_t))
  constexpr Value(Integer value) : content_(static_cast<std::int64_t>(value)) {
    if (value > static_cast<Integer>(std::numeric_limits<std::int64_t>::max())) [[unlikely]] {
      refuse_integer(value);
    }
  }
  template <class Floating>
    requires(std::same_as<Floating, double> || std::same_as<Floating, float>)
  constexpr Value(Floating value) noexcept : content_(static_cast<double>(value)) {}
  constexpr Value(const Decimal& value) noexcept : content_(value) {}
  constexpr Value(Date value) noexcept : content_(value) {}
  constexpr Value(Timestamp value) noexcept : content_(value) {}
  constexpr Value(std::string_view value) noexcept : content_(value) {}
  /// A text that ends with a zero; not a null pointer.
  constexpr Value(const char* value) noexcept : content_(std::string_view(value)) {}
  constexpr Value(const std::string& value) noexcept : content_(std::string_view(value)) {}
  Value(detail::GiveTheTextANameFirstThatAValueOnlyViews&& value) = delete;
  /// Bytes, std::byte or std::uint8_t; a view, like a text.
  template <detail::ByteType Byte, std::size_t kExtent>
  Value(std::span<Byte, kExtent> value) noexcept
      : content_(detail::view_of(std::span<Byte>(value))) {}
  template <detail::ByteType Byte>
  Value(const std::vector<Byte>& value) noexcept
      : content_(detail::view_of(std::span<const Byte>(value))) {}
  Value(detail::GiveTheBytesANameFirstThatAValueOnlyViews&& value) = delete;
  Value(std::vector<std::byte>&& value) = delete;
  Value(std::nullptr_t) = delete;  // null is Value(), or {} in a list
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] constexpr ValueKind kind() const noexcept {
    return static_cast<ValueKind>(content_.index());
  }
  [[nodiscard]] constexpr bool is_null() const noexcept { return kind() == ValueKind::null; }

  [[nodiscard]] bool as_boolean() const { return as<bool>(ValueKind::boolean); }
  [[nodiscard]] std::int64_t as_integer() const { return as<std::int64_t>(ValueKind::integer); }
  [[nodiscard]] double as_floating() const { return as<double>(ValueKind::floating); }
  [[nodiscard]] Decimal as_decimal() const { return as<Decimal>(ValueKind::decimal); }
  [[nodiscard]] Date as_date() const { return as<Date>(ValueKind::date); }
  [[nodiscard]] Timestamp as_timestamp() const { return as<Timestamp>(ValueKind::timestamp); }
  /// Valid as long as what the value was made of.
  [[nodiscard]] std::string_view as_bytes() const { return as<std::string_view>(ValueKind::bytes); }

  /// For people: "null", "true", "-12.30", "2024-02-29"; bytes are as they are.
  [[nodiscard]] std::string text() const;

  /// Equality of keys: same kind, +0.0 equals -0.0, NaN equals NaN, decimals by their number.
  friend bool operator==(const Value& a, const Value& b) noexcept;
  friend std::ostream& operator<<(std::ostream& out, const Value& value);

 private:
  using Content = std::variant<std::monostate, bool, std::int64_t, double, Decimal, Date, Timestamp,
                               std::string_view>;

  template <class Type>
  [[nodiscard]] const Type& as(ValueKind wanted) const {
    const Type* value = std::get_if<Type>(&content_);
    if (value == nullptr) [[unlikely]] {
      refuse(wanted);
    }
    return *value;
  }
  [[noreturn]] void refuse(ValueKind wanted) const;
  [[noreturn]] static void refuse_integer(std::uint64_t value);

  Content content_;
};

}  // namespace palimpsest
