// The first pass of recovery over the log: what replay must know before it begins, and what undo
// and the space map need afterwards (ARIES, TODS 1992, section 6.1, without its dirty page table:
// redo compares the GSN of each page that the log names).
//
// Only records that count (I-4 in docs/invariants.md) mean anything, but the clock restarts above
// all that were ever written. Records of different slots lie in the stream unsorted, so whatever
// concerns pages goes by GSN: a page's changes have rising GSNs, and whoever reuses a page that
// was given back has a larger one than who gave it back.
//
// Pages, by record:
//   tree, structure     takes pages into use or frees them, at once; those of a graft with what
//                       lies there already
//   tree, purge         frees the pages of large values at once
//   change              takes the pages of a large value into use at once; those it gives up are
//                       *pending*: free once its transaction has won and nobody reads them
//   compensation        frees what the change took; what the change gave up was never free
//   space               frees at once: pending pages of winners, mostly
//
// In one pass and by one thread: it takes about a fifth of the processor time that redo takes.
// Invariants: memory is proportional to the pages, transactions and slots that the log names, never
//             to its records; and half a megabyte.
// Thread-safety: a function of what it is given; the result is read by any number of threads.
// Failure: Error corruption, naming slot, LSN or page, for records that make no sense; io_error.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/bytes.h"
#include "base/ids.h"
#include "buffer/space_map.h"
#include "engine/recovery/page_ranges.h"
#include "engine/recovery/progress.h"
#include "engine/recovery/transaction_table.h"
#include "wal/log_reader.h"

namespace palimpsest::engine {

/// What a record of BodyKind::space says: shows the runs that it frees. Throws corruption for a
/// body that is none.
using FreedRunsDecoder = std::function<void(ConstBytes, FunctionRef<void(const buffer::PageRun&)>)>;

struct AnalysisOptions {
  std::uint32_t page_size_bytes = 0;  ///< of the page file
  FreedRunsDecoder freed_runs{};      ///< without it, a space record is corruption
  ProgressCallback progress{};
  /// What records up to this say is on the pages and in the space map already.
  Gsn replayed_up_to{};
};

struct RecoveryAnalysis {
  /// The highest GSN that any record has or any batch states: the clock restarts above it.
  Gsn newest_gsn{};
  std::vector<LoserTransaction> losers;  ///< ascending by name
  /// What the log says of pages in the end; of others the space map on disk is right.
  PageRanges space;
  /// Pages that winners gave up and nobody has freed yet; in use, in `space` or on disk.
  std::vector<buffer::PageRun> given_up;
  /// By page, the last record that freed it, or took it into use with what was written there
  /// before: records up to there are not redone, since the page may hold anything by now.
  PageRanges ended;
  /// Pages that the file must have for those that are in use according to the log; 0 if none are.
  std::uint64_t page_count_min = 0;

  /// Pages that have records for redo: about, for the largest files.
  std::uint64_t pages_changed = 0;

  Gsn replayed_up_to{};               ///< as given: redo leaves these records alone
  std::uint64_t records = 0;          ///< in the replay range
  std::uint64_t records_counted = 0;  ///< of those, at or below their cut
};

/// Reads the whole stream once. The reader's find_end() has returned.
[[nodiscard]] RecoveryAnalysis analyse(const wal::LogReader& reader,
                                       const AnalysisOptions& options);

}  // namespace palimpsest::engine
