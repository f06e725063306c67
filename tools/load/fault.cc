#include "tools/load/fault.h"

#include <fmt/format.h>

#include <algorithm>

namespace palimpsest::load {
namespace {

/// Most bytes of a value that a message shows.
constexpr std::size_t kShownBytesMax = 80;

unsigned byte_at(std::string_view text, std::size_t at) noexcept {
  return static_cast<unsigned char>(text[at]);
}

/// Bytes of the UTF-8 character that a text, not empty, begins with; 0 if it begins with none.
std::size_t character_bytes(std::string_view text) noexcept {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) {
    return 1;
  }
  const std::size_t size = first >= 0xF0 ? 4 : (first >= 0xE0 ? 3 : 2);
  if (first < 0xC2 || first > 0xF4 || text.size() < size) {
    return 0;
  }
  const std::string_view rest = text.substr(1, size - 1);
  if (!std::ranges::all_of(rest, [](char byte) { return (byte & '\xC0') == '\x80'; })) {
    return 0;
  }
  const unsigned second = byte_at(text, 1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool beyond = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || beyond ? 0 : size;
}

bool is_control(std::string_view character) noexcept {
  const unsigned first = byte_at(character, 0);
  return first < 0x20 || first == 0x7F || (first == 0xC2 && byte_at(character, 1) < 0xA0);
}

}  // namespace

std::string_view name_of(FaultKind kind) noexcept {
  switch (kind) {
    case FaultKind::parse: return "parse";
    case FaultKind::type: return "type";
    case FaultKind::null: return "null";
    case FaultKind::range: return "range";
    case FaultKind::duplicate: return "duplicate";
  }
  return "unknown";
}

std::string Fault::text() const {
  std::string text = fmt::format("{}:{}:{} (byte {})", at.file, at.line, at.column, at.byte);
  if (!column.empty()) {
    text += fmt::format(", column {}", in_quotes(column));
  }
  text += fmt::format(": {} error: {}", name_of(kind), reason);
  if (!shown.empty()) {
    text += ": " + shown;
  }
  return text;
}

std::string in_quotes(std::string_view text) {
  std::string shown = "\"";
  for (std::size_t at = 0; at < text.size();) {
    if (at >= kShownBytesMax) {
      return shown + fmt::format("\"... of {} bytes", text.size());
    }
    const std::size_t size = character_bytes(text.substr(at));
    if (size == 0 || is_control(text.substr(at, size))) {
      shown += fmt::format("\\x{:02X}", byte_at(text, at));
      ++at;
      continue;
    }
    if (text[at] == '"' || text[at] == '\\') {
      shown += '\\';
    }
    shown.append(text, at, size);
    at += size;
  }
  return shown + '"';
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t size = character_bytes(text);
    if (size == 0) {
      return false;
    }
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace palimpsest::load
