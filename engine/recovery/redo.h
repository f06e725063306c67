// Redo, the second pass of recovery over the log: repeats on the pages what the counted records
// say, including those of losers (ARIES, TODS 1992, section 6.2: repeating history).
//
// The caller's thread reads the log and distributes records by page. Each worker owns its pages
// (replay_window.h); neighbours have one owner, so that they are read and written by one transfer.
// A record is applied to a page that is older than it. Records that, according to the analysis,
// belong to an earlier life of the page are skipped, and a page is not read if a record in the
// window gives it new content. Pages stay in memory as far as the limit allows; they are written by
// the double-write protocol when they do not, and at the end (replay_pages.h).
//
// If memory is too small for the pages, nearly each window would read and write them again. So the
// log is read several times then, each time for as many pages as fit into memory: the log is read
// in long transfers, pages are not. No record changes a page depending on the content of another
// one, so pages may be redone in any order (decision 031).
//
// Invariants: (1) a page's records are applied in the order of their GSNs, each once; (2)
// interrupted anywhere and repeated, redo ends in the same pages: the GSN of a page on disk tells
// what it has already.
// Failure: corruption for a record that cannot be applied, naming page, GSN and kind, and for a
//          page that is damaged; io_error, no_space, failed. Pages written until then stay. With
//          RedoOptions::lost such pages are noted instead, and redo goes on with the others.
// Thread-safety: the caller has exclusive use of log and page file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "buffer/page_file.h"
#include "buffer/page_writer.h"
#include "engine/recovery/analysis.h"
#include "engine/recovery/lost_pages.h"
#include "engine/recovery/progress.h"
#include "wal/log_reader.h"

namespace palimpsest::engine {

struct RedoOptions {
  /// For windows of the log and for pages. A value below redo's minimum counts as that: about 450
  /// KiB and 16 pages.
  std::size_t memory_bytes = std::size_t{64} << 20U;
  /// Threads beside the caller's, which reads; at least 1. They wait for pages as often as not, so
  /// several per processor.
  std::size_t workers = 1;
  /// The number of workers is reduced until memory has this many pages for each, at least 16:
  /// smaller batches are not worth the syncs of writing them.
  std::size_t worker_pages_min = 256;
  /// Maximum passes over the log. If more were needed it is read once, and pages are read and
  /// evicted as needed.
  std::size_t passes_max = 32;
  ProgressCallback progress{};
  /// Not null: what cannot be read, or what a record cannot be applied to, is noted here; its place
  /// in the file holds what it held, or an older state.
  LostPages* lost = nullptr;
};

struct RedoStatistics {
  std::uint64_t log_bytes = 0;  ///< of the stream, counted once
  std::size_t passes = 0;       ///< times that the log was read
  std::uint64_t changes = 0;    ///< counted records times their pages
  std::uint64_t changes_applied =
      0;  ///< other changes were on the page already, or of an earlier life
  std::uint64_t pages_read = 0;
  std::uint64_t pages_written = 0;  ///< a page as often as it was written
};

/// Replays the log. All pages are durable on return. The reader's find_end() was called, and the
/// analysis is of the same log; torn pages have been restored.
RedoStatistics redo(const wal::LogReader& reader, const RecoveryAnalysis& analysis,
                    buffer::PageFile& file, buffer::PageWriter& writer, const RedoOptions& options);

}  // namespace palimpsest::engine
