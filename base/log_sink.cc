#include "base/log_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <variant>

namespace palimpsest {
namespace {

bool is_plain(char byte) noexcept {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') ||
         std::string_view("_-./:+").find(byte) != std::string_view::npos;
}

void add_escaped(char byte, std::string& to) {
  constexpr unsigned char kFirstPrintable = 0x20;
  constexpr unsigned char kDelete = 0x7F;
  const auto number = static_cast<unsigned char>(byte);
  if (byte == '"' || byte == '\\') {
    to += {'\\', byte};
  } else if (number < kFirstPrintable || number == kDelete) {
    fmt::format_to(std::back_inserter(to), "\\x{:02x}", number);
  } else {
    to += byte;
  }
}

/// A reader of lines gets one line for each message, whatever the text of a path or an error has.
void add_text(std::string_view text, std::string& to) {
  const bool is_bare = !text.empty() && std::ranges::all_of(text, is_plain);
  to += is_bare ? "" : "\"";
  for (const char byte : text) {
    add_escaped(byte, to);
  }
  to += is_bare ? "" : "\"";
}

void add_value(const LogValue& value, std::string& to) {
  std::visit(
      [&]<class Value>(const Value& now) {
        if constexpr (std::is_same_v<Value, std::string_view>) {
          add_text(now, to);
        } else {
          fmt::format_to(std::back_inserter(to), "{}", now);
        }
      },
      value);
}

}  // namespace

std::string_view name_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
    case LogLevel::off: return "off";
  }
  return "unknown";
}

std::string text_of(const LogMessage& message) {
  std::string text = fmt::format("{}: {}", message.component, message.message);
  for (const LogField& field : message.fields) {
    fmt::format_to(std::back_inserter(text), " {}=", field.key);
    add_value(field.value, text);
  }
  return text;
}

void log_to(const LogSink& sink, LogLevel level, std::string_view component,
            std::string_view message, std::initializer_list<LogField> fields) noexcept {
  if (!sink) {
    return;
  }
  try {
    sink({.level = level,
          .component = component,
          .message = message,
          .fields = {fields.begin(), fields.size()}});
  } catch (...) {  // NOLINT(bugprone-empty-catch): an event is no reason for another one to fail
  }
}

}  // namespace palimpsest
