// How a database is opened. The defaults are good: most programs set nothing but the memory.
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
#include "palimpsest/transaction.h"

namespace palimpsest {

/// What opening is busy with after a crash.
enum class RecoveryPhase : std::uint8_t {
  analysis = 1,  ///< the log is read
  redo,          ///< the log is replayed on the pages
  undo,          ///< what unfinished transactions have left is undone
};

struct RecoveryProgress {
  RecoveryPhase phase{};
  std::uint64_t bytes_done = 0;   ///< of the log, in this phase
  std::uint64_t bytes_total = 0;  ///< of this phase
  std::chrono::milliseconds estimated_remaining{0};
};

struct Options {
  /// Bytes for everything the database keeps in memory, but for what sorts take while an index is
  /// made or rows are loaded (RowSort; up to 256 MiB each), at most what the machine has, or its
  /// control group allows. 0: a quarter of that.
  std::uint64_t memory_bytes = 0;
  /// Bytes of `memory_bytes` for versions: what is remembered of rows as they were, for those who
  /// still see them so. 0: a sixteenth. When they run out, the transaction with the oldest snapshot
  /// gets snapshot_too_old, or one whose own changes take half of them version_budget_exceeded.
  std::uint64_t version_bytes_max = 0;
  /// Make the database if the directory has none.
  bool create_if_missing = true;
  /// Make it, or throw already_exists. What an interrupted making has left is no database.
  bool must_be_new = false;
  /// Open what is there to be read. No file of the database is changed, so that it may lie where
  /// nothing can be written. Every transaction is begun read_only, and a write without one, or a
  /// definition, throws invalid_argument. In this process and others it may be open so several
  /// times, but not while it is open to write (Error locked). What a crash has left to be recovered
  /// is recovered in memory, on top of memory_bytes and up to as much again (else Error
  /// out_of_memory), each time when it is opened. Nothing is made: not_found.
  bool read_only = false;
  /// Of a new database, 4096 to 65536, a power of two; 0: 4096 (docs/tuning.md). One that exists
  /// keeps its own, whatever this says; Database::options() shows it.
  std::uint32_t page_bytes = 0;
  /// Where the log is kept, if not beside the pages: another device. To be given each time: without
  /// it, or with another one, opening throws log_not_found, which says where the log was last.
  std::filesystem::path log_directory{};

  /// Of transactions that do not say it, and of calls without one.
  Durability durability = Durability::synchronous;
  Isolation isolation = Isolation::snapshot;
  /// An asynchronous commit is on its way to disk at most this long after it was made.
  std::chrono::milliseconds asynchronous_interval{10};
  /// Most log there is; bounds how much all open transactions can change. At most 1 TiB;
  /// 0: four times the memory, but 256 MiB to 4 GiB. The log is made of segments, whose size is
  /// that of when the database was made: it has as many whole ones as fit, but at least four.
  std::uint64_t log_bytes_max = 0;
  /// Most that opening after a crash should take.
  std::chrono::seconds recovery_time{10};
  /// Threads of recovery, up to 256; 0: two for each processor, up to 32.
  std::size_t recovery_threads = 0;
  /// Called now and then while opening recovers; must not throw.
  std::function<void(const RecoveryProgress&)> progress{};

  /// Most transactions at a time, 4 to 65,535.
  std::uint32_t max_transactions = 1024;
  /// How long begin() waits when there are as many: then too_many_transactions.
  std::chrono::milliseconds begin_patience{10'000};
  /// How long an autocommit write goes on trying when other transactions are in its way.
  std::chrono::milliseconds autocommit_patience{1'000};
  /// How long a definition, or a bulk, waits for transactions that have changed something
  /// (transaction.h). One in a transaction of its own (database.h) is also begun anew for as long
  /// while a bulk or another definition is in its way; so are the attempts of Database::run(), and
  /// autocommit writes.
  std::chrono::milliseconds definition_patience{10'000};

  /// io_uring where it is allowed, else POSIX; false: POSIX in any case.
  bool use_io_uring = true;
  /// For measuring.
  ExperimentalOptions experimental{};
};

/// An option as it is in effect, and why.
struct EffectiveOption {
  std::string name;
  std::string value;
  std::string reason;  ///< "set", "default", or what of the machine it was taken from
};

/// What Database::open() would make of these options on this machine, in the order of Options.
/// Throws invalid_argument for what no option can be.
[[nodiscard]] std::vector<EffectiveOption> explain(const Options& options);

}  // namespace palimpsest
