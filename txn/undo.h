// Undoing changes from the log: one way for rollback and for recovery.
//
// A transaction's changes are read backwards along their links. For each, its compensation is
// logged and applied under the latch of the leaf that holds the record by then, which a descent by
// its key finds (Umbra-MVCC, section 3.1.3; ARIES, TODS 1992). Exactly one compensation a change:
// it names what is to be undone next, and whoever goes on after a crash begins there (I-5).
// Latching: none held by the caller. May do I/O.
// Failure: io_error, out_of_memory; corruption where log and pages contradict each other. What has
//          been undone before is undone for good.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "txn/tree_directory.h"
#include "wal/segments.h"
#include "wal/transaction_log.h"

namespace palimpsest::txn {

/// A transaction that an earlier incarnation left unfinished.
struct Loser {
  wal::TransactionName name;
  Lsn undo_next{wal::kNoLsn};          ///< kNoLsn: all is undone, only the end was not written
  wal::StreamPosition newest_chunk{};  ///< of its slot's log in its incarnation
};

/// Undoes all changes of the transaction that `log` belongs to, and ends it in the log. If the log
/// has failed, or fails meanwhile, pages are changed back in memory only: none of them is written
/// any more, and the next recovery does the same.
void roll_back(wal::TransactionLog& log, TreeDirectory& trees);

/// Undoes its changes behind `newest_kept`, kNoLsn for all of them; the transaction may go on.
/// False if the log has failed, or fails meanwhile: then all changes are undone as roll_back()
/// says, and it has ended.
[[nodiscard]] bool roll_back_to(Lsn newest_kept, wal::TransactionLog& log, TreeDirectory& trees);

/// Undoes what a loser has left, through a slot of this incarnation, and ends it in the log.
void roll_back(const Loser& loser, const wal::Segments& segments, wal::TransactionLog& log,
               TreeDirectory& trees);

}  // namespace palimpsest::txn
