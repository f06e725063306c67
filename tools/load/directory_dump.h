// A whole database as files in a directory, one for each table, all as of one moment; load
// --directory makes a database of them again (directory_load.h).
//
// Tables are dumped beside each other, by some threads. A dump that was killed goes on where it
// was: a table's file is there when it is whole, and then the manifest lists it.
// Failure: Error, UsageError, Interrupted. What fails for one table leaves the other files; what is
//          complete by then stays, and a dump that resumes takes it over.
// Thread-safety: one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tools/load/database_place.h"
#include "tools/load/dump.h"
#include "tools/load/dump_manifest.h"

namespace palimpsest::load {

struct DirectoryDumpOptions {
  DatabasePlace database{};
  std::filesystem::path directory{};
  std::vector<std::string> tables{};  ///< empty: all
  Format format = Format::csv;
  Compression compression = Compression::none;
  std::uint64_t memory_bytes = 0;  ///< of the database, for all threads; 0: as DumpOptions
  std::size_t threads = 1;
  bool resume = false;  ///< tables that are there already, of the same state, stay as they are
};

/// `done` is told of each table when its file is whole, by one thread at a time.
void dump_directory(const DirectoryDumpOptions& options,
                    const std::function<void(const DumpedTable&)>& done);

}  // namespace palimpsest::load
