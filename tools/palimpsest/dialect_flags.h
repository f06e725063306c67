// The options of `load` and `dump` that describe the format of records.
//
// Thread-safety: a plain value. Failure: UsageError for options that exclude each other.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/load/dialect.h"
#include "tools/load/file_guess.h"

namespace palimpsest::tools {

struct DialectFlags {
  std::string format{};     ///< empty: by the file's name
  std::string delimiter{};  ///< empty: the format's
  std::string quote{};
  std::string escape{};
  std::vector<std::string> null_texts{};
  std::string bytes = "hex";
  // Of reading:
  std::string comment{};
  bool skip_blank = false;
  bool trim = false;
  bool fill_missing = false;
  bool trailing_delimiter = false;
  std::string line_end{};
  bool decimal_comma = false;
  std::string thousands{};
  std::string date_format{};
  std::string timestamp_format{};
  bool keep_nested = false;
  bool ignore_unknown = false;
  std::string encoding{};
  std::uint64_t skip_lines = 0;

  /// Adds the options of both commands. The flags outlive the parsing.
  void add_to(CLI::App& command);
  /// Adds the options of `load` only.
  void add_reading_to(CLI::App& command);

  /// `path` determines the format if no option does; csv if neither does.
  [[nodiscard]] load::Dialect dialect(const std::string& path) const;
  /// Which of it options have said.
  [[nodiscard]] load::ToldDialect told() const;

 private:
  void add_value_flags_to(CLI::App& command);
  void require_of_format(load::Format chosen) const;
  void set_reading(load::Dialect& dialect) const;
};

}  // namespace palimpsest::tools
