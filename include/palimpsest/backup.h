// Copies of a database that are made while it is used: what Database::backup() is told, and tells.
//
// Thread-safety: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace palimpsest {

struct BackupProgress {
  std::uint64_t bytes_copied = 0;  ///< of pages, those copied again included, and of the log
  /// What there is to be copied as it is known now. More is written while it is.
  std::uint64_t bytes_total = 0;
};

struct BackupOptions {
  /// Bytes of pages copied a second at most, to leave the device to others; 0: as fast as it goes.
  /// It does not hold for the log, nor for what is copied again: a backup must keep up with these.
  std::uint64_t bytes_per_second_max = 0;
  /// Called now and then by the thread that copies. What it throws ends the backup and is thrown by
  /// it: so it can be given up. Must not wait for who writes to the database: he may be waiting for
  /// room in the log, which the backup keeps until it is copied.
  std::function<void(const BackupProgress&)> progress{};
};

struct BackupReport {
  std::uint64_t page_bytes = 0;  ///< of the copy's page file that were copied, each page once
  std::uint64_t log_bytes = 0;   ///< copied: what opening the copy will replay
  /// Of pages that were copied more than once, since they are written past the log.
  std::uint64_t page_bytes_again = 0;
  /// Pages in use that were damaged in the database already, and are so in the copy.
  std::uint64_t damaged_pages = 0;
  std::chrono::milliseconds duration{0};
};

}  // namespace palimpsest
