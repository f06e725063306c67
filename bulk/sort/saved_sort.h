// The runs that a sort has finished, so that another sort can begin with them: the result of
// ExternalSort::save(), and its text form.
//
// Text: "palimpsest runs 1", then the numbers in the order of the members below, four for each run.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bulk/sort/run_blocks.h"

namespace palimpsest::bulk {

struct SavedSort {
  std::uint64_t block_bytes = 0;   ///< of the blocks of all runs
  std::uint64_t record_bytes = 0;  ///< of the longest record, key and value
  std::uint64_t file_bytes = 0;    ///< of the file that contains the runs
  std::vector<Run> runs{};         ///< by number, from 1 on

  [[nodiscard]] std::string text() const;
  /// Throws Error corruption for a malformed text or impossible numbers.
  [[nodiscard]] static SavedSort parse(std::string_view text);
};

}  // namespace palimpsest::bulk
