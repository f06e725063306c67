// A load: files become rows of a table, all of them or none.
//
// The input is read and judged in parallel (parse_pipeline.h), put into the table in its own order
// (row_sink.h), and its bad records are reported (fault_report.h). Whatever ends a load before its
// commit leaves the table, its indexes and the list of tables as they were. With `resume` its
// sorted rows are kept until a load has ended (resume_files.h).
// A schema that was chosen by a sample, and that a later record contradicts, is chosen again by all
// records, and the load begins anew: no value is ever changed to fit it.
// Failure: UsageError before anything has been touched, or, for the header of an input that can be
//          read but once, when its turn comes; Error, after which Counters::commit says what is in
//          the table; Interrupted. Too many bad records are a result.
// Thread-safety: a load is one call; its counters may be read meanwhile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/database.h"

#include "tools/load/column_plan.h"
#include "tools/load/database_place.h"
#include "tools/load/dialect.h"
#include "tools/load/fault_report.h"
#include "tools/load/file_guess.h"
#include "tools/load/input_files.h"
#include "tools/load/parse_slots.h"
#include "tools/load/progress.h"
#include "tools/load/row_sink.h"
#include "tools/load/stage_clock.h"

namespace palimpsest::load {

struct LoadOptions {
  DatabasePlace database{};  ///< made if it is not there
  std::string table{};
  std::vector<std::string> files{};  ///< "-" is standard input; read in this order
  std::optional<std::string>
      schema{};  ///< schema_text.h; of a table that exists it must be its own
  /// A table that is there is an error. Without a schema one that is not is always chosen by the
  /// input.
  bool infer = false;
  std::uint64_t sample_bytes = std::uint64_t{2}
                               << 20U;     ///< that it is chosen by; 0: by all records
  std::vector<std::string> primary_key{};  ///< of a schema that is chosen; empty: chosen, too
  std::string row_id{};                    ///< the column that counts the rows; empty: none is told
  InputOptions input{};
  Dialect dialect{};
  ToldDialect told{};  ///< what of the dialect is not to be found out
  Header header = Header::off;
  std::vector<std::string> columns{};  ///< which field is which column; empty: all, in their order
  FaultReportOptions faults{};
  OnDuplicate on_duplicate = OnDuplicate::error;
  bool dry_run = false;  ///< everything is read and judged but duplicates, and nothing is written
  bool resume = false;   ///< goes on where such a load was killed, and lets another one do so
  bool checks_space = true;  ///< refuses what the disk has no room for before much of it is sorted
  bool requires_new_table = false;  ///< one that is there is an error
  std::size_t threads = 0;          ///< that parse; 0: one for each processor
  /// About what the process takes, at least kMemoryBytesMin; 0: what databases take by default.
  std::uint64_t memory_bytes = 0;
  /// How many rows all files have, if that is known: another number is an error, before the commit.
  std::optional<std::uint64_t> expected_rows{};

  static constexpr std::uint64_t kMemoryBytesMin = std::uint64_t{64} << 20U;
};

struct LoadResult {
  bool too_many_faults = false;  ///< and so no row counts
  bool dry_run = false;
  bool made_table = false;
  std::string schema{};  ///< of the table; palimpsest load and parse_schema() read it
  LoadOptions taken{};   ///< the options as they were found to be meant
  std::uint64_t records = 0;
  std::uint64_t resumed = 0;  ///< of these: rows that another load has sorted
  std::uint64_t added = 0;
  std::uint64_t replaced = 0;
  std::uint64_t skipped = 0;        ///< duplicates, as asked for
  std::uint64_t skipped_lines = 0;  ///< comments and blank lines, as asked for
  std::uint64_t bytes = 0;          ///< of the files, compressed or not
  std::uint64_t faults = 0;
  std::string first_unshown{};  ///< what is wrong with the first of them, if none has been shown
  std::array<std::uint64_t, kFaultKinds.size()> faults_by_kind{};
  double seconds = 0;
  StageTimes stages{};  ///< where they went
};

/// What a load has found out, before it loads a row.
struct LoadFindings {
  const LoadOptions& options;             ///< with what was found
  std::string schema{};                   ///< that was chosen; empty: none
  const std::vector<std::string>& notes;  ///< for people
};

/// `found` is called before any row is loaded; again if the choice of a schema was made again.
[[nodiscard]] LoadResult run_load(const LoadOptions& options, Counters& counters,
                                  const std::function<void(const LoadFindings&)>& found);

/// What loads beside each other, of different tables, have together.
struct LoadsTogether {
  Database& database;  ///< stays open
  ParseSlots& slots;
};

/// The same, beside other loads. `options.database` says where the database is.
[[nodiscard]] LoadResult run_load(const LoadOptions& options, Counters& counters,
                                  LoadsTogether& together);

}  // namespace palimpsest::load
