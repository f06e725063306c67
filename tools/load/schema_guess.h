// A schema for data that brings none, from its first records.
//
// Chosen so that what the sample shows is kept exactly, and that a later record that does not fit
// is an error and never another value: integers are int64, numbers with a point decimals with as
// many digits behind it as the sample has; with an exponent, or too many digits, double; dates,
// timestamps and true or false by their form; all other columns varchar. A column is null if a
// record of the sample has no value there. Digits with a zero in front are text.
// The primary key is the first column whose values are all there and all different.
// Failure: UsageError if there are no records, or no column could be the key.
// Thread-safety: functions are pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/load/chunk_reader.h"
#include "tools/load/column_plan.h"
#include "tools/load/dialect.h"
#include "tools/load/schema_text.h"

namespace palimpsest::load {

struct GuessOptions {
  std::string table{};
  Header header = Header::off;
  std::vector<std::string> columns{};  ///< names of the fields; empty: by the header, or c1, c2...
  std::vector<std::string> key{};      ///< empty: chosen
};

/// `sample`: the beginning of a file.
[[nodiscard]] TableText guess_schema(const Chunk& sample, const Dialect& dialect,
                                     const std::string& path, const GuessOptions& options);

}  // namespace palimpsest::load
