// Maps members of C++ structs to columns; table_of.h is built on it.
//
// Members that have the bytes of their columns are copied; those adjacent in both struct and row
// are copied at once. The other ones go through Values: key columns, texts, booleans, decimals, and
// nullable columns.
// Thread-safety: immutable.
// Failure: as table_of.h says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "palimpsest/member_type.h"
#include "palimpsest/row.h"
#include "palimpsest/schema.h"
#include "palimpsest/value.h"

namespace palimpsest::detail {

/// A member of any struct and its column, whose name is looked up once.
struct StructMember {
  std::string_view column;
  std::size_t offset = 0;  ///< in the struct
  std::size_t size = 0;
  bool is_copied = false;
  bool is_nullable = false;
  bool (*holds)(const DataType& type) noexcept = nullptr;
  Value (*value_of)(const void* member) = nullptr;
  bool (*set)(void* member, const Value& value) = nullptr;
};

/// A row in its stored form, owned.
struct StructBytes {
  std::string key;
  std::string bytes;
};

/// The mapping between structs of one type, given by address, and rows of one table.
class StructShape {
 public:
  StructShape(std::shared_ptr<const TableFormat> format, std::span<const StructMember> members);

  /// The layout of the rows that it was made for.
  [[nodiscard]] LayoutNumber layout() const;
  /// Throws invalid_argument for a row of another layout.
  void require(const RowView& row) const;
  void read(const RowView& row, void* into) const;
  /// For a struct that has all columns of the table; else throws invalid_argument.
  void encode(const void* from, StructBytes& into) const;
  /// Makes the row with the struct's columns, and the row's own values in its other columns.
  /// `bytes` must not be the row's buffer.
  void change(const RowView& row, const void* from, std::string& bytes) const;
  /// The number of byte runs that are copied.
  [[nodiscard]] std::size_t pieces() const noexcept;

 private:
  struct State;

  /// Throws invalid_argument after a move.
  [[nodiscard]] const State& state() const;

  std::shared_ptr<const State> state_;
};

/// A StructMember of a type, written {"id", &Account::id}.
template <class Struct>
struct MemberOf : StructMember {
  // Implicit on purpose: a list of members is passed where they are expected.
  template <class Type, class Class>
    requires std::is_base_of_v<Class, Struct>
  MemberOf(std::string_view name, Type Class::* member)  // NOLINT(google-explicit-constructor)
      : StructMember{
            .column = name,
            .offset = offset_of(member),
            .size = sizeof(Type),
            .is_copied = MemberType<Type>::kIsCopied,
            .is_nullable = MemberType<Type>::kIsNullable,
            .holds = &MemberType<Type>::holds,
            .value_of =
                [](const void* at) {
                  return MemberType<Type>::value_of(*static_cast<const Type*>(at));
                },
            .set =
                [](void* at, const Value& value) {
                  return MemberType<Type>::set(*static_cast<Type*>(at), value);
                },
        } {}

 private:
  template <class Type, class Class>
  [[nodiscard]] static std::size_t offset_of(Type Class::* member) {
    const Struct probe{};
    const void* const begin = &probe;
    const void* const at = &(probe.*member);
    return static_cast<std::size_t>(static_cast<const std::byte*>(at) -
                                    static_cast<const std::byte*>(begin));
  }
};

/// A StructShape for one struct type.
template <class Struct>
class StructMap {
  static_assert(std::is_default_constructible_v<Struct>,
                "read() fills a new struct: it must be default constructible");

 public:
  StructMap(std::shared_ptr<const TableFormat> format,
            std::initializer_list<MemberOf<Struct>> members)
      : shape_(std::move(format), std::vector<StructMember>(members.begin(), members.end())) {}

  [[nodiscard]] LayoutNumber layout() const { return shape_.layout(); }
  void require(const RowView& row) const { shape_.require(row); }
  [[nodiscard]] Struct of(const RowView& row) const {
    Struct value{};
    shape_.read(row, &value);
    return value;
  }
  void read(const RowView& row, Struct& into) const { shape_.read(row, &into); }
  [[nodiscard]] StructBytes encode(const Struct& from) const {
    StructBytes bytes;
    shape_.encode(&from, bytes);
    return bytes;
  }
  /// Reuses the capacity of `into`.
  void encode(const Struct& from, StructBytes& into) const { shape_.encode(&from, into); }
  void change(const RowView& row, const Struct& from, std::string& bytes) const {
    shape_.change(row, &from, bytes);
  }
  [[nodiscard]] std::size_t pieces() const noexcept { return shape_.pieces(); }

 private:
  StructShape shape_;
};

}  // namespace palimpsest::detail
