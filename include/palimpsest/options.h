// Options for opening a database. The defaults are good: most programs set only the memory.
//
// Thread-safety: a plain value.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "palimpsest/experimental.h"
#include "palimpsest/log.h"
#include "palimpsest/transaction.h"

namespace palimpsest {

/// The phase of recovery that opening is in after a crash.
enum class RecoveryPhase : std::uint8_t {
  analysis = 1,  ///< reads the log
  redo,          ///< replays the log on the pages
  undo,          ///< undoes unfinished transactions
};

struct RecoveryProgress {
  RecoveryPhase phase{};
  std::uint64_t bytes_done = 0;   ///< of the log, in this phase
  std::uint64_t bytes_total = 0;  ///< of this phase
  std::chrono::milliseconds estimated_remaining{0};
};

struct Options {
  /// Bytes for everything that the database keeps in memory, except for sorts while an index is
  /// created or rows are loaded (RowSort; up to 256 MiB each). At most the memory of the machine or
  /// its control group; 0: a quarter of that.
  std::uint64_t memory_bytes = 0;
  /// The part of `memory_bytes` for versions, which hold former states of rows for the snapshots
  /// that still see them. 0: a sixteenth. When it is full, the transaction with the oldest snapshot
  /// gets snapshot_too_old, or one whose own changes take half of it gets version_budget_exceeded.
  std::uint64_t version_bytes_max = 0;
  /// Create the database if the directory has none.
  bool create_if_missing = true;
  /// Create it, or throw already_exists. What an interrupted creation left does not count as a
  /// database.
  bool must_be_new = false;
  /// Open for reading only. No file of the database is changed, so it may lie on read-only storage.
  /// Every transaction is read_only; a write outside of one, or a definition, throws
  /// invalid_argument. Any number of processes, and this process repeatedly, may have it open so,
  /// but not while it is open for writing (locked). Recovery after a crash happens in memory at
  /// each opening, in up to as much again as memory_bytes (else out_of_memory). Never creates:
  /// not_found.
  bool read_only = false;
  /// Page size of a new database: a power of two from 4096 to 65536; 0: 4096 (docs/tuning.md). An
  /// existing database keeps its own, which Database::options() shows.
  std::uint32_t page_bytes = 0;
  /// The directory of the log, if not beside the pages: another device. Must be given at each
  /// opening: without it, or with another one, opening throws log_not_found, which says where the
  /// log last was.
  std::filesystem::path log_directory{};

  /// Defaults for transactions that do not say, and for calls without a transaction.
  Durability durability = Durability::synchronous;
  Isolation isolation = Isolation::snapshot;
  /// An asynchronous commit is on its way to disk at most this long after it was made.
  std::chrono::milliseconds asynchronous_interval{10};
  /// Maximum size of the log; bounds how much all open transactions can change. At most 1 TiB; 0:
  /// four times the memory, within 256 MiB to 4 GiB. The log consists of segments whose size was
  /// fixed when the database was created: as many whole ones as fit, but at least four.
  std::uint64_t log_bytes_max = 0;
  /// Upper bound that opening after a crash should keep.
  std::chrono::seconds recovery_time{10};
  /// Threads for recovery, up to 256; 0: two for each processor, up to 32.
  std::size_t recovery_threads = 0;
  /// Called now and then while opening recovers; must not throw.
  std::function<void(const RecoveryProgress&)> progress{};

  /// Maximum number of concurrent transactions, 4 to 65,535.
  std::uint32_t max_transactions = 1024;
  /// How long begin() waits at that limit before it throws too_many_transactions.
  std::chrono::milliseconds begin_patience{10'000};
  /// How long an autocommit write retries on conflicts with other transactions.
  std::chrono::milliseconds autocommit_patience{1'000};
  /// How long a definition, or a bulk, waits for transactions that have changed something
  /// (transaction.h). While a bulk or another definition conflicts with them, these retry for as
  /// long: a definition in a transaction of its own (database.h), Database::run(), and autocommit
  /// writes.
  std::chrono::milliseconds definition_patience{10'000};

  /// Receives what the database reports (log.h). Empty: it is written to standard error, a line
  /// each. Backups report nothing.
  LogFunction log{};
  /// The least level that is reported, to `log` or to standard error; LogLevel::off: nothing is.
  LogLevel log_level = LogLevel::warning;

  /// Use io_uring where it is allowed, else POSIX; false: POSIX in any case.
  bool use_io_uring = true;
  /// For measuring.
  ExperimentalOptions experimental{};
};

/// An option as it is in effect, and where its value comes from.
struct EffectiveOption {
  std::string name;
  std::string value;
  std::string reason;  ///< "set", "default", or the machine's property that it derives from
};

/// What Database::open() would make of these options on this machine, in the order of Options.
/// Throws invalid_argument for a value that the option cannot have.
[[nodiscard]] std::vector<EffectiveOption> explain(const Options& options);

}  // namespace palimpsest
