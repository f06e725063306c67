// A directory that a whole database was dumped into (directory_dump.h), as tables of a database.
//
// Tables are loaded beside each other, each by one transaction, the largest file first. Threads and
// memory are of all loads together. A load that was killed goes on where it was: a table is there
// when all of its rows are.
// Failure: UsageError while nothing has begun; Error, Interrupted. What fails for one table leaves
//          all other tables; DirectoryCounters says what is known of them.
// Thread-safety: load_directory() is one call; its counters may be read meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <vector>

#include "tools/load/database_place.h"
#include "tools/load/dump_manifest.h"
#include "tools/load/load.h"
#include "tools/load/progress.h"

namespace palimpsest::load {

struct DirectoryLoadOptions {
  DatabasePlace database{};
  std::filesystem::path directory{};
  std::size_t threads = 0;         ///< that parse, and tables at a time; 0: one for each processor
  std::uint64_t memory_bytes = 0;  ///< about what the process takes; 0: as of LoadOptions
  bool resume = false;       ///< tables that are there already, with their schema, stay as they are
  bool checks_space = true;  ///< as of LoadOptions
};

/// Of all tables together.
class DirectoryCounters {
 public:
  [[nodiscard]] Reached reached() const;

  std::atomic<std::uint64_t> bytes_total = 0;           ///< of all files
  std::atomic<std::uint64_t> tables_there = 0;          ///< that are loaded, or were there before
  std::atomic<CommitState> commit = CommitState::none;  ///< done: all tables are there

  /// The load of a table: counted while this lives, and what it came to from then on.
  class OfTable {
   public:
    explicit OfTable(DirectoryCounters& all);
    ~OfTable();
    OfTable(const OfTable&) = delete;
    OfTable& operator=(const OfTable&) = delete;

    [[nodiscard]] Counters& counters() noexcept { return counters_; }

   private:
    DirectoryCounters& all_;
    Counters counters_{};
  };

 private:
  mutable std::mutex mutex_{};  ///< of all that follows
  std::vector<const Counters*> under_way_{};
  Reached ended_{};
};

struct DirectoryLoadResult {
  std::uint64_t tables = 0;        ///< that were loaded
  std::uint64_t tables_there = 0;  ///< before
  std::uint64_t rows = 0;          ///< that were loaded
  std::uint64_t bytes = 0;         ///< of the files, compressed or not
  double seconds = 0;
  StageTimes stages{};  ///< of all loads
};

/// `done` is told of each table when it is there, by one thread at a time; `was_there`: since an
/// earlier load.
[[nodiscard]] DirectoryLoadResult load_directory(
    const DirectoryLoadOptions& options, DirectoryCounters& counters,
    const std::function<void(const DumpedTable&, bool was_there)>& done);

}  // namespace palimpsest::load
