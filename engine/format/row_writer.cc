#include "palimpsest/row_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/error.h"

#include "engine/format/column_value.h"
#include "engine/format/key_codec.h"
#include "engine/format/row_layout.h"

namespace palimpsest {
namespace {

/// Whether a key column always has the same width, and is stored as an integer or a text.
bool is_plain_in_key(const DataType& type) noexcept {
  const bool is_small_decimal =
      type.type == ColumnType::decimal && type.precision <= engine::kDigitsOfEightBytes;
  return engine::takes_any_bytes_in_key(type) || (is_small_decimal && !type.nullable);
}

/// The value kind of the type, if RowWriter has a setter of its own for it; else null.
ValueKind kind_of(const DataType& type) noexcept {
  switch (type.type) {
    case ColumnType::int8:
    case ColumnType::int16:
    case ColumnType::int32:
    case ColumnType::int64: return ValueKind::integer;
    case ColumnType::date: return ValueKind::date;
    case ColumnType::varchar:
    case ColumnType::bytes: return ValueKind::bytes;
    case ColumnType::decimal:
      return type.precision <= engine::kDigitsOfEightBytes ? ValueKind::decimal : ValueKind::null;
    default: return ValueKind::null;
  }
}

}  // namespace

std::optional<RowWriter> RowWriter::of(const TableSchema& schema) {
  const engine::RowLayout rows(schema);
  const engine::KeyCodec keys(schema);
  RowWriter writer(schema);
  writer.places_.resize(schema.columns.size());
  for (const std::size_t number : keys.columns()) {
    const DataType& type = schema.columns[number].type;
    if (!is_plain_in_key(type)) {
      return std::nullopt;
    }
    writer.places_[number].in_key = true;
    writer.places_[number].offset = static_cast<std::uint32_t>(writer.key_bytes_);
    writer.key_bytes_ += engine::fixed_bytes(type);
  }
  for (std::size_t number = 0; number < schema.columns.size(); ++number) {
    const DataType& type = schema.columns[number].type;
    const engine::ColumnPlace& in_row = rows.place(number);
    Place& place = writer.places_[number];
    const std::uint32_t width = engine::fixed_bytes(type);
    place.holds = kind_of(type);
    place.null_bit = in_row.null_bit;
    if (in_row.kind == engine::PlaceKind::variable) {
      place.offset = in_row.offset;
      place.text_bytes_max = type.length;
      writer.texts_.emplace_back();
    } else if (in_row.kind == engine::PlaceKind::fixed) {
      place.offset = static_cast<std::uint32_t>(writer.key_bytes_) + in_row.offset;
    }
    if (type.type == ColumnType::character) {
      place.padded_bytes = width;
    } else if (width != 0) {
      place.bits = static_cast<std::uint8_t>(8 * std::min(width, 8U));
    }
    if (place.holds == ValueKind::decimal) {
      place.end = static_cast<std::int64_t>(detail::kPowersOfTen[type.precision]);
    }
  }
  writer.head_bytes_ = writer.key_bytes_ + rows.bytes_min();
  writer.ends_begin_ = writer.key_bytes_ + rows.ends_begin();
  writer.end_bytes_ = rows.end_bytes();
  return writer;
}

void RowWriter::set_null(const Place& place) noexcept {
  head_[key_bytes_ + place.null_bit / 8U] =
      static_cast<char>(static_cast<unsigned char>(head_[key_bytes_ + place.null_bit / 8U]) |
                        1U << place.null_bit % 8U);
  if (place.holds == ValueKind::bytes) {
    texts_[place.offset] = {};
  }
}

void RowWriter::set_character(const Place& place, std::string_view text) noexcept {
  char* const into = head_ + place.offset;
  std::memset(into, ' ', place.padded_bytes);
  engine::without_padding(text).copy(into, place.padded_bytes);
}

void RowWriter::set(std::size_t column, const Value& value) {
  const ColumnDefinition& definition = schema_.columns[column];
  engine::require_fit(schema_.name, definition, value);
  const Place& place = places_[column];
  if (value.is_null()) {
    set_null(place);
  } else if (place.holds == ValueKind::bytes) {
    texts_[place.offset] = value.as_bytes();
  } else if (definition.type.type == ColumnType::character) {
    set_character(place, value.as_bytes());
  } else {
    const Int128 stored = engine::stored_integer(definition.type, value);
    if (engine::fixed_bytes(definition.type) == sizeof stored) {
      std::memcpy(head_ + place.offset, &stored, sizeof stored);
    } else {
      store(place, static_cast<std::int64_t>(stored));
    }
  }
}

void RowWriter::refuse_size(std::size_t bytes) {
  drop();
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("table \"{}\": a row of {} bytes beside its key is too long: the longest has {}",
                  schema_.name, bytes, kRowBytesMax));
}

}  // namespace palimpsest
