// Types of the log's interface (log.h): options, reservations, statistics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/ids.h"
#include "base/log_sink.h"

namespace palimpsest::wal {

struct LogOptions {
  /// Memory of each slot's log, allocated with its first write; a power of two.
  std::size_t slot_log_bytes = std::size_t{256} << 10U;
  /// Memory of the logs of the first `first_slot_logs` slots, if larger; a power of two. The more
  /// memory a log has, the less often its owner waits for a round; but not every slot can have that
  /// much.
  std::size_t first_slot_log_bytes = 0;
  std::size_t first_slot_logs = 0;
  /// Largest record; at most half of slot_log_bytes and kRecordBytesMax.
  std::size_t record_bytes_max = std::size_t{32} << 10U;
  /// Largest batch, a multiple of 4096; memory for one is allocated.
  std::size_t batch_bytes_max = std::size_t{1} << 20U;
  /// Called when a thread takes space and less than half of the log is left: replay should start
  /// later. Must neither block nor call the log.
  std::function<void()> on_filling;
  /// Makes durable the pages written past the log before Log::need_pages() was called, and writes
  /// those that were left to this call. Called by a round, which holds the round mutex: must not
  /// wait for the log. If it throws, the log has failed.
  /// No record is missed: its owner writes the pages, or leaves them to this call, then calls
  /// need_pages(), then appends. A round captures, and then clears the flag. So a round that holds
  /// the record finds the flag set, or an earlier round has cleared it after the pages were there,
  /// and has made them durable or has failed.
  std::function<void()> harden_pages;
  LogSink messages{};  ///< hears of the failed state
};

/// Counted since the log was opened. Each is exact; together they are not a snapshot.
struct LogStatistics {
  std::uint64_t rounds = 0;
  std::uint64_t batches = 0;
  std::uint64_t record_bytes = 0;  ///< including record headers
  std::uint64_t stream_bytes = 0;  ///< including padding and segment ends
};

/// A reservation to be made before records are appended.
struct LogNeed {
  std::size_t bytes = 0;  ///< of records, with headers, to be appended without waiting
  /// Those records, and everything else that the transaction must be able to append in any case:
  /// the compensation of all it has done and is about to do.
  std::size_t credit_bytes = 0;
  /// For rollbacks and for work that makes space: may use credit while other transactions wait.
  bool goes_first = false;
};

/// What an append returns.
struct Appended {
  Gsn gsn{};
  Lsn lsn{};
};

}  // namespace palimpsest::wal
