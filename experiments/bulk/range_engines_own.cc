#include "experiments/bulk/palimpsest_range.h"

namespace palimpsest::experiments::bulk {

std::vector<RangeEngineEntry> known_range_engines() {
  return {palimpsest_bulk(), palimpsest_keys(), palimpsest_transactions()};
}

}  // namespace palimpsest::experiments::bulk
