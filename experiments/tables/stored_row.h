// A row where it is stored, as encoded_row.h lays it out: columns of fixed width are read and set
// in place, all other columns stay as they are. Saves decoding and encoding the row.
//
// A member of the row's struct names the column; its offset is a compile-time constant.
// Thread-safety: plain views.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

#include "palimpsest/row.h"

#include "base/check.h"
#include "experiments/tables/columns.h"
#include "experiments/tables/encoded_row.h"
#include "experiments/tables/fixed_text.h"

namespace palimpsest::experiments {

namespace detail {

template <class Column>
inline constexpr bool kIsVariable = false;
template <std::size_t kCapacity>
inline constexpr bool kIsVariable<FixedText<kCapacity>> = true;

template <class Column>
[[nodiscard]] constexpr const void* address_of(const Column& column) noexcept {
  return &column;
}
template <class Texts>
[[nodiscard]] constexpr const void* address_of(const Full<Texts>& column) noexcept {
  return &column.texts;
}

/// The offset of a member of a row; kNotFixed if it depends on the row.
inline constexpr std::size_t kNotFixed = static_cast<std::size_t>(-1);
template <class Row, auto kMember>
consteval std::size_t stored_offset() {
  Row row{};
  std::size_t offset = 0;
  std::size_t found = kNotFixed;
  bool behind_variable = false;
  const auto look_at = [&](const auto& column) {
    if (address_of(column) == &(row.*kMember) && !behind_variable) {
      found = offset;
    }
    using Column = std::remove_cvref_t<decltype(column)>;
    offset += StoredColumn<Column>::kBytesMax;
    behind_variable = behind_variable || kIsVariable<Column>;
  };
  std::apply([&](const auto&... columns) { (look_at(columns), ...); }, Row::columns(row));
  return found;
}

/// Bytes before the first column of variable length, its length field included.
template <class Row>
consteval std::size_t fixed_bytes() {
  Row row{};
  std::size_t bytes = 0;
  bool behind_variable = false;
  const auto look_at = [&](const auto& column) {
    using Column = std::remove_cvref_t<decltype(column)>;
    if (behind_variable) {
      return;
    }
    if constexpr (kIsVariable<Column>) {
      bytes += sizeof(typename StoredColumn<Column>::Length);
      behind_variable = true;
    } else {
      bytes += StoredColumn<Column>::kBytesMax;
    }
  };
  std::apply([&](const auto&... columns) { (look_at(columns), ...); }, Row::columns(row));
  return bytes;
}

}  // namespace detail

/// For a const Row: read-only. Otherwise it refers to an editor of the row's bytes.
template <class OfRow>
class StoredRow {
 public:
  using Row = std::remove_const_t<OfRow>;
  static constexpr bool kMayChange = !std::is_const_v<OfRow>;

  /// A whole row's.
  explicit StoredRow(std::span<const char> bytes) noexcept
    requires(!kMayChange)
      : bytes_(bytes) {}
  explicit StoredRow(RowEditor& row) noexcept
    requires(kMayChange)
      : bytes_(row.view()), editor_(&row) {}

  /// Whether there are at least as many bytes as such a row has.
  [[nodiscard]] static bool may_be(std::span<const char> bytes) noexcept {
    return bytes.size() >= detail::fixed_bytes<Row>();
  }

  /// A number.
  template <auto kMember>
  [[nodiscard]] auto get() const noexcept {
    std::remove_cvref_t<decltype(std::declval<Row&>().*kMember)> value{};
    static_assert(std::is_integral_v<decltype(value)>);
    std::memcpy(&value, at<kMember>(sizeof value), sizeof value);
    return value;
  }
  template <auto kMember, class Value>
  void set(Value value) const noexcept
    requires(kMayChange)
  {
    static_assert(std::is_same_v<Value, decltype(get<kMember>())>);
    const auto offset = static_cast<std::size_t>(at<kMember>(sizeof value) - bytes_.data());
    editor_->set_bytes(offset,
                       {static_cast<const char*>(static_cast<const void*>(&value)), sizeof value});
  }
  /// One of several texts that are always full.
  template <auto kMember>
  [[nodiscard]] auto text(std::size_t number) const noexcept {
    using Texts = std::remove_cvref_t<decltype(std::declval<Row&>().*kMember)>;
    using Text = std::remove_extent_t<Texts>;
    check(number < std::extent_v<Texts>, "a column has that many texts");
    Text text;
    text.assign_padded(at<kMember>(sizeof(Texts) / sizeof(Text) * Text::kMaxBytes) +
                       number * Text::kMaxBytes);
    return text;
  }
  /// A text of any length, the first such column.
  template <auto kMember>
  [[nodiscard]] std::string_view variable_text() const noexcept {
    using Text = std::remove_cvref_t<decltype(std::declval<Row&>().*kMember)>;
    using Length = typename detail::StoredColumn<Text>::Length;
    Length length = 0;
    const char* const begin = at<kMember>(sizeof length);
    std::memcpy(&length, begin, sizeof length);
    const std::string_view rest(
        begin + sizeof length,
        static_cast<std::size_t>(bytes_.data() + bytes_.size() - begin) - sizeof length);
    return rest.substr(0, length);
  }

 private:
  template <auto kMember>
  [[nodiscard]] const char* at(std::size_t bytes) const noexcept {
    constexpr std::size_t kOffset = detail::stored_offset<Row, kMember>();
    static_assert(kOffset != detail::kNotFixed, "the column stands behind a text of any length");
    PALIMPSEST_DEBUG_CHECK(kOffset + bytes <= bytes_.size(), "the bytes are a row of its table");
    return bytes_.data() + kOffset;
  }

  std::span<const char> bytes_;
  [[no_unique_address]] std::conditional_t<kMayChange, RowEditor*, std::monostate> editor_;
};

}  // namespace palimpsest::experiments
