// Options, progress and report of Database::backup(), which copies a database while it is in use.
//
// Thread-safety: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace palimpsest {

struct BackupProgress {
  std::uint64_t bytes_copied = 0;  ///< pages copied, including those copied again, and log
  /// How much there is to copy as far as is known now; it grows while the database is written to.
  std::uint64_t bytes_total = 0;
};

struct BackupOptions {
  /// At most this many bytes of pages a second, to leave device bandwidth to other work; 0:
  /// unlimited. The limit does not apply to the log, nor to pages that are copied again: a backup
  /// must keep up with these.
  std::uint64_t bytes_per_second_max = 0;
  /// Called now and then by the copying thread. An exception that it throws ends the backup and
  /// leaves backup(): this is how to cancel one. Must not wait for a thread that writes to the
  /// database: that thread may be waiting for log space, which the backup retains until it is
  /// copied.
  std::function<void(const BackupProgress&)> progress{};
};

struct BackupReport {
  std::uint64_t page_bytes = 0;  ///< copied into the copy's page file, each page counted once
  std::uint64_t log_bytes = 0;   ///< copied: what opening the copy replays
  /// Of pages copied more than once, because they are written outside of the log.
  std::uint64_t page_bytes_again = 0;
  /// Pages in use that were already damaged in the database, and are damaged in the copy.
  std::uint64_t damaged_pages = 0;
  std::chrono::milliseconds duration{0};
};

}  // namespace palimpsest
