#include "experiments/bulk/peer_ranges.h"

namespace palimpsest::experiments::bulk {

std::vector<RangeEngineEntry> known_range_engines() {
  return {lmdb_range(), rocksdb_range(), wiredtiger_range()};
}

}  // namespace palimpsest::experiments::bulk
