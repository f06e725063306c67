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

#include "palimpsest/database.h"
#include "palimpsest/table.h"

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

/// What a dump takes by default: each row is read once, so that more would only stay unused.
inline constexpr std::uint64_t kDumpMemoryBytes = std::uint64_t{256} << 20U;

/// The database's part of the memory that a dump may take: rows as text, and what a process takes
/// without a database, have the rest.
[[nodiscard]] std::uint64_t database_bytes_of(std::uint64_t memory_bytes) noexcept;

struct DumpOptions {
  DatabasePlace database{};
  std::uint64_t memory_bytes = 0;  ///< about what the process takes; 0: kDumpMemoryBytes
  std::string table{};
  DumpText text{};
  std::size_t threads = 1;                 ///< that make text of rows
  bool schema_only = false;                ///< the schema as text, and no rows
  std::string output = "standard output";  ///< what `open` opens, as messages name it
};

/// Returns how many rows were written. `open` is called when nothing but writing is left to do: a
/// dump that does not begin costs no older one.
std::uint64_t run_dump(const DumpOptions& options, const std::function<std::FILE*()>& open);

/// The same of a table of a database that is open, and that nothing is written to meanwhile.
std::uint64_t dump_rows(Database& database, const Table& table, const DumpText& text,
                        std::size_t threads, const std::function<std::FILE*()>& open,
                        const std::string& output);

}  // namespace palimpsest::load
