#include "engine/rows/row_messages.h"

#include <fmt/format.h>

#include "palimpsest/error.h"

#include "btree/node_print.h"

namespace palimpsest::engine {
namespace {

constexpr std::size_t kTextBytesMax = 64;  ///< of a value in a message

}  // namespace

std::string text_of_values(std::span<const Value> values) {
  std::string text = "(";
  for (const Value& value : values) {
    if (text.size() > 1) {
      text += ", ";
    }
    text += value.kind() == ValueKind::bytes
                ? fmt::format("\"{}\"", btree::printable(value.as_bytes(), kTextBytesMax))
                : value.text();
  }
  return text + ")";
}

std::string text_of_key(const TableFormat& format, ByteView key) {
  DecodedKey decoded;
  if (format.keys().decode(key, decoded)) {
    return fmt::format("\"{}\"", btree::printable(key, kTextBytesMax));
  }
  return text_of_values(decoded.values());
}

void refuse_damaged_row(const TableFormat& format, ByteView key, std::string_view why) {
  throw Error(ErrorCode::corruption,
              fmt::format("table \"{}\": the row {} is damaged: {}", format.schema().name,
                          text_of_key(format, key), why));
}

void refuse_damaged_index(const TableFormat& format, std::size_t index, std::string_view why) {
  throw Error(ErrorCode::corruption,
              fmt::format("table \"{}\", index \"{}\": {}", format.schema().name,
                          format.stored().indexes[index].schema.name, why));
}

}  // namespace palimpsest::engine
