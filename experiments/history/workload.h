// Runs random transactions on a database from several threads, and records them.
//
// A transaction in conflict is rolled back and is not retried. Failure: std::exception of the
// recorder; unexpected errors of the engine are in Tally::wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "palimpsest/database.h"

#include "experiments/history/plan.h"
#include "experiments/history/recorder.h"

namespace palimpsest::experiments::history {

struct WorkloadOptions {
  Mode mode = Mode::list_append;
  Isolation isolation = Isolation::snapshot;
  std::uint32_t threads = 4;
  std::uint64_t keys = 40;         ///< in use at a time
  std::uint32_t writes_max = 8;    ///< of a key, more or less
  std::uint32_t bulk_percent = 0;  ///< of transactions: bulks, which have the table to themselves
  double seconds = 1;              ///< whichever ends first
  std::uint64_t transactions = ~std::uint64_t{0};
  std::uint64_t seed = 1;
  /// Called at once, by any of the threads, with a text of Tally::wrong or a thread's error.
  std::function<void(const std::string&)> on_wrong{};
};

/// Outcomes of transactions.
struct Tally {
  std::uint64_t ok = 0;
  std::uint64_t bulks = 0;                        ///< of those
  std::uint64_t rolled_back = 0;                  ///< on purpose
  std::map<std::string, std::uint64_t> failed{};  ///< by the reason
  std::uint64_t unknown = 0;
  std::vector<std::string> wrong{};  ///< errors found; the first few
  std::int64_t next_key = 0;         ///< above all keys

  [[nodiscard]] std::uint64_t total() const;
  void add(const Tally& other);
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] Tally run_workload(Database& database, Recorder& recorder,
                                 const Continuation& continuation, const WorkloadOptions& options);

/// Reads all keys below `keys`, many in a transaction.
[[nodiscard]] Tally read_everything(Database& database, Recorder& recorder,
                                    const WorkloadOptions& options, std::int64_t keys);

}  // namespace palimpsest::experiments::history
