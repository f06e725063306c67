// Copies a database that is in use into another directory.
//
// The copy is what the files would be after a crash: pages of any age since replay's start, and the
// log from there on. So it opens by ordinary recovery, and holds all transactions that had
// committed durably when the copy of the log ends, and of the others nothing. In order:
//   1  pin the log where replay starts now (wal/replay_start.h); watch what is written past the log
//      (buffer/unlogged_writes.h); make durable what has been committed
//   2  copy all pages in use, and the log as far as it goes now and then, so that the pin moves on
//   3  copy again what was written past the log since its copy, until little of that is left
//   4  pause writes past the log; read the rest of those pages; note where the log ends; go on
//   5  write these pages, copy the log up to there, make all durable, give the page file its name
// Why that is a crash's image:
//   - Each page is as it was on disk at some time between 1 and the end of the log: no older, so
//     that replay from the start has all it lacks; no newer, so that the log says all of its
//     changes (I-2): whatever was read in place before 4 had a durable log by then.
//   - A page that the log takes into use as it lies there (values, leaves of bulks) was written
//     before the record that says so: if that is in the copy, before the pause, and the copy has
//     it. If another owner has written it again since, that was before the pause, too, and the log
//     says that it had been given up.
//   - No page is torn: one whose checksum is wrong is read again until it is right, or at rest. If
//     it stays wrong it is copied once more, and 3 to 5 are done again, a few times at most.
//   - Free pages are left out. One that is taken afterwards is new in the log, or written past it.
// The double-write ring of the copy is empty: nothing of it is torn.
//
// Latching: none of its own; see the two headers above. Commits wait, while a pause lasts, if they
//           have pages to write: for the reading of kPausedBytes at most, a twentieth of a second
//           longer if a page among them stays doubtful, and for no writing.
// Memory: 1 MiB, kPausedBytes more in the end, and a bit a page if pages are written past the log.
// Thread-safety: one at a time for a database, by any thread; the database is in use meanwhile and
//             is not closed.
// Failure: nothing has changed in the database, and what was made of the copy is removed. Error
//          already_exists if the directory is not empty; no_space, also if the log had to be used
//          again before it was copied; io_error, failed.
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

/// Of the database that is copied.
struct BackupSource {
  buffer::PageFile& file;
  buffer::PageWriter& writer;
  const buffer::SpaceMap& space;
  wal::LogStore& store;
  wal::Log& log;
  const Clock& clock;
};

/// The page file of a copy that is not whole; no database is opened beside it.
inline constexpr std::string_view kCopyName = "pages.copy";

/// `into`: an empty directory.
BackupReport back_up(const BackupSource& source, io::Device& into, const BackupOptions& options);

}  // namespace palimpsest::engine
