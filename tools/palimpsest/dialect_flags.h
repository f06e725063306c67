// The options of `load` and `dump` that describe the format of records.
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

  /// Adds the options of both commands. The flags outlive the parsing.
  void add_to(CLI::App& command);
  /// Adds the options of `load` only: comments and blank lines.
  void add_reading_to(CLI::App& command);

  /// `path` determines the format if no option does.
  [[nodiscard]] load::Dialect dialect(const std::string& path) const;
};

}  // namespace palimpsest::tools
