// A whole database as files in a directory, a table each, all as of one moment; and such a
// directory as a database again.
//
// Tables are dumped beside each other, by some threads; loaded one after the other, each by all
// processors. What is killed goes on where it was: a table's file is there when it is whole, and a
// table when all of its rows are.
// Failure: Error, UsageError, Interrupted; what is complete by then stays, and is gone on with.
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
#include "tools/load/load.h"

namespace palimpsest::load {

struct DirectoryDumpOptions {
  DatabasePlace database{};
  std::filesystem::path directory{};
  std::vector<std::string> tables{};  ///< empty: all
  Format format = Format::csv;
  Compression compression = Compression::none;
  std::uint64_t memory_bytes = 0;
  std::size_t threads = 1;
  bool resume = false;  ///< tables that are there already, of the same state, stay as they are
};

/// `done` is told of each table when its file is whole, by one thread at a time.
void dump_directory(const DirectoryDumpOptions& options,
                    const std::function<void(const DumpedTable&)>& done);

struct DirectoryLoadOptions {
  DatabasePlace database{};
  std::filesystem::path directory{};
  std::size_t threads = 0;  ///< as of LoadOptions, as the next
  std::uint64_t memory_bytes = 0;
  bool resume = false;  ///< tables that are there already, with their schema, stay as they are
};

/// `done`: rows 0, and `was_there`, of a table that an earlier load has loaded.
void load_directory(const DirectoryLoadOptions& options, Counters& counters,
                    const std::function<void(const DumpedTable&, bool was_there)>& done);

}  // namespace palimpsest::load
