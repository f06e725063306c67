// RocksDB: a log-structured merge tree with a write-ahead log and a block cache.
//
// Its calls as the benchmarks make them, and its settings for every benchmark, from the RocksDB
// wiki ("RocksDB Tuning Guide", "Block Cache", "Direct IO", "RocksDB Bloom Filter", "Partitioned
// Index Filters", "Write Buffer Manager", "Data Block Hash Index", "Transactions", "WAL
// Performance", "Write Batch With Index", "Pipelined Write", "Merge Operator", "Statistics") and
// the comments of options.h, advanced_options.h, table.h and transaction_db.h:
// - One block cache of the whole memory; index and filter blocks live in it and memtables are
//   charged to it (WriteBufferManager with a cache), so that the number is a bound.
// - Direct reads and direct flush and compaction when the data exceeds memory: no second copy of
//   blocks in the page cache. Partitioned indexes and filters then.
// - No compression: the values are random bytes.
// - Bloom filters of 10 bits on whole keys. At Purpose::key_values optimize_filters_for_hits, which
//   leaves them out on the last level, because every looked-up key exists; at Purpose::transactions
//   an insert first looks for its key, as in the other engines, and the key is absent.
// - Hash index in data blocks, for point lookups; block size as asked.
// - max_background_jobs: the processors, at least 2; level_compaction_dynamic_level_bytes.
// - Purpose::key_values: no log, no sync, no transactions.
// - Purpose::transactions and Purpose::commits: a transaction waits with others that sync
//   (WriteOptions::sync): writers form a group whose leader writes and syncs once for all.
//   enable_pipelined_write, "improves concurrent write throughput in case WAL is enabled".
//   Asynchronous: manual_wal_flush keeps the log in the process, and a thread calls
//   FlushWAL(sync=true) periodically.
// - Purpose::transactions: each table is a column family. Together they get the write buffers that
//   Purpose::key_values gives its one table; the write buffer manager flushes the oldest.
//   max_write_buffer_size_to_maintain is a quarter of a write buffer. The default, four of them for
//   each column family, would not fit the memory. Optimistic transactions check for conflicts in
//   this history; one that is older fails (TryAgain, here too_old). max_total_wal_size bounds the
//   log as in the other engines.
// - Purpose::commits: records fit the block cache and the memtable. A thread flushes the memtable
//   at each checkpoint interval, as a database would that bounds its recovery; compactions follow
//   by themselves. --delta: Merge, with an operator that applies the bytes when a reader needs the
//   value. The log then carries only them; reads, flushes and compactions pay.
// - Purpose::churn: a transaction is a WriteBatch without sync.
// Log bytes: the ticker WAL_FILE_BYTES counts write batches (12 bytes of header, then per entry
// tag, lengths, key, value); each group's batch becomes one record with a header of 7 bytes ("Write
// Ahead Log File Format"), one per WRITE_DONE_BY_SELF.
// Speed: Debian's library, which these benchmarks link, is compiled with its assertions.
// Thread-safety: stateless.
#pragma once

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/statistics.h>
#include <rocksdb/status.h>
#include <rocksdb/table.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include "experiments/common/bytes.h"
#include "experiments/engines/store.h"

namespace palimpsest::experiments::rocks {

inline constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;

/// Throws RocksDB's message unless the status is good; `what` was to be done.
inline void ensure(const rocksdb::Status& status, const char* what) {
  if (!status.ok()) {
    throw std::runtime_error(fmt::format("rocksdb: {}: {}", what, status.ToString()));
  }
}

[[nodiscard]] inline rocksdb::Slice slice_of(ByteView bytes) {
  return {bytes.data(), bytes.size()};
}

[[nodiscard]] inline ByteView view_of(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

/// What every benchmark sets; `write_buffer_bytes` is the size of a memtable.
[[nodiscard]] rocksdb::Options common_options(const rocksdb::BlockBasedTableOptions& table,
                                              std::uint64_t write_buffer_bytes);
/// Index and filter blocks in the cache, and Bloom filters.
[[nodiscard]] rocksdb::BlockBasedTableOptions filtered_table(std::uint64_t cache_bytes);
/// The same, with blocks of that size and a hash index in each.
[[nodiscard]] rocksdb::BlockBasedTableOptions hashed_table(std::uint64_t cache_bytes,
                                                           std::size_t block_bytes);

/// A store's, for its purpose.
[[nodiscard]] rocksdb::Options options_of(const StoreSettings& settings,
                                          const std::shared_ptr<rocksdb::Statistics>& statistics);

/// The operand of the merge operator for changes of parts of a value: an offset of one byte and the
/// bytes that belong there.
[[nodiscard]] std::string operand_of(std::size_t offset, ByteView bytes);

}  // namespace palimpsest::experiments::rocks
