// What the members of JSON objects are, for a schema that is chosen.
//
// Thread-safety: functions of values. Failure: none; what is no object is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/load/chunk_reader.h"
#include "tools/load/column_guess.h"
#include "tools/load/dialect.h"

namespace palimpsest::load {

struct ObjectsSeen {
  std::uint64_t objects = 0;
  std::optional<std::size_t> first_fault{};  ///< where a record begins that is none, in the chunk
};

/// Members that `columns` lack are added; `before`: how many objects there were before.
[[nodiscard]] ObjectsSeen see_objects(const Chunk& chunk, const Dialect& dialect,
                                      std::uint64_t before, std::vector<ColumnGuess>& columns);

}  // namespace palimpsest::load
