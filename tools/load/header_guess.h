// Whether the first record of a file names its columns, where nothing says it.
//
// It does if it has words where the other records have numbers, dates or truth values, and does not
// if it has such values itself; and if it has no name for the first field only, where all others
// have a value, as R and pandas write the names of rows. Where all columns are text, words that
// look like names, or that stand above values which recur while they do not, are a header; a first
// record that recurs is none. What these do not decide is not guessed: a header that is loaded, and
// a record that becomes names, are both losses.
// Thread-safety: functions are pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tools/load/column_guess.h"

namespace palimpsest::load {

enum class HeaderVerdict : std::uint8_t {
  header = 1,
  record,
  unknown,
};

/// `first`: the fields of the first record; `columns`: of the others, which watch for them.
[[nodiscard]] HeaderVerdict judge_header(std::span<const std::string> first,
                                         std::span<const ColumnGuess> columns);

}  // namespace palimpsest::load
