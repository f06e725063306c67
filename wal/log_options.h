// What the log is told, and what it tells: options, needs, statistics (log.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/ids.h"

namespace palimpsest::wal {

struct LogOptions {
  /// Memory of each slot's log from its first write on; a power of two.
  std::size_t slot_log_bytes = std::size_t{256} << 10U;
  /// Memory of the logs of the first so many slots, if it is more; a power of two. The longer a log
  /// lasts, the less often its owner waits for a round; but memory has to be reckoned with.
  std::size_t first_slot_log_bytes = 0;
  std::size_t first_slot_logs = 0;
  /// Largest record; at most half of slot_log_bytes and kRecordBytesMax.
  std::size_t record_bytes_max = std::size_t{32} << 10U;
  /// Largest batch, a multiple of 4096; memory is allocated for one.
  std::size_t batch_bytes_max = std::size_t{1} << 20U;
  /// Called by whoever takes space and finds that less than half of the log is left: replay should
  /// start later. Must neither block nor call the log.
  std::function<void()> on_filling;
  /// Makes durable what was written past the log before Log::need_pages() was called, or was left
  /// to this call to be written. Called by a round, which holds the turn: must not wait for the
  /// log. If it throws, the log has failed. No record is missed: its owner writes the pages, or
  /// leaves them to this, says that they are needed, and appends; a round captures, and then takes
  /// back what was said. So a round that holds the record finds it said, or an earlier one has
  /// taken it back after the pages were there, and has made them durable or has failed.
  std::function<void()> harden_pages;
};

/// Counted since the log was opened; each is exact, together they are not a snapshot.
struct LogStatistics {
  std::uint64_t rounds = 0;
  std::uint64_t batches = 0;
  std::uint64_t record_bytes = 0;  ///< headers of records included
  std::uint64_t stream_bytes = 0;  ///< of the stream: padding and segment ends included
};

/// What must be there before records are appended.
struct LogNeed {
  std::size_t bytes = 0;  ///< of records, headers included, that are appended without waiting
  /// Those records, and all else that the transaction must be able to append whatever happens: the
  /// compensation of everything it has done and is about to do.
  std::size_t credit_bytes = 0;
  /// For rollbacks and what makes space: uses its credit even when others wait for space.
  bool goes_first = false;
};

/// What an append returns.
struct Appended {
  Gsn gsn{};
  Lsn lsn{};
};

}  // namespace palimpsest::wal
