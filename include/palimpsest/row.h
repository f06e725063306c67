// Rows in their stored form, read column by column without a copy, by name or by a handle.
//
//   const Column<std::int64_t> balance = accounts.column<std::int64_t>("balance");   // once
//   accounts.read({7}, [&](const RowView& row) {
//     total += row.get(balance);                // one load
//     name = row["owner"].as_bytes();           // found by name, judged at run time
//   });
//
// A Row owns its bytes; a RowView is valid as long as the function that is given it says. For rows
// as C++ structs see table_of.h.
// Thread-safety: a Row is immutable; a RowView belongs to one thread.
// Failure: a column that does not exist, or a C++ type other than the column's, throws Error
//          invalid_argument naming table and column; damaged rows throw corruption.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "palimpsest/column.h"
#include "palimpsest/types.h"
#include "palimpsest/value.h"
#include "palimpsest/value_editor.h"

namespace palimpsest {

class Row;
class Table;

namespace detail {

class TableFormat;  // the engine's
class KeyParts;     // the engine's: a decoded key

}  // namespace detail

class RowView {
 public:
  /// Made by the engine, from its TableFormat.
  RowView(std::string_view key, std::string_view bytes, const detail::RowFormat& format,
          detail::KeyParts& parts) noexcept
      : key_(key), bytes_(bytes), format_(&format), parts_(&parts) {}

  /// The stored key, as Key::encoded() takes it.
  [[nodiscard]] std::string_view key_bytes() const noexcept { return key_; }
  /// The stored bytes beside the key; in a key_value_table(), the value.
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }

  /// A column by name, or by its number in declared order. The Value views the row.
  [[nodiscard]] Value operator[](std::string_view column) const;
  [[nodiscard]] Value operator[](std::size_t column) const;
  [[nodiscard]] std::size_t column_count() const noexcept;
  /// Whether the row has this layout. Used by the engine.
  [[nodiscard]] bool has_layout(detail::LayoutNumber layout) const noexcept {
    return format_->layout == layout;
  }

  /// Zero if null. This and the next two throw invalid_argument for a column of another layout.
  template <FixedType Type>
  [[nodiscard]] Type get(const Column<Type>& column) const {
    require_within(column.place(), sizeof(Type));
    return load<Type>(column.place().offset);
  }
  template <FixedType Type>
  [[nodiscard]] bool is_null(const Column<Type>& column) const {
    require_within(column.place(), sizeof(Type));
    return is_null(column.place());
  }
  /// Empty if null.
  template <FixedType Type>
  [[nodiscard]] std::optional<Type> get_nullable(const Column<Type>& column) const {
    return is_null(column) ? std::nullopt : std::optional<Type>(get(column));
  }

  /// For people: (7, "Ada", 12.50)
  [[nodiscard]] std::string text() const;

 private:
  friend class Row;

  void require_within(const detail::FixedPlace& place, std::size_t bytes) const {
    if (!place.is_in(format_->layout, bytes_.size(), bytes)) [[unlikely]] {
      refuse_column();
    }
  }
  [[noreturn]] void refuse_column() const;
  template <class Type>
  [[nodiscard]] Type load(std::uint32_t offset) const noexcept {
    if constexpr (std::is_same_v<Type, Date>) {
      return Date(load<std::int32_t>(offset));
    } else if constexpr (std::is_same_v<Type, Timestamp>) {
      return Timestamp(load<std::int64_t>(offset));
    } else if constexpr (std::is_same_v<Type, bool>) {
      return load<std::uint8_t>(offset) != 0;
    } else {
      Type value;
      std::memcpy(&value, bytes_.data() + offset, sizeof value);
      return value;
    }
  }
  [[nodiscard]] bool is_null(const detail::FixedPlace& place) const noexcept {
    return place.null_bit != detail::FixedPlace::kNeverNull &&
           (static_cast<unsigned char>(bytes_[place.null_bit / 8U]) >> place.null_bit % 8U & 1U) !=
               0;
  }

  std::string_view key_;
  std::string_view bytes_;
  const detail::RowFormat* format_;
  detail::KeyParts* parts_;
};

/// An immutable copy of a row.
class Row {
 public:
  explicit Row(const RowView& view);
  /// Made by the engine; shares `format`.
  Row(const RowView& view, std::shared_ptr<const detail::TableFormat> format);

  [[nodiscard]] const RowView& view() const noexcept;
  // NOLINTNEXTLINE(google-explicit-constructor): a row is read like a view
  operator const RowView&() const noexcept { return view(); }

  [[nodiscard]] std::string_view key_bytes() const noexcept { return view().key_bytes(); }
  [[nodiscard]] std::string_view bytes() const noexcept { return view().bytes(); }
  [[nodiscard]] Value operator[](std::string_view column) const { return view()[column]; }
  [[nodiscard]] Value operator[](std::size_t column) const { return view()[column]; }
  template <FixedType Type>
  [[nodiscard]] Type get(const Column<Type>& column) const {
    return view().get(column);
  }
  template <FixedType Type>
  [[nodiscard]] std::optional<Type> get_nullable(const Column<Type>& column) const {
    return view().get_nullable(column);
  }
  [[nodiscard]] std::string text() const { return view().text(); }

 private:
  struct Content;
  std::shared_ptr<const Content> content_;
};

/// A row that is changed in place (Table::modify()). The changed bytes are compared with what they
/// were, and logged: those of the columns that are set, or the whole row once bytes() is called.
class RowEditor {
 public:
  /// Made by the engine, with the row's layout if columns are to be set.
  explicit RowEditor(ValueEditor& value, detail::LayoutNumber layout = 0) noexcept
      : value_(&value), layout_(layout) {}

  /// The stored bytes beside the key; in a key_value_table(), the value. The length is fixed.
  [[nodiscard]] std::span<char> bytes() noexcept { return value_->edit_all(); }
  /// The same bytes, read only.
  [[nodiscard]] std::span<const char> view() const noexcept { return value_->bytes(); }
  /// Overwrites some bytes. If the row has no such bytes, the edit is refused as by set().
  void set_bytes(std::size_t offset, std::string_view bytes) noexcept {
    if (offset > view().size() || bytes.size() > view().size() - offset) [[unlikely]] {
      refused_ = true;
    } else if (!bytes.empty()) {
      std::memcpy(value_->edit(offset, bytes.size()).data(), bytes.data(), bytes.size());
    }
  }

  /// Zero if null. For a column of another layout it returns zero, and the edit is refused as by
  /// set().
  template <FixedType Type>
  [[nodiscard]] Type get(const Column<Type>& column) noexcept {
    Type value{};
    if (!is_within<Type>(column.place())) [[unlikely]] {
      refused_ = true;
      return value;
    }
    std::memcpy(static_cast<void*>(&value), view().data() + column.place().offset, sizeof value);
    return value;
  }
  /// Sets the column, which is then not null. If it is in an index (Column::place().may_change) or
  /// of another table, this does nothing and Table::modify() throws invalid_argument.
  template <FixedType Type>
  void set(const Column<Type>& column, Type value) noexcept {
    const detail::FixedPlace& place = column.place();
    if (!place.may_change || !is_within<Type>(place)) [[unlikely]] {
      refused_ = true;
      return;
    }
    mark_null(place, false);
    std::memcpy(value_->edit(place.offset, sizeof value).data(), static_cast<const void*>(&value),
                sizeof value);
  }
  /// For a nullable column; for any other the edit is refused as by set().
  template <FixedType Type>
  void set_null(const Column<Type>& column) noexcept {
    const detail::FixedPlace& place = column.place();
    if (!place.may_change || place.null_bit == detail::FixedPlace::kNeverNull ||
        !is_within<Type>(place)) [[unlikely]] {
      refused_ = true;
      return;
    }
    mark_null(place, true);
    std::memset(value_->edit(place.offset, sizeof(Type)).data(), 0, sizeof(Type));
  }

  [[nodiscard]] bool was_refused() const noexcept { return refused_; }

 private:
  template <class Type>
  [[nodiscard]] bool is_within(const detail::FixedPlace& place) const noexcept {
    return place.is_in(layout_, view().size(), sizeof(Type));
  }
  void mark_null(const detail::FixedPlace& place, bool null) noexcept {
    if (place.null_bit != detail::FixedPlace::kNeverNull) {
      const unsigned bit = 1U << place.null_bit % 8U;
      char& byte = value_->edit(place.null_bit / 8U, 1).front();
      const auto others = static_cast<unsigned char>(byte) & ~bit;
      byte = static_cast<char>(null ? others | bit : others);
    }
  }

  ValueEditor* value_;
  detail::LayoutNumber layout_;
  bool refused_ = false;
};

}  // namespace palimpsest
