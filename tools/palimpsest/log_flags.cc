#include "tools/palimpsest/log_flags.h"

#include <array>
#include <string_view>
#include <vector>

#include "base/log_sink.h"

namespace palimpsest::tools {
namespace {

constexpr std::array kLevels{LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error,
                             LogLevel::off};

std::vector<std::string> level_names() {
  std::vector<std::string> names;
  for (const LogLevel level : kLevels) {
    names.emplace_back(name_of(level));
  }
  return names;
}

LogLevel level_of(std::string_view name, LogLevel by_default) noexcept {
  for (const LogLevel level : kLevels) {
    if (name_of(level) == name) {
      return level;
    }
  }
  return by_default;
}

}  // namespace

void LogFlags::add_to(CLI::App& command) {
  command
      .add_option("--log-level", level_,
                  "what the engine reports: debug, info, warning, error, off\n"
                  "(default: warning; info with --log-file)")
      ->check(CLI::IsMember(level_names()));
  command.add_option("--log-file", file_,
                     "append what the engine reports to this file, not to standard error");
}

load::MessagePlace LogFlags::place() const {
  if (file_.empty()) {
    return {.level = level_of(level_, LogLevel::warning)};
  }
  const LogLevel level = level_of(level_, LogLevel::info);
  return {.function = file_log_sink(file_, level), .level = level};
}

}  // namespace palimpsest::tools
