#include "engine/format/row_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "palimpsest/error.h"

#include "base/check.h"

namespace palimpsest::engine {
namespace {

bool is_zero(ByteView bytes) noexcept {
  return std::ranges::all_of(bytes, [](char byte) { return byte == 0; });
}

/// The integer with these lowest bytes, zero-extended.
Int128 load_integer(ByteView bytes) noexcept {
  Int128 integer = 0;
  std::memcpy(&integer, bytes.data(), std::min(bytes.size(), sizeof integer));
  return integer;
}

/// The change of a column; null if there is none.
const ColumnChange* find_change(std::span<const ColumnChange> changes,
                                std::size_t column) noexcept {
  const auto found = std::ranges::find(changes, column, &ColumnChange::column);
  return found == changes.end() ? nullptr : &*found;
}

ByteView bytes_or_none(const Value& value) {
  return value.is_null() ? "" : value.as_bytes();
}

}  // namespace

RowLayout::RowLayout(const TableSchema& schema)
    : table_(schema.name), columns_(schema.columns), places_(schema.columns.size()) {
  std::uint64_t variable_bytes_max = 0;
  std::uint32_t fixed_bytes_sum = 0;
  for (std::size_t number = 0; number < columns_.size(); ++number) {
    const ColumnDefinition& column = columns_[number];
    ColumnPlace& place = places_[number];
    place.type = column.type.type;
    const auto in_key = std::ranges::find(schema.key, column.name);
    if (in_key != schema.key.end()) {
      place.offset = static_cast<std::uint32_t>(in_key - schema.key.begin());
      continue;
    }
    in_row_.push_back(number);
    if (column.type.nullable) {
      place.null_bit = static_cast<std::uint16_t>(nullable_count_++);
    }
    place.width = fixed_bytes(column.type);
    place.kind = place.width != 0 ? PlaceKind::fixed : PlaceKind::variable;
    if (place.kind == PlaceKind::fixed) {
      place.offset = fixed_bytes_sum;
      fixed_bytes_sum += place.width;
      if (!takes_any_bytes(column.type)) {
        judged_.push_back(number);
      }
    } else {
      place.offset = static_cast<std::uint32_t>(variable_.size());
      variable_.push_back(number);
      variable_bytes_max += column.type.length;
    }
  }
  const std::uint32_t bitmap_bytes = (nullable_count_ + 7) / 8;
  for (ColumnPlace& place : places_) {
    place.offset += place.kind == PlaceKind::fixed ? bitmap_bytes : 0;
  }
  offset_bytes_ = variable_bytes_max <= std::numeric_limits<std::uint16_t>::max() ? 2 : 4;
  offsets_begin_ = bitmap_bytes + fixed_bytes_sum;
  const auto ends = static_cast<std::uint32_t>(variable_.empty() ? 0 : variable_.size() - 1);
  variable_begin_ = offsets_begin_ + ends * offset_bytes_;
}

std::optional<std::size_t> RowLayout::find_column(std::string_view name) const noexcept {
  const auto found = std::ranges::find(columns_, name, &ColumnDefinition::name);
  return found == columns_.end()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(found - columns_.begin()));
}

// Writing.

/// Stores a fixed column, and the null bit of any column. The value fits.
void RowLayout::store(char* row, std::size_t column, const Value& value) const noexcept {
  const ColumnPlace& place = places_[column];
  mark_null(row, place, value.is_null());
  if (place.kind != PlaceKind::fixed) {
    return;
  }
  char* into = row + place.offset;
  if (value.is_null()) {
    std::memset(into, 0, place.width);
  } else if (place.type == ColumnType::character) {
    const ByteView text = without_padding(value.as_bytes());
    std::memset(into, ' ', place.width);
    text.copy(into, place.width);
  } else {
    const Int128 integer = stored_integer(columns_[column].type, value);
    std::memcpy(into, &integer, std::min<std::size_t>(place.width, sizeof integer));
  }
}

/// Checks the size of a row; bytes_of(column) is the new content of each variable column.
template <class BytesOf>
void RowLayout::require_room(const BytesOf& bytes_of) const {
  std::uint64_t size = variable_begin_;
  for (const std::size_t column : variable_) {
    size += bytes_of(column).size();
  }
  if (size > kRowBytesMax) [[unlikely]] {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "table \"{}\": a row of {} bytes beside its key is too long: the longest has {}",
            table_, size, kRowBytesMax));
  }
}

/// Appends what follows the fixed columns.
template <class BytesOf>
void RowLayout::append_variable(std::string& row, const BytesOf& bytes_of) const {
  row.resize(variable_begin_);
  for (std::size_t number = 0; number < variable_.size(); ++number) {
    row.append(bytes_of(variable_[number]));
    if (number + 1 < variable_.size()) {
      const auto end = static_cast<std::uint32_t>(row.size() - variable_begin_);
      std::memcpy(row.data() + offsets_begin_ + number * offset_bytes_, &end, offset_bytes_);
    }
  }
}

void RowLayout::encode(std::span<const Value> values, std::span<const std::size_t> columns,
                       std::string& row) const {
  check(values.size() == columns_.size(), "a row has a value for each column");
  row.assign(offsets_begin_, '\0');
  for (const std::size_t column : columns) {
    const ColumnPlace& place = places_[column];
    const ColumnDefinition& definition = columns_[column];
    const bool is_stored = place.kind == PlaceKind::fixed &&
                           store_surely(definition.type, values[column], row.data() + place.offset);
    if (!is_stored) {
      require_fit(table_, definition, values[column]);
      store(row.data(), column, values[column]);
    }
  }
  const auto bytes_of = [&](std::size_t column) { return bytes_or_none(values[column]); };
  require_room(bytes_of);
  append_variable(row, bytes_of);
}

bool RowLayout::are_in_place(std::span<const ColumnChange> changes) const noexcept {
  return std::ranges::all_of(changes, [&](const ColumnChange& change) {
    return places_[change.column].kind == PlaceKind::fixed;
  });
}

void RowLayout::require_changes(std::span<const ColumnChange> changes) const {
  for (const ColumnChange& change : changes) {
    check(change.column < columns_.size() && places_[change.column].kind != PlaceKind::key,
          "a change of a row names one of its columns");
    require_fit(table_, columns_[change.column], change.value);
  }
}

void RowLayout::change_in_place(ValueEditor& row, std::span<const ColumnChange> changes) const {
  require_changes(changes);
  check(are_in_place(changes) && row.bytes().size() >= variable_begin_,
        "variable columns are not changed in place");
  char* const fixed = row.edit(0, offsets_begin_).data();
  for (const ColumnChange& change : changes) {
    store(fixed, change.column, change.value);
  }
}

void RowLayout::change(ByteView row, std::span<const ColumnChange> changes,
                       std::string& changed) const {
  require_changes(changes);
  check(fits(row), "a changed row has all fixed columns");
  const auto bytes_of = [&](std::size_t column) {
    const ColumnChange* change = find_change(changes, column);
    return change != nullptr ? bytes_or_none(change->value) : variable(row, places_[column]);
  };
  require_room(bytes_of);
  changed.assign(row, 0, offsets_begin_);
  for (const ColumnChange& change : changes) {
    store(changed.data(), change.column, change.value);
  }
  append_variable(changed, bytes_of);
}

// Reading.

/// The end of a variable column, by its number among them, relative to variable_begin_; arbitrary
/// in a damaged row.
std::size_t RowLayout::end_of(ByteView row, std::size_t variable) const noexcept {
  if (variable + 1 == variable_.size()) {
    return row.size() - variable_begin_;
  }
  std::uint32_t end = 0;
  std::memcpy(&end, row.data() + offsets_begin_ + variable * offset_bytes_, offset_bytes_);
  return end;
}

ByteView RowLayout::variable(ByteView row, const ColumnPlace& place) const noexcept {
  PALIMPSEST_DEBUG_CHECK(place.kind == PlaceKind::variable && fits(row),
                         "a variable column of a whole row");
  const ByteView bytes = row.substr(variable_begin_);
  const std::size_t end = std::min(end_of(row, place.offset), bytes.size());
  const std::size_t begin = place.offset == 0 ? 0 : std::min(end_of(row, place.offset - 1), end);
  return bytes.substr(begin, end - begin);
}

Value RowLayout::value(ByteView row, std::size_t column) const {
  const ColumnPlace& place = places_[column];
  check(place.kind != PlaceKind::key && fits(row), "a column of a whole row");
  if (is_null(row, place)) {
    return {};
  }
  if (place.kind == PlaceKind::variable) {
    return variable(row, place);
  }
  if (place.type == ColumnType::character) {
    return padded(row, place);
  }
  return value_of(columns_[column].type, load_integer(row.substr(place.offset, place.width)));
}

// Validating.

bool RowLayout::has_unused_bits(ByteView row) const noexcept {
  return nullable_count_ % 8 != 0 &&
         static_cast<unsigned char>(row[nullable_count_ / 8]) >> nullable_count_ % 8 != 0;
}

/// A quick check: true only if a fixed column is a valid decimal of eight bytes; may be false
/// although it is.
bool RowLayout::is_plain_decimal(ByteView row, std::size_t column) const noexcept {
  const ColumnPlace& place = places_[column];
  if (place.type != ColumnType::decimal || place.width != sizeof(std::int64_t) ||
      is_null(row, place)) {
    return false;
  }
  std::int64_t number = 0;
  std::memcpy(&number, row.data() + place.offset, sizeof number);
  const auto end = static_cast<std::int64_t>(detail::kPowersOfTen[columns_[column].type.precision]);
  return -end < number && number < end;
}

std::optional<std::string> RowLayout::fault_of_fixed(ByteView row, std::size_t column) const {
  const ColumnPlace& place = places_[column];
  const ByteView bytes = row.substr(place.offset, place.width);
  if (is_null(row, place)) {
    return is_zero(bytes) ? std::nullopt
                          : std::optional<std::string>("it is null, but its bytes are not zero");
  }
  return place.type == ColumnType::character
             ? std::nullopt
             : fault_of_integer(columns_[column].type, load_integer(bytes));
}

std::optional<std::string> RowLayout::fault_of_variable(ByteView row) const {
  std::size_t begin = 0;
  for (std::size_t number = 0; number < variable_.size(); ++number) {
    const std::size_t end = end_of(row, number);
    const ColumnDefinition& column = columns_[variable_[number]];
    if (end < begin || end > row.size() - variable_begin_) {
      return fmt::format("column \"{}\": it ends at {} and begins at {} of {} bytes", column.name,
                         end, begin, row.size() - variable_begin_);
    }
    const std::size_t size_max = is_null(row, places_[variable_[number]]) ? 0 : column.type.length;
    if (end - begin > size_max) {
      return fmt::format("column \"{}\": {} bytes, of at most {}", column.name, end - begin,
                         size_max);
    }
    begin = end;
  }
  if (begin != row.size() - variable_begin_) {
    return fmt::format("{} bytes after the last column", row.size() - variable_begin_ - begin);
  }
  return std::nullopt;
}

std::optional<std::string> RowLayout::validate(ByteView row) const {
  if (!fits(row)) {
    return fmt::format("a row of {} bytes is too short: the shortest has {}", row.size(),
                       variable_begin_);
  }
  if (row.size() > kRowBytesMax) {
    return fmt::format("a row of {} bytes is too long: the longest has {}", row.size(),
                       kRowBytesMax);
  }
  if (has_unused_bits(row)) {
    return "null bits of columns that do not exist are set";
  }
  for (const std::size_t number : judged_) {
    if (is_plain_decimal(row, number)) [[likely]] {
      continue;
    }
    if (const auto fault = fault_of_fixed(row, number)) {
      return fmt::format("column \"{}\": {}", columns_[number].name, *fault);
    }
  }
  return fault_of_variable(row);
}

}  // namespace palimpsest::engine
