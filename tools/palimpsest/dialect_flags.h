// The options by which `load` and `dump` are told how records are written.
//
// Thread-safety: a plain value. Failure: UsageError for options that exclude each other.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "tools/load/dialect.h"

namespace palimpsest::tools {

struct DialectFlags {
  std::string format{};     ///< empty: by the file's name
  std::string delimiter{};  ///< empty: the format's
  std::string quote{};
  std::string escape{};
  std::optional<std::string> null_text{};
  std::string comment{};
  std::string bytes = "hex";
  bool skip_blank = false;

  /// Those that both commands have. The flags outlive the parsing.
  void add_to(CLI::App& command);
  /// Of reading: comments and blank lines.
  void add_reading_to(CLI::App& command);

  /// `path` says the format if no option does.
  [[nodiscard]] load::Dialect dialect(const std::string& path) const;
};

}  // namespace palimpsest::tools
