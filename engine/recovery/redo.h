// The second pass of recovery over the log: repeats on the pages what the records that count say,
// those of losers included (ARIES, TODS 1992, section 6.2: repeating history).
//
// One thread, the caller's, reads the log and sorts records out by page; workers own the pages,
// each its own (replay_window.h), neighbours together, so that these are read and written by one
// transfer. A record is applied to a page that is older than it; records that the analysis says are
// of an earlier life of the page are skipped, and a page is not read if a record in the window
// gives it new content. Pages stay in memory as far as the limit allows, and are written by the
// double-write protocol otherwise and in the end (replay_pages.h).
//
// Where the memory is too small for the pages, nearly each window would read and write them again.
// So the log is read several times then, each time for as many pages as there is memory for: it
// comes in long transfers, and pages do not. No record changes a page by what another one holds, so
// pages may be redone in any order (decision 031).
//
// Invariants: (1) a page's records are applied in the order of their GSNs, each once;
//             (2) interrupted anywhere and repeated, it ends in the same pages: what a page on disk
//                 has already, its GSN says.
// Failure: corruption for a record that cannot be applied, naming page, GSN and kind, and for a
//          page that is damaged; io_error, no_space, failed. Pages written until then stay.
// Thread-safety: the caller has log and page file to himself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "buffer/page_file.h"
#include "buffer/page_writer.h"
#include "engine/recovery/analysis.h"
#include "engine/recovery/progress.h"
#include "wal/log_reader.h"

namespace palimpsest::engine {

struct RedoOptions {
  /// For windows of the log and for pages. Less than redo needs at least is taken for that: about
  /// 450 KiB and 16 pages.
  std::size_t memory_bytes = std::size_t{64} << 20U;
  /// Threads beside the caller's, which reads; at least 1. They wait for pages as often as not: so
  /// several for each processor.
  std::size_t workers = 1;
  /// There are fewer workers where the memory does not have so many pages for each, 16 at least:
  /// smaller batches are not worth the syncs of writing them.
  std::size_t worker_pages_min = 256;
  /// The log is read so often at most. If more were needed it is read once, and pages come and go.
  std::size_t passes_max = 32;
  ProgressCallback progress{};
};

struct RedoStatistics {
  std::uint64_t log_bytes = 0;  ///< of the stream, however often it was read
  std::size_t passes = 0;       ///< how often
  std::uint64_t changes = 0;    ///< counted records times their pages
  std::uint64_t changes_applied =
      0;  ///< the others were on the page already, or of an earlier life
  std::uint64_t pages_read = 0;
  std::uint64_t pages_written = 0;  ///< a page as often as it was
};

/// Replays the log. All pages are durable on return. The reader's find_end() has returned, and the
/// analysis is of the same log; torn pages have been restored.
RedoStatistics redo(const wal::LogReader& reader, const RecoveryAnalysis& analysis,
                    buffer::PageFile& file, buffer::PageWriter& writer, const RedoOptions& options);

}  // namespace palimpsest::engine
