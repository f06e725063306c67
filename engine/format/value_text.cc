#include "engine/format/value_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace palimpsest::engine {
namespace {

unsigned byte_at(ByteView text, std::size_t at) noexcept {
  return static_cast<unsigned char>(text[at]);
}

/// Bytes of the UTF-8 character that a text, not empty, begins with; 0 if it begins with none.
/// Overlong forms and surrogates are invalid.
std::size_t character_bytes(ByteView text) noexcept {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) {
    return 1;
  }
  const std::size_t size = first >= 0xF0 ? 4 : (first >= 0xE0 ? 3 : 2);
  if (first < 0xC2 || first > 0xF4 || text.size() < size) {
    return 0;
  }
  const ByteView rest = text.substr(1, size - 1);
  if (!std::ranges::all_of(rest, [](char byte) { return (byte & '\xC0') == '\x80'; })) {
    return 0;
  }
  const unsigned second = byte_at(text, 1);
  const bool none = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                    (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return none ? 0 : size;
}

/// Whether a character is a control character of ASCII or of U+0080 to U+009F.
bool is_control(ByteView character) noexcept {
  const unsigned first = byte_at(character, 0);
  return first < 0x20 || first == 0x7F || (first == 0xC2 && byte_at(character, 1) < 0xA0);
}

void append_quoted(std::string& into, ByteView text) {
  into += '"';
  for (std::size_t at = 0; at < text.size();) {
    if (at >= kShownBytesMax) {
      into += fmt::format("\"... of {} bytes", text.size());
      return;
    }
    const std::size_t size = character_bytes(text.substr(at));
    if (size == 0 || is_control(text.substr(at, size))) {
      into += fmt::format("\\x{:02X}", byte_at(text, at));
      ++at;
      continue;
    }
    if (text[at] == '"' || text[at] == '\\') {
      into += '\\';
    }
    into.append(text, at, size);
    at += size;
  }
  into += '"';
}

}  // namespace

std::string text_of_value(const Value& value) {
  if (value.kind() != ValueKind::bytes) {
    return value.text();
  }
  std::string text;
  append_quoted(text, value.as_bytes());
  return text;
}

std::string text_of_values(std::span<const Value> values) {
  std::string text = "(";
  for (const Value& value : values) {
    text += text.size() == 1 ? "" : ", ";
    text += text_of_value(value);
  }
  text += ')';
  return text;
}

std::string text_of_key(const KeyCodec& codec, ByteView key) {
  DecodedKey decoded;
  if (const auto fault = codec.decode(key, decoded)) {
    return "the bytes " + text_of_value(key);
  }
  return text_of_values(decoded.values());
}

std::string text_of_key(const KeyCodec& codec, const Key& key) {
  return key.is_encoded() ? text_of_key(codec, key.bytes()) : text_of_values(key.values());
}

}  // namespace palimpsest::engine
