// How a file is written, by its name and its first records, where options do not say it: format,
// delimiter, quotes, line ends.
//
// What is found is what reads the records alike: as many fields in each. Where two readings differ
// in what the values are, and nothing in the records says which is meant, none is taken.
// Failure: UsageError, which names the line, what is there, and the options that say what is meant.
// Thread-safety: functions are pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/load/dialect.h"

namespace palimpsest::load {

/// What options have said of the dialect: that is not guessed.
struct ToldDialect {
  bool format = false;
  bool delimiter = false;
  bool quote = false;
  bool header = false;
};

struct FileGuess {
  Dialect dialect{};
  bool unnamed_first = false;  ///< records have one field more than the header: a name's in front
  std::vector<std::string> notes{};  ///< for people
};

struct FileSample {
  std::string_view text{};  ///< what the file begins with
  bool is_whole = false;    ///< nothing comes behind it
  const std::string& path;
  std::optional<std::size_t> columns{};  ///< of the table, if that is known
};

[[nodiscard]] FileGuess guess_file(const FileSample& sample, const Dialect& told,
                                   const ToldDialect& is_told);

}  // namespace palimpsest::load
