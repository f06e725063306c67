// Analysis, the first pass of recovery over the log: finds what redo must know before it begins,
// and what undo and the space map need afterwards (ARIES, TODS 1992, section 6.1, without its dirty
// page table: redo compares the GSN of each page that the log names).
//
// Only counted records (I-4 in docs/invariants.md) are considered, but the clock restarts above all
// records that were ever written. Records of different slots are not sorted in the stream, so facts
// about pages are ordered by GSN: a page's changes have rising GSNs, and the record that reuses a
// freed page has a larger GSN than the one that freed it.
//
// Effect on pages, by record:
//   tree, structure     takes pages into use or frees them, at once; a graft takes pages with what
//                       is on them already
//   tree, purge         frees the pages of large values at once
//   tree, system        a change of a record that belongs to no transaction (btree/value_moves.h):
//                       takes and frees at once
//   change              takes the pages of a large value into use at once; those it releases are
//                       *pending*: free once its transaction has won and no reader needs them
//   compensation        frees what the change took; what the change released was never free
//   space               frees at once: mostly pending pages of winners
//
// Analysis is one pass of one thread: it takes about a fifth of the processor time that redo takes.
// Invariants: memory is proportional to the pages, transactions and slots that the log names, never
// to its records; plus half a megabyte.
// Thread-safety: a function of its arguments; any number of threads may read the result.
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

/// Decodes a record of BodyKind::space: shows the runs that it frees. Throws corruption for an
/// invalid body.
using FreedRunsDecoder = std::function<void(ConstBytes, FunctionRef<void(const buffer::PageRun&)>)>;

struct AnalysisOptions {
  std::uint32_t page_size_bytes = 0;  ///< of the page file
  FreedRunsDecoder freed_runs{};      ///< without it, a space record is corruption
  ProgressCallback progress{};
  /// The contents of records up to this GSN are on the pages and in the space map already.
  Gsn replayed_up_to{};
};

struct RecoveryAnalysis {
  /// The highest GSN that any record has or any batch states: the clock restarts above it.
  Gsn newest_gsn{};
  std::vector<LoserTransaction> losers;  ///< ascending by name
  /// The final state of pages according to the log; for other pages the space map on disk is right.
  PageRanges space;
  /// Pages released by winners and not freed yet; in use, in `space` or on disk.
  std::vector<buffer::PageRun> given_up;
  /// By page, the last record that freed it, or took it into use with what was on it before:
  /// records up to that one are not redone, since the page may contain anything by now.
  PageRanges ended;
  /// The page count that the file must have for pages in use according to the log; 0 if there are
  /// none.
  std::uint64_t page_count_min = 0;

  /// Number of pages with records for redo; approximate for the largest files.
  std::uint64_t pages_changed = 0;

  Gsn replayed_up_to{};               ///< as given: redo ignores records up to it
  std::uint64_t records = 0;          ///< in the replay range
  std::uint64_t records_counted = 0;  ///< of those, at or below their cut
};

/// Reads the whole stream once. Called after the reader's find_end().
[[nodiscard]] RecoveryAnalysis analyse(const wal::LogReader& reader,
                                       const AnalysisOptions& options);

}  // namespace palimpsest::engine
