// The small file beside the data that describes it: which engine wrote it, at which scale, and
// whether it was left complete.
//
// Its name is `kv_bench.json` (common/described_directory.h).
// State: `loading` while records are inserted, `open` while an engine has the data open, `closed`
// after a clean close. Engines here promise nothing after a crash, so data found in another state
// than `closed` may be half-written; it is loaded again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "experiments/common/described_directory.h"
#include "experiments/kv_bench/options.h"

namespace palimpsest::experiments {

enum class DataState : std::uint8_t { loading = 1, open, closed };

struct Manifest {
  std::string engine;
  std::uint64_t records = 0;
  std::uint32_t value_bytes = 0;
  std::uint32_t page_kib = 0;
  LoadOrder load_order = LoadOrder::ascending;
  DataState state = DataState::loading;
};

class DataDirectory {
 public:
  explicit DataDirectory(std::filesystem::path path);

  /// Compares the path's data with the options. UsageError if the path holds another scale or
  /// engine, or files that kv_bench did not write. Changes nothing.
  [[nodiscard]] DataPlan plan(const Options& wanted) const;

  /// Makes an empty data directory with a manifest in state `loading`, removing earlier data.
  void start_load(const Options& wanted);

  /// Records the state; the data directory has a manifest.
  void set_state(DataState state);

  /// The manifest as stored; nothing if there is none or it cannot be understood.
  [[nodiscard]] std::optional<Manifest> read() const;

  [[nodiscard]] std::filesystem::path data() const { return directory_.data(); }

 private:
  DescribedDirectory directory_;
};

}  // namespace palimpsest::experiments
