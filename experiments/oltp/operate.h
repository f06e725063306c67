// What one thread of a run does: transactions until it is told to stop, again after conflicts.
#pragma once

#include <atomic>
#include <cstdint>

#include "experiments/oltp/arrivals.h"
#include "experiments/oltp/tally.h"
#include "experiments/oltp/workload.h"

namespace palimpsest::experiments::oltp {

/// A transaction that meets a conflict is run again with the same input, after a random wait that
/// grows from attempt to attempt, up to a millisecond; its latency has all of that. One that is
/// still under way when the thread is told to stop is not counted. `seed` is that of the waits.
void operate(Terminal& terminal, Arrivals& arrivals, const std::atomic<bool>& stopping,
             std::uint64_t seed, WorkerTally& tally);

}  // namespace palimpsest::experiments::oltp
