// Rows as bytes, for engines that know bytes only: every engine stores these, so that all have the
// same data to fit into memory.
//
// One column after the other, as columns() of the row lists them, and no padding: numbers
// little-endian; fixed texts as they are, filled up with zero bytes if they have fewer characters;
// variable texts with their length in front, in one byte, or in two if the column is wider than
// 255. So a row takes only the bytes that its texts need, and columns before the first variable
// text are at fixed offsets: a counter that a transaction changes is a few bytes in one place. A
// row becomes longer when its texts do.
// Failure: decode_row() reports bytes that are not such a row. Thread-safety: plain values.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "experiments/tables/columns.h"
#include "experiments/tables/fixed_text.h"

namespace palimpsest::experiments {

namespace detail {

static_assert(std::endian::native == std::endian::little, "numbers of rows are copied");

/// Column codes: the maximum size in bytes; put() returns the end of the column; take() moves
/// `from` there, or reports invalid bytes.
template <class Column>
struct StoredColumn {
  static_assert(std::is_integral_v<Column>);
  static constexpr std::size_t kBytesMax = sizeof(Column);

  static char* put(char* into, Column column) noexcept {
    std::memcpy(into, &column, sizeof column);
    return into + sizeof column;
  }
  [[nodiscard]] static bool take(ByteView& from, Column& column) noexcept {
    if (from.size() < sizeof column) {
      return false;
    }
    std::memcpy(&column, from.data(), sizeof column);
    from.remove_prefix(sizeof column);
    return true;
  }
};

/// One byte each.
template <std::size_t kCount>
struct StoredColumn<std::array<std::uint8_t, kCount>> {
  static constexpr std::size_t kBytesMax = kCount;

  static char* put(char* into, const std::array<std::uint8_t, kCount>& column) noexcept {
    std::memcpy(into, column.data(), kCount);
    return into + kCount;
  }
  [[nodiscard]] static bool take(ByteView& from,
                                 std::array<std::uint8_t, kCount>& column) noexcept {
    if (from.size() < kCount) {
      return false;
    }
    std::memcpy(column.data(), from.data(), kCount);
    from.remove_prefix(kCount);
    return true;
  }
};

template <std::size_t kCapacity>
struct StoredColumn<FixedText<kCapacity>> {
  using Length = std::conditional_t<(kCapacity < 256), std::uint8_t, std::uint16_t>;
  static constexpr std::size_t kBytesMax = sizeof(Length) + kCapacity;

  static char* put(char* into, const FixedText<kCapacity>& column) noexcept {
    into = StoredColumn<Length>::put(into, static_cast<Length>(column.size()));
    return into + column.view().copy(into, kCapacity);
  }
  [[nodiscard]] static bool take(ByteView& from, FixedText<kCapacity>& column) noexcept {
    Length length = 0;
    if (!StoredColumn<Length>::take(from, length) || length > kCapacity || length > from.size()) {
      return false;
    }
    column.assign(from.substr(0, length));
    from.remove_prefix(length);
    return true;
  }
};

template <std::size_t kCapacity>
struct StoredColumn<Full<FixedText<kCapacity>>> {
  static constexpr std::size_t kBytesMax = kCapacity;

  static char* put(char* into, Full<const FixedText<kCapacity>> column) noexcept {
    std::memcpy(into, column.texts.padded().data(), kCapacity);
    return into + kCapacity;
  }
  [[nodiscard]] static bool take(ByteView& from, Full<FixedText<kCapacity>> column) noexcept {
    if (from.size() < kCapacity) {
      return false;
    }
    column.texts.assign_padded(from.data());
    from.remove_prefix(kCapacity);
    return true;
  }
};

template <std::size_t kCapacity, std::size_t kCount>
struct StoredColumn<Full<FixedText<kCapacity>[kCount]>> {
  using Element = StoredColumn<Full<FixedText<kCapacity>>>;
  static constexpr std::size_t kBytesMax = kCount * kCapacity;

  static char* put(char* into, Full<const FixedText<kCapacity>[kCount]> column) noexcept {
    for (const FixedText<kCapacity>& text : column.texts) {
      into = Element::put(into, full(text));
    }
    return into;
  }
  [[nodiscard]] static bool take(ByteView & from,
                                 Full<FixedText<kCapacity>[kCount]> column) noexcept {
    for (FixedText<kCapacity>& text : column.texts) {
      if (!Element::take(from, full(text))) {
        return false;
      }
    }
    return true;
  }
};

/// The code of a column of a row that may be changed: of its references and of Full ones.
template <class Column>
using StoredAs = StoredColumn<std::remove_cvref_t<Column>>;

/// The sum over all columns.
template <class Columns>
struct StoredColumns;

template <class... Columns>
struct StoredColumns<std::tuple<Columns...>> {
  static constexpr std::size_t kBytesMax = (StoredAs<Columns>::kBytesMax + ... + 0);

  template <class Constant>
  static char* put(char* into, const Constant& columns) noexcept {
    return std::apply(
        [&](const auto&... column) {
          ((into = StoredAs<Columns>::put(into, column)), ...);
          return into;
        },
        columns);
  }
  [[nodiscard]] static bool take(ByteView& from, const std::tuple<Columns...>& columns) noexcept {
    return std::apply(
        [&](auto&... column) { return (StoredAs<Columns>::take(from, column) && ...); }, columns);
  }
};

template <class Row>
using StoredColumnsOf = StoredColumns<decltype(Row::columns(std::declval<Row&>()))>;

}  // namespace detail

/// The size of a stored row with all its texts full.
template <class Row>
inline constexpr std::size_t kRowBytesMax = detail::StoredColumnsOf<Row>::kBytesMax;

/// A stored row, ready to be viewed.
template <class Row>
class EncodedRow {
 public:
  explicit EncodedRow(const Row& row) noexcept
      : size_(static_cast<std::size_t>(
            detail::StoredColumnsOf<Row>::put(bytes_.data(), Row::columns(row)) - bytes_.data())) {}

  [[nodiscard]] ByteView view() const noexcept { return {bytes_.data(), size_}; }

 private:
  std::array<char, kRowBytesMax<Row>> bytes_;
  std::size_t size_;
};

/// Sets `row` to the one with these bytes; returns false for invalid bytes: `row` is then
/// unspecified.
template <class Row>
[[nodiscard]] bool decode_row(ByteView bytes, Row& row) noexcept {
  return detail::StoredColumnsOf<Row>::take(bytes, Row::columns(row)) && bytes.empty();
}

}  // namespace palimpsest::experiments
