// Copies a database that is in use into another directory.
//
// The copy is what the files would be after a crash: pages of any age since replay's start, and the
// log from there on. So it opens by ordinary recovery, and contains exactly the transactions that
// had committed durably where the copied log ends. The steps:
//   1  pin the log where replay starts now (wal/replay_start.h); watch what is written past the log
//      (buffer/unlogged_writes.h); make durable what has been committed
//   2  copy all pages in use, and now and then the log as far as it goes, so that the pin advances
//   3  copy again what was written past the log since its copy, until little of that is left
//   4  pause writes past the log; read the rest of those pages; note where the log ends; resume
//   5  write these pages, copy the log up to that end, make all durable, rename the page file
// Why the result is a crash's image:
// - Each page is as it was on disk at some time between step 1 and the end of the log. It is not
//   older, so replay from the start has all it lacks. It is not newer, so the log has all of its
//   changes (I-2): what was read in place before step 4 had a durable log by then.
// - A page that the log takes into use as it is on disk (values, leaves of bulks) was written
//   before the record that says so. If that record is in the copy, the page was written before the
//   pause, and the copy has it. If another owner has written it again since, that was before the
//   pause, too, and the log says that the page had been released.
// - No page is torn: one with a wrong checksum is read again until it is right, or at rest. If it
//   stays wrong it is copied once more, and steps 3 to 5 are repeated, a few times at most.
// - Free pages are left out. One that is allocated afterwards is new in the log, or written past
//   it.
// The double-write ring of the copy is empty, because no page of the copy is torn.
//
// Latching: none of its own; see the two headers above. During a pause, commits that have pages to
// write wait: while at most kPausedBytes are read, a twentieth of a second longer if a page among
// them stays doubtful, and never for a write of the copy.
// Memory: 1 MiB, kPausedBytes more in the end, and a bit per page if pages are written past the
// log.
// Thread-safety: one at a time for a database, by any thread; the database is in use meanwhile and
// is not closed.
// Failure: nothing has changed in the database, and the copy made so far is removed. Error
// already_exists if the directory is not empty; no_space, also if the log had to be reused before
// it was copied; io_error, failed.
#pragma once

#include <string_view>

#include "palimpsest/backup.h"

#include "base/clock.h"
#include "base/io/device.h"
#include "buffer/page_file.h"
#include "buffer/page_writer.h"
#include "buffer/space_map.h"
#include "wal/log.h"
#include "wal/log_store.h"

namespace palimpsest::engine {

/// The parts of the database that is copied.
struct BackupSource {
  buffer::PageFile& file;
  buffer::PageWriter& writer;
  const buffer::SpaceMap& space;
  wal::LogStore& store;
  wal::Log& log;
  const Clock& clock;
};

/// The page file of an unfinished copy; no database is opened beside it.
inline constexpr std::string_view kCopyName = "pages.copy";

/// `into`: an empty directory.
BackupReport back_up(const BackupSource& source, io::Device& into, const BackupOptions& options);

}  // namespace palimpsest::engine
