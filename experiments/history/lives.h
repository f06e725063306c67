// Processes that work on one database, one after the other; each is killed, and the history
// continues.
//
// Each life is a process of its own, which opens the database, recovers it, and runs the workload
// until it is killed (SIGKILL) at a random moment; the last one ends normally and reads everything.
// Commits are synchronous, or acknowledged ones would be lost.
// Failure: std::runtime_error if a life ends in another way, or has seen a wrong state: it ends at
// once, and none follows. Interrupted as run_until_killed().
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "palimpsest/database.h"

#include "experiments/history/workload.h"

namespace palimpsest::experiments::history {

struct LivesOptions {
  std::filesystem::path directory;
  Options database{};
  std::string json_file;
  WorkloadOptions workload{};  ///< `seconds` of them all together
  std::uint32_t crashes = 0;
};

/// Returns a summary for people.
[[nodiscard]] std::string run_lives(const LivesOptions& options);

/// One life that ends normally: opens, works, reads everything, closes.
[[nodiscard]] Tally live(const LivesOptions& options, Recorder& recorder,
                         const Continuation& continuation);

}  // namespace palimpsest::experiments::history
