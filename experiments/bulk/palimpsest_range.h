// Palimpsest: a table, changed by one bulk or by regular transactions.
#pragma once

#include "experiments/bulk/range_engine.h"

namespace palimpsest::experiments::bulk {

/// One bulk; a range of rows is erased by one call.
[[nodiscard]] RangeEngineEntry palimpsest_bulk();
/// One bulk; rows are erased by their keys.
[[nodiscard]] RangeEngineEntry palimpsest_keys();
/// Regular transactions of 1000 rows.
[[nodiscard]] RangeEngineEntry palimpsest_transactions();

}  // namespace palimpsest::experiments::bulk
