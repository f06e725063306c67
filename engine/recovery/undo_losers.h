// The last phase of recovery: undoes what unfinished transactions have left, several at a time.
//
// No two losers have changed the same record, so they are undone in any order (txn/undo.h). Each
// thread has a slot of its own. Interrupted anywhere, the next recovery goes on behind the last
// compensation that is durable (I-5).
// Thread-safety: nobody else uses the database. Failure: what undoing throws; the first failure
//          ends it all.
#pragma once

#include <cstddef>
#include <span>

#include "base/clock.h"
#include "base/worker_slots.h"
#include "engine/recovery/progress.h"
#include "engine/recovery/transaction_table.h"
#include "txn/tree_directory.h"
#include "wal/log.h"
#include "wal/segments.h"

namespace palimpsest::engine {

struct UndoParts {
  wal::Log& log;
  Clock& clock;
  WorkerSlots& slots;
  const wal::Segments& segments;
  txn::TreeDirectory& trees;
  std::size_t threads = 1;
  const ProgressCallback& progress;
};

void undo_losers(std::span<const LoserTransaction> losers, const UndoParts& parts);

}  // namespace palimpsest::engine
