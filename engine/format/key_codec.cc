#include "engine/format/key_codec.h"

#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/error.h"

#include "base/check.h"
#include "engine/format/column_value.h"

namespace palimpsest::engine {
namespace {

constexpr std::size_t kEndOfTextBytes = 2;

bool is_text(ColumnType type) noexcept {
  return type == ColumnType::varchar || type == ColumnType::bytes;
}

bool is_floating(ColumnType type) noexcept {
  return type == ColumnType::float32 || type == ColumnType::float64;
}

/// Bytes of a closed text with its end; nothing if it has no end, or is invalid.
std::optional<std::size_t> closed_bytes(ByteView rest) noexcept {
  std::size_t at = 0;
  for (;;) {
    at = rest.find(kEscape, at);
    if (at == ByteView::npos || at + 1 == rest.size()) {
      return std::nullopt;
    }
    at += 2;
    if (rest[at - 1] == kEndOfText) {
      return at;
    }
    if (rest[at - 1] != kEscapedZero) {
      return std::nullopt;
    }
  }
}

/// The bytes of a closed text, appended to memory with capacity for them.
ByteView unescape(ByteView closed, std::vector<char>& into) {
  const std::size_t begin = into.size();
  closed.remove_suffix(2);
  while (!closed.empty()) {
    const std::size_t zero = closed.find(kEscape);
    const std::size_t taken = zero == ByteView::npos ? closed.size() : zero + 1;
    into.insert(into.end(), closed.begin(), closed.begin() + static_cast<std::ptrdiff_t>(taken));
    closed.remove_prefix(zero == ByteView::npos ? taken : taken + 1);
  }
  return {into.data() + begin, into.size() - begin};
}

Uint128 load_big_endian(ByteView bytes) noexcept {
  Uint128 number = 0;
  for (const char byte : bytes) {
    number = number << 8U | static_cast<unsigned char>(byte);
  }
  return number;
}

/// The integer of a value (column_value.h) from its bytes in a key: the inverse of
/// KeyWriter::put().
Int128 stored_integer_of(ColumnType type, ByteView key) noexcept {
  const Uint128 bits = load_big_endian(key);
  const Uint128 sign = Uint128{1} << (8 * key.size() - 1);
  if (type == ColumnType::boolean) {
    return static_cast<Int128>(bits);
  }
  if (is_floating(type) && (bits & sign) == 0) {
    return static_cast<Int128>(~bits & (sign | (sign - 1)));
  }
  return static_cast<Int128>(bits ^ sign);
}

/// False for floating-point numbers, some of which have another form in keys.
bool is_plain_number(const DataType& type, ByteView stored) {
  switch (type.type) {
    case ColumnType::float32:
    case ColumnType::float64: return false;
    case ColumnType::boolean:
    case ColumnType::decimal: return !fault_of_integer(type, stored_integer_of(type.type, stored));
    default: return true;
  }
}

}  // namespace

KeyCodec::KeyCodec(const TableSchema& table, std::span<const std::string> columns, KeyEnd end)
    : table_(table.name) {
  for (const std::string& name : columns) {
    const auto number = table.find_column(name);
    check(number.has_value(), "a key's columns are columns of its table");
    numbers_.push_back(*number);
    columns_.push_back(table.columns[*number]);
  }
  if (std::ranges::all_of(columns_, takes_any_bytes_in_key, &ColumnDefinition::type)) {
    for (const ColumnDefinition& column : columns_) {
      plain_bytes_ += fixed_bytes(column.type);
    }
  }
  open_ = end == KeyEnd::open && !columns_.empty() && is_text(columns_.back().type.type);
}

// Encoding.

void KeyCodec::put(KeyWriter& writer, std::size_t column, const Value& value) const {
  const DataType& type = columns_[column].type;
  require_fit(table_, columns_[column], value);
  if (value.is_null()) {
    writer.put_null();
    return;
  }
  if (type.nullable) {
    writer.put_present();
  }
  switch (type.type) {
    case ColumnType::boolean: writer.put(value.as_boolean()); break;
    case ColumnType::int8: writer.put(static_cast<std::int8_t>(value.as_integer())); break;
    case ColumnType::int16: writer.put(static_cast<std::int16_t>(value.as_integer())); break;
    case ColumnType::int32: writer.put(static_cast<std::int32_t>(value.as_integer())); break;
    case ColumnType::int64: writer.put(value.as_integer()); break;
    case ColumnType::float32: writer.put(static_cast<float>(floating_of(value))); break;
    case ColumnType::float64: writer.put(floating_of(value)); break;
    case ColumnType::date: writer.put(value.as_date()); break;
    case ColumnType::timestamp: writer.put(value.as_timestamp()); break;
    case ColumnType::decimal:
      if (const Int128 unscaled = stored_integer(type, value); fixed_bytes(type) == 8) {
        writer.put(static_cast<std::int64_t>(unscaled));
      } else {
        writer.put_wide(unscaled);
      }
      break;
    case ColumnType::character:
      writer.put_padded(without_padding(value.as_bytes()), type.length);
      break;
    case ColumnType::varchar:
    case ColumnType::bytes:
      is_open(column) ? writer.put_open(value.as_bytes()) : writer.put_closed(value.as_bytes());
      break;
  }
}

std::size_t KeyCodec::bytes_min() const noexcept {
  std::size_t bytes = 0;
  for (const ColumnDefinition& column : columns_) {
    bytes += column.type.nullable ? 1 : fixed_bytes(column.type);
  }
  return bytes;
}

ByteView KeyCodec::finish(const KeyWriter& writer, std::size_t room) const {
  if (writer.overflowed()) [[unlikely]] {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\": a key of more than {} bytes", table_, room));
  }
  return writer.key();
}

ByteView KeyCodec::encode(std::span<const Value> first_values, std::span<char> into) const {
  check(first_values.size() <= columns_.size(), "a key has at most as many values as columns");
  KeyWriter writer(into);
  for (std::size_t column = 0; column < first_values.size(); ++column) {
    put(writer, column, first_values[column]);
  }
  return finish(writer, into.size());
}

ByteView KeyCodec::encode_beginning(std::span<const Value> first_values,
                                    std::span<char> into) const {
  if (first_values.empty()) {
    return {};
  }
  const std::size_t last = first_values.size() - 1;
  const ByteView key = encode(first_values, into);
  const DataType& type = columns_[last].type;
  if (type.type == ColumnType::character) {
    const std::size_t text =
        first_values[last].is_null() ? 0 : first_values[last].as_bytes().size();
    if (!first_values[last].is_null() && text <= type.length) {
      return key.substr(0, key.size() - (type.length - text));  // cuts its padding
    }
  } else if (is_text(type.type) && !first_values[last].is_null()) {
    return is_open(last) ? key : key.substr(0, key.size() - kEndOfTextBytes);
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("table \"{}\", column \"{}\": a range of texts that begin with {}, which "
                          "is not a text of {}",
                          table_, columns_[last].name, first_values[last].text(), text_of(type)));
}

ByteView KeyCodec::encode_row(std::span<const Value> values, std::span<char> into) const {
  KeyWriter writer(into);
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    check(numbers_[column] < values.size(), "a row has a value for each column");
    put(writer, column, values[numbers_[column]]);
  }
  return finish(writer, into.size());
}

std::optional<ByteView> KeyCodec::encode_above(std::span<const Value> first_values,
                                               std::span<char> into) const {
  const ByteView key = encode(first_values, into);
  const bool ends_open =
      !first_values.empty() && is_open(first_values.size() - 1) && !first_values.back().is_null();
  if (!ends_open) {
    return successor_of_prefix(into.first(key.size()));
  }
  // Longer texts begin with this one, too: the next one is longer by a zero.
  KeyWriter writer(into.subspan(key.size()));
  writer.put_open(ByteView("\0", 1));
  return ByteView(into.data(), key.size() + finish(writer, into.size()).size());
}

std::optional<ByteView> successor_of_prefix(std::span<char> prefix) noexcept {
  std::size_t size = prefix.size();
  while (size != 0 && prefix[size - 1] == '\xFF') {
    --size;
  }
  if (size == 0) {
    return std::nullopt;
  }
  prefix[size - 1] = static_cast<char>(static_cast<unsigned char>(prefix[size - 1]) + 1);
  return ByteView(prefix.data(), size);
}

// Decoding.

/// Cuts the bytes of a column, with its mark if it is nullable, off a key; nothing if they are not
/// there.
std::optional<ByteView> KeyCodec::take(std::size_t column, ByteView& rest) const noexcept {
  const DataType& type = columns_[column].type;
  std::size_t size = 0;
  if (type.nullable) {
    if (rest.empty() || (rest[0] != kNullMark && rest[0] != kValueMark)) {
      return std::nullopt;
    }
    size = 1;
  }
  const ByteView value = rest.substr(size);
  if (size == 0 || rest[0] == kValueMark) {
    if (is_text(type.type)) {
      const auto bytes = is_open(column) ? value.size() : closed_bytes(value);
      if (!bytes) {
        return std::nullopt;
      }
      size += *bytes;
    } else {
      size += fixed_bytes(type);
    }
  }
  if (size > rest.size()) {
    return std::nullopt;
  }
  const ByteView taken = rest.substr(0, size);
  rest.remove_prefix(size);
  return taken;
}

/// `stored` is what take() returned, without a mark.
std::optional<std::string> KeyCodec::decode_value(std::size_t column, ByteView stored,
                                                  DecodedKey& decoded) const {
  const DataType& type = columns_[column].type;
  if (type.type == ColumnType::character) {
    decoded.values_.emplace_back(without_padding(stored));
    return std::nullopt;
  }
  if (is_text(type.type)) {
    const ByteView text = is_open(column) ? stored : unescape(stored, decoded.unescaped_);
    decoded.values_.emplace_back(text);
    return misfit(type, decoded.values_.back());
  }
  const Int128 integer = stored_integer_of(type.type, stored);
  if (auto fault = fault_of_integer(type, integer)) {
    return fault;
  }
  decoded.values_.push_back(value_of(type, integer));
  if (is_floating(type.type)) {
    std::array<char, 16> memory{};
    KeyWriter again(memory);
    put(again, column, decoded.values_.back());
    if (!again.key().ends_with(stored)) {
      return "a number that is not in the form of keys";
    }
  }
  return std::nullopt;
}

std::optional<std::string> KeyCodec::decode_column(std::size_t column, ByteView& rest,
                                                   DecodedKey& decoded) const {
  const auto taken = take(column, rest);
  if (!taken) {
    return "its bytes are cut off, or do not have its form";
  }
  const bool nullable = columns_[column].type.nullable;
  if (nullable && (*taken)[0] == kNullMark) {
    decoded.values_.emplace_back();
    return std::nullopt;
  }
  return decode_value(column, taken->substr(nullable ? 1 : 0), decoded);
}

bool KeyCodec::is_surely_valid(ByteView key) const {
  if (plain_bytes_ != 0) {
    return key.size() == plain_bytes_;
  }
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const DataType& type = columns_[column].type;
    const auto taken = take(column, key);
    if (!taken) {
      return false;
    }
    if (type.nullable && (*taken)[0] == kNullMark) {
      continue;
    }
    const ByteView stored = taken->substr(type.nullable ? 1 : 0);
    if (!(is_text(type.type) ? is_plain_text(column, stored) : is_plain_number(type, stored))) {
      return false;
    }
  }
  return key.empty();
}

/// Whether the text has no zeros, which would be escaped, and is not too long.
bool KeyCodec::is_plain_text(std::size_t column, ByteView stored) const noexcept {
  const ByteView text = is_open(column) ? stored : stored.substr(0, stored.size() - 2);
  return text.size() <= columns_[column].type.length &&
         (is_open(column) || text.find(kEscape) == ByteView::npos);
}

std::optional<std::string> KeyCodec::decode(ByteView key, DecodedKey& decoded) const {
  decoded.values_.clear();
  decoded.unescaped_.clear();
  decoded.unescaped_.reserve(key.size());  // values view it: it must not move
  decoded.rest_ = key;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (const auto fault = decode_column(column, decoded.rest_, decoded)) {
      return fmt::format("column \"{}\" of a key: {}", columns_[column].name, *fault);
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> KeyCodec::bytes_of(ByteView key) const noexcept {
  ByteView rest = key;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (!take(column, rest)) {
      return std::nullopt;
    }
  }
  return key.size() - rest.size();
}

}  // namespace palimpsest::engine
