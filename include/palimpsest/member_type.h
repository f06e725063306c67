// The types that members of structs may have, and their conversion to column values (table_of.h).
//
// Thread-safety: pure functions. Failure: any other type does not compile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "palimpsest/row.h"
#include "palimpsest/schema.h"
#include "palimpsest/types.h"
#include "palimpsest/value.h"

namespace palimpsest::detail {

/// How members of a type map to columns. Specialised for each type that a member may have.
template <class Type>
struct MemberType {
  static_assert(!std::is_same_v<Type, std::string_view>,
                "a std::string_view would outlive the row that it views: use std::string");
  static_assert(!std::is_same_v<Type, Type>,
                "a member is bool, std::int8_t to std::int64_t, float, double, Date, Timestamp, "
                "Decimal, std::string, std::array<char, n>, an enum or std::optional of these");
};

template <FixedType Type>
struct MemberType<Type> {
  /// Its bytes are those of the column, for every value.
  static constexpr bool kIsCopied = !std::is_same_v<Type, bool>;
  static constexpr bool kIsNullable = false;

  [[nodiscard]] static bool holds(const DataType& type) noexcept {
    return type.type == kFixedTypeOf<Type>;
  }
  [[nodiscard]] static Value value_of(Type member) { return member; }
  /// False if the member cannot represent the value, which is valid for its column.
  [[nodiscard]] static bool set(Type& member, const Value& value) {
    if constexpr (std::is_same_v<Type, bool>) {
      member = value.as_boolean();
    } else if constexpr (std::is_same_v<Type, Date>) {
      member = value.as_date();
    } else if constexpr (std::is_same_v<Type, Timestamp>) {
      member = value.as_timestamp();
    } else if constexpr (std::is_integral_v<Type>) {
      member = static_cast<Type>(value.as_integer());
    } else {
      member = static_cast<Type>(value.as_floating());
    }
    return true;
  }
};
static_assert(sizeof(Date) == 4 && sizeof(Timestamp) == 8,
              "dates and timestamps are copied as integers of 4 and 8 bytes");

/// For a column of integers as wide as the enum's. Unsigned enums have no values beyond the
/// column's.
template <class Enum>
  requires std::is_enum_v<Enum>
struct MemberType<Enum> {
  using Integer = std::underlying_type_t<Enum>;
  static_assert(!std::is_same_v<Integer, bool> &&
                    (std::is_signed_v<Integer> || sizeof(Integer) < sizeof(std::int64_t)),
                "the values of an enum must fit std::int64_t");
  static constexpr ColumnType kColumn =
      sizeof(Integer) == 1
          ? ColumnType::int8
          : (sizeof(Integer) == 2 ? ColumnType::int16
                                  : (sizeof(Integer) == 4 ? ColumnType::int32 : ColumnType::int64));
  static constexpr bool kIsCopied = std::is_signed_v<Integer>;
  static constexpr bool kIsNullable = false;

  [[nodiscard]] static bool holds(const DataType& type) noexcept { return type.type == kColumn; }
  [[nodiscard]] static Value value_of(Enum member) {
    return static_cast<std::int64_t>(static_cast<Integer>(member));
  }
  [[nodiscard]] static bool set(Enum& member, const Value& value) {
    member = static_cast<Enum>(static_cast<Integer>(value.as_integer()));
    return std::is_signed_v<Integer> || value.as_integer() >= 0;
  }
};

template <>
struct MemberType<Decimal> {
  static constexpr bool kIsCopied = false;
  static constexpr bool kIsNullable = false;

  [[nodiscard]] static bool holds(const DataType& type) noexcept {
    return type.type == ColumnType::decimal;
  }
  [[nodiscard]] static Value value_of(const Decimal& member) { return member; }
  [[nodiscard]] static bool set(Decimal& member, const Value& value) {
    member = value.as_decimal();
    return true;
  }
};

template <>
struct MemberType<std::string> {
  static constexpr bool kIsCopied = false;
  static constexpr bool kIsNullable = false;

  [[nodiscard]] static bool holds(const DataType& type) noexcept {
    return type.type == ColumnType::character || type.type == ColumnType::varchar ||
           type.type == ColumnType::bytes;
  }
  [[nodiscard]] static Value value_of(const std::string& member) { return member; }
  [[nodiscard]] static bool set(std::string& member, const Value& value) {
    member = value.as_bytes();
    return true;
  }
};

/// The bytes of character(n), padding included.
template <std::size_t kLength>
struct MemberType<std::array<char, kLength>> {
  static constexpr bool kIsCopied = true;
  static constexpr bool kIsNullable = false;

  [[nodiscard]] static bool holds(const DataType& type) noexcept {
    return type.type == ColumnType::character && type.length == kLength;
  }
  [[nodiscard]] static Value value_of(const std::array<char, kLength>& member) {
    return std::string_view(member.data(), kLength);
  }
  [[nodiscard]] static bool set(std::array<char, kLength>& member, const Value& value) {
    member.fill(' ');
    return value.as_bytes().copy(member.data(), kLength) == value.as_bytes().size();
  }
};

/// For a nullable column.
template <class Type>
struct MemberType<std::optional<Type>> {
  static_assert(!MemberType<Type>::kIsNullable, "a column is null or not");
  static constexpr bool kIsCopied = false;
  static constexpr bool kIsNullable = true;

  [[nodiscard]] static bool holds(const DataType& type) noexcept {
    return MemberType<Type>::holds(type);
  }
  [[nodiscard]] static Value value_of(const std::optional<Type>& member) {
    return member ? MemberType<Type>::value_of(*member) : Value();
  }
  [[nodiscard]] static bool set(std::optional<Type>& member, const Value& value) {
    if (value.is_null()) {
      member.reset();
      return true;
    }
    return MemberType<Type>::set(member ? *member : member.emplace(), value);
  }
};

}  // namespace palimpsest::detail
