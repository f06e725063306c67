// The small file beside the data that describes it: the workload and its scale, the seed, the
// engine, whether the load has ended, and how many runs have begun since.
//
// Its name is `workload.json` (common/described_directory.h). Loaded data is reused, however the
// last run ended: the engines here recover.
// A load that did not end begins anew.
// Thread-safety: none needed; one driver has the directory (common/path_lock.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "experiments/common/described_directory.h"
#include "experiments/oltp/options.h"

namespace palimpsest::experiments::oltp {

struct Manifest {
  std::string workload;
  std::string engine;
  std::uint64_t scale = 0;
  std::uint64_t seed = 0;
  bool loaded = false;
  std::uint64_t runs = 0;  ///< begun since the load, however they ended
};

class DataDirectory {
 public:
  DataDirectory(std::filesystem::path path, const WorkloadTraits& workload);

  /// Compares the path's data with the options. UsageError if they differ. Changes nothing.
  [[nodiscard]] DataPlan plan(const Options& wanted) const;

  /// Makes an empty data directory whose load has not ended, removing earlier data.
  void start_load(const Options& wanted) const;
  /// The load has ended.
  void end_load(const Options& wanted) const;

  /// A run begins on the loaded data. Returns how many have begun before.
  [[nodiscard]] std::uint64_t start_run() const;
  /// How many runs have begun on the loaded data.
  [[nodiscard]] std::uint64_t runs() const;

  /// The stored manifest; nothing if there is none or it is invalid.
  [[nodiscard]] std::optional<Manifest> read() const;

  [[nodiscard]] std::filesystem::path data() const { return directory_.data(); }

 private:
  [[nodiscard]] Manifest manifest_of(const Options& wanted, bool loaded) const;
  /// "tpcc with --warehouses=10 --seed=1, loaded by palimpsest"
  [[nodiscard]] std::string text_of(const Manifest& manifest) const;

  DescribedDirectory directory_;
  const WorkloadTraits& workload_;
};

}  // namespace palimpsest::experiments::oltp
