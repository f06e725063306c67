// A C++ struct for the fixed columns of a row: read and written as a whole.
//
//   struct Stock { std::int64_t ytd; std::int32_t quantity; std::array<char, 24> district; };
//   const RowStruct<Stock> stock(layout, Member{"ytd", &Stock::ytd},
//                                Member{"quantity", &Stock::quantity},
//                                Member{"district", &Stock::district});
//   Stock now = stock.get(row);
//
// Not a packed struct laid over the row: rows are not aligned, and references to members of a
// packed struct that are classes, such as Date, are undefined behaviour. The struct is an ordinary
// one; members that lie in it as their columns do in the row are copied together, so that a struct
// declared in the order of the columns, without holes, is copied at once (pieces() says).
//
// Members are numbers, Date, Timestamp, and std::array<char, n> for character(n), which has the
// column's bytes with the padding. What set() would have to judge, and so has a handle of its own
// (typed_columns.h), is refused: columns that may be null, booleans, decimals.
// Latching, thread-safety, failure: as typed_columns.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "engine/tables/row_layout.h"
#include "engine/tables/typed_columns.h"

namespace palimpsest::engine {

namespace detail {

/// Bytes that are copied between row and struct.
struct Piece {
  std::uint32_t in_row = 0;
  std::uint32_t in_struct = 0;
  std::uint32_t size = 0;
};

/// The piece that a column is, `size` bytes long. Throws invalid_argument if it cannot be one.
[[nodiscard]] Piece piece_of(const RowLayout& layout, std::string_view name, ColumnType type,
                             std::size_t in_struct, std::size_t size);
/// Pieces that lie behind each other in both are one.
[[nodiscard]] std::vector<Piece> joined(std::vector<Piece> pieces);

template <class Type>
struct MemberType {
  static_assert(FixedType<Type> && !std::is_same_v<Type, bool>,
                "a member is a number, Date, Timestamp or std::array<char, n>");
  static constexpr ColumnType kType = kColumnTypeOf<Type>;
};
template <std::size_t kLength>
struct MemberType<std::array<char, kLength>> {
  static constexpr ColumnType kType = ColumnType::character;
};

}  // namespace detail

/// A member of a struct and the column that it stands for.
template <class Struct, class Type>
struct Member {
  std::string_view column;
  Type Struct::* member;
};
template <class Struct, class Type>
Member(const char*, Type Struct::*) -> Member<Struct, Type>;

template <class Struct>
class RowStruct {
  static_assert(std::is_trivially_copyable_v<Struct> && std::is_standard_layout_v<Struct> &&
                std::is_default_constructible_v<Struct>);

 public:
  /// Columns that are not named stay as they are, as do members.
  template <class... Types>
  explicit RowStruct(const RowLayout& layout, Member<Struct, Types>... members)
      : pieces_(detail::joined(
            {detail::piece_of(layout, members.column, detail::MemberType<Types>::kType,
                              offset_of(members.member), sizeof(Types))...})) {}

  /// How many pieces are copied.
  [[nodiscard]] std::size_t pieces() const noexcept { return pieces_.size(); }

  [[nodiscard]] Struct get(ByteView row) const noexcept {
    Struct value{};
    for (const detail::Piece& piece : pieces_) {
      debug_check(row.size() >= piece.in_row + piece.size, "a row has all fixed columns");
      std::memcpy(bytes_of(value) + piece.in_struct, row.data() + piece.in_row, piece.size);
    }
    return value;
  }
  void set(MutableBytes row, const Struct& value) const noexcept {
    for (const detail::Piece& piece : pieces_) {
      debug_check(row.size() >= piece.in_row + piece.size, "a row has all fixed columns");
      std::memcpy(row.data() + piece.in_row, bytes_of(value) + piece.in_struct, piece.size);
    }
  }

 private:
  [[nodiscard]] static std::byte* bytes_of(Struct& value) noexcept {
    return static_cast<std::byte*>(static_cast<void*>(&value));
  }
  [[nodiscard]] static const std::byte* bytes_of(const Struct& value) noexcept {
    return static_cast<const std::byte*>(static_cast<const void*>(&value));
  }
  template <class Type>
  [[nodiscard]] static std::size_t offset_of(Type Struct::* member) noexcept {
    const Struct value{};
    const void* const at = &(value.*member);
    return static_cast<std::size_t>(static_cast<const std::byte*>(at) - bytes_of(value));
  }

  std::vector<detail::Piece> pieces_;
};

}  // namespace palimpsest::engine
