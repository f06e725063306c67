// Undo, the last phase of recovery: rolls back unfinished transactions, several at a time.
//
// No two losers have changed the same record, so they are undone in any order (txn/undo.h). Each
// thread has a slot of its own. If interrupted anywhere, the next recovery continues behind the
// last durable compensation (I-5).
// Thread-safety: no other thread uses the database. Failure: what undo throws; the first failure
// ends the phase.
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
