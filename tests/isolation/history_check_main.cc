// history_check FILE --level=snapshot: judges a history of lines of JSON (experiments/history/).
#include <fmt/format.h>

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/isolation/history_checker.h"

namespace {

using palimpsest::isolation::Level;

std::optional<Level> level_of(std::string_view argument) {
  constexpr std::string_view kFlag = "--level=";
  if (!argument.starts_with(kFlag)) {
    return std::nullopt;
  }
  const std::string_view name = argument.substr(kFlag.size());
  if (name == "none") {
    return Level::none;
  }
  if (name == "read_committed") {
    return Level::read_committed;
  }
  if (name == "snapshot") {
    return Level::snapshot;
  }
  return name == "serializable" ? std::optional(Level::serializable) : std::nullopt;
}

/// Returns the exit code.
int judge(const std::string& file, Level level) {
  const auto history = palimpsest::isolation::load_history(file);
  try {
    const auto verdict = check_history(history, level);
    fmt::print("{}", text_of(verdict, level));
    return verdict.findings.count_forbidden(level) == 0 ? 0 : 1;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Level> level = argc == 3 ? level_of(argv[2]) : std::nullopt;
  if (!level) {
    fmt::print(stderr,
               "history_check FILE --level={{none,read_committed,snapshot,serializable}}\n");
    return 2;
  }
  try {
    return judge(argv[1], *level);
  } catch (const std::exception& error) {
    fmt::print(stderr, "history_check: {}\n", error.what());
    return 2;
  }
}
