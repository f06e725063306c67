// Undoes changes from the log; used by rollback and by recovery.
//
// Undo reads a transaction's changes backwards along their links. For each, it logs a compensation
// and applies it under the latch of the leaf that holds the record by then, which a descent by the
// record's key finds (Umbra-MVCC, section 3.1.3; ARIES, TODS 1992). Each change has exactly one
// compensation, which names the next change to undo; after a crash, undo resumes there (I-5).
// Latching: the caller holds none. May do I/O.
// Failure: io_error, out_of_memory; corruption where log and pages contradict each other. Changes
// undone before the failure stay undone.
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

/// Undoes the changes after `newest_kept` (kNoLsn: all of them); the transaction may go on. False
/// if the log has failed, or fails meanwhile: then all changes are undone as by roll_back(), and
/// the transaction has ended.
[[nodiscard]] bool roll_back_to(Lsn newest_kept, wal::TransactionLog& log, TreeDirectory& trees);

/// Undoes what a loser left, through a slot of this incarnation, and ends it in the log.
void roll_back(const Loser& loser, const wal::Segments& segments, wal::TransactionLog& log,
               TreeDirectory& trees);

}  // namespace palimpsest::txn
