// The work of one thread of a run: transactions until it must stop, with retries after conflicts.
#pragma once

#include <atomic>
#include <cstdint>

#include "experiments/oltp/arrivals.h"
#include "experiments/oltp/tally.h"
#include "experiments/oltp/workload.h"

namespace palimpsest::experiments::oltp {

/// A transaction that meets a conflict is run again with the same input, after a random wait that
/// grows from attempt to attempt, up to a millisecond; its latency includes all of that. A
/// transaction still running when the thread must stop is not counted. `seed` determines the waits.
void operate(Terminal& terminal, Arrivals& arrivals, const std::atomic<bool>& stopping,
             std::uint64_t seed, WorkerTally& tally);

}  // namespace palimpsest::experiments::oltp
