// --log-level and --log-file, which every subcommand has: what is reported of the databases that it
// opens, and where.
//
// Failure: place() throws Error io_error if the file cannot be opened.
// Thread-safety: a plain value.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/load/database_place.h"

namespace palimpsest::tools {

class LogFlags {
 public:
  /// Adds the options to a subcommand. Outlives the parsing.
  void add_to(CLI::App& command);
  [[nodiscard]] load::MessagePlace place() const;

 private:
  std::string level_{};
  std::string file_{};
};

}  // namespace palimpsest::tools
