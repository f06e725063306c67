// A dump: the rows of a table as text, in the order of their keys, all as of one moment.
//
// Failure: Error, UsageError, Interrupted; what has been written by then stays.
// Thread-safety: a dump is one call.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tools/load/database_place.h"
#include "tools/load/dialect.h"

namespace palimpsest::load {

struct DumpOptions {
  DatabasePlace database{};
  std::string table{};
  Dialect dialect{};
  bool header = true;
  std::vector<std::string> columns{};      ///< empty: all, in their order
  bool schema_only = false;                ///< the schema as text, and no rows
  std::string output = "standard output";  ///< what `open` opens, as messages name it
};

/// Returns how many rows were written. `open` is called when nothing but writing is left to do: a
/// dump that does not begin costs no older one.
std::uint64_t run_dump(const DumpOptions& options, const std::function<std::FILE*()>& open);

}  // namespace palimpsest::load
