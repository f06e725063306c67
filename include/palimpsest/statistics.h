// Counters of a database since it was opened, and its current contents. Each figure is exact, but
// together they are no consistent snapshot. Thread-safety: a plain value.
#pragma once

#include <cstdint>

namespace palimpsest {

struct Statistics {
  std::uint64_t memory_bytes = 0;  ///< as configured
  std::uint64_t pool_bytes = 0;    ///< maximum, of pages in memory
  std::uint64_t page_bytes = 0;    ///< of one page
  std::uint64_t data_bytes = 0;    ///< of the page file, free pages included

  std::uint64_t version_bytes = 0;  ///< of versions: former states of rows
  std::uint64_t entry_bytes = 0;    ///< of entries and mapping tables, which lead to versions
  std::uint64_t entries = 0;        ///< of records
  std::uint64_t mapping_tables = 0;
  /// Mapping tables of pages not in memory. Pages whose rows are all newer than a reader's snapshot
  /// have none: they share objects.
  std::uint64_t orphan_tables = 0;

  std::uint64_t page_reads = 0;
  std::uint64_t page_writes = 0;       ///< in place: without the copies in the double-write area
  std::uint64_t log_bytes = 0;         ///< of records
  std::uint64_t log_device_bytes = 0;  ///< with padding

  std::uint64_t checkpoints = 0;
  std::uint64_t transactions_cancelled = 0;  ///< cancelled because they pinned the log
  std::uint64_t snapshots_cancelled = 0;     ///< because versions took too much memory
  std::uint32_t transactions_active = 0;
  std::uint64_t trees_to_empty =
      0;  ///< of dropped tables and indexes, still with pages to be freed
  /// Bulks, of tables that had rows, that are not retired; at most 16,384. They are running, have
  /// committed since an older snapshot was taken, or were rolled back and are not yet undone
  /// everywhere.
  std::uint64_t bulks_unretired = 0;
  /// Those of them that cannot be undone because a page is damaged; each is reported on standard
  /// error once. Dropping the table ends that.
  std::uint64_t bulks_held_by_damage = 0;
};

}  // namespace palimpsest
