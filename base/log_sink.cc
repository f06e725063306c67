#include "base/log_sink.h"

#include <cstdio>

namespace palimpsest {
namespace {

const char* name_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
  }
  return "unknown";
}

}  // namespace

LogSink stderr_log_sink() {
  return [](LogLevel level, std::string_view message) {
    std::fprintf(stderr, "palimpsest: %s: %.*s\n", name_of(level), static_cast<int>(message.size()),
                 message.data());
  };
}

}  // namespace palimpsest
