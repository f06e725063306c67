// What a database has done and holds. Counters since it was opened; each figure is exact, together
// they are no snapshot. Thread-safety: a plain value.
#pragma once

#include <cstdint>

namespace palimpsest {

struct Statistics {
  std::uint64_t memory_bytes = 0;  ///< as configured
  std::uint64_t pool_bytes = 0;    ///< of pages in memory, at most
  std::uint64_t page_bytes = 0;    ///< of one page
  std::uint64_t data_bytes = 0;    ///< of the page file, free pages included

  std::uint64_t version_bytes = 0;  ///< of versions: what rows were, for those who see them so
  std::uint64_t entry_bytes = 0;    ///< of entries and mapping tables: how versions are found
  std::uint64_t entries = 0;        ///< of records
  std::uint64_t mapping_tables = 0;
  std::uint64_t orphan_tables = 0;  ///< mapping tables whose page is not in memory

  std::uint64_t page_reads = 0;
  std::uint64_t page_writes = 0;       ///< in place: without the copies that make them safe
  std::uint64_t log_bytes = 0;         ///< of records
  std::uint64_t log_device_bytes = 0;  ///< with padding

  std::uint64_t checkpoints = 0;
  std::uint64_t transactions_cancelled = 0;  ///< asked to end because they held back the log
  std::uint64_t snapshots_cancelled = 0;     ///< because versions took too much memory
  std::uint32_t transactions_active = 0;
  std::uint64_t trees_to_empty =
      0;  ///< of dropped tables and indexes, whose pages are to come back
  /// Bulks of tables with rows that somebody does not see alike, of 16,384 at most: they run, have
  /// committed beside an older snapshot, or were rolled back and are not undone everywhere yet.
  std::uint64_t bulks_unsettled = 0;
  /// Those of them that a damaged page keeps from being undone; each is reported on standard error,
  /// once. Dropping the table ends that.
  std::uint64_t bulks_held_by_damage = 0;
};

}  // namespace palimpsest
