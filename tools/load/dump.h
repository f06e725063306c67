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

#include "palimpsest/table.h"
#include "palimpsest/transaction.h"

#include "tools/load/database_place.h"
#include "tools/load/dialect.h"
#include "tools/load/text_output.h"

namespace palimpsest::load {

/// How rows become text.
struct DumpText {
  Dialect dialect{};
  bool header = true;
  std::vector<std::string> columns{};  ///< empty: all, in their order
  std::string keys{};                  ///< only those of this range (key_range.h); empty: all
  Compression compression = Compression::none;
};

struct DumpOptions {
  DatabasePlace database{};
  std::uint64_t memory_bytes = 0;  ///< of the database; 0: as by default
  std::string table{};
  DumpText text{};
  bool schema_only = false;                ///< the schema as text, and no rows
  std::string output = "standard output";  ///< what `open` opens, as messages name it
};

/// Returns how many rows were written. `open` is called when nothing but writing is left to do: a
/// dump that does not begin costs no older one.
std::uint64_t run_dump(const DumpOptions& options, const std::function<std::FILE*()>& open);

/// The same of a table of a database that is open, as the transaction sees it.
std::uint64_t dump_rows(const Table& table, const Transaction& in, const DumpText& text,
                        const std::function<std::FILE*()>& open, const std::string& output);

}  // namespace palimpsest::load
