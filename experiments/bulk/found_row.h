// Verifies rows found one after the other: whether each follows from its number.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "experiments/bulk/range_engine.h"
#include "experiments/bulk/rows.h"

namespace palimpsest::experiments::bulk {

/// One more row: its number by the key, and its value as RowValue has it.
inline void see_row(FoundRows& found, std::uint64_t number, std::string_view value) noexcept {
  Row expected;
  make_row(number, expected);
  found.sound =
      found.sound && RowValue(expected).view() == value && (found.rows == 0 || number > found.last);
  found.first = found.rows == 0 ? number : found.first;
  found.last = number;
  ++found.rows;
}

}  // namespace palimpsest::experiments::bulk
