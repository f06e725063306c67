// The interface that range_bench needs from an engine: inserting rows in ascending order, and
// erasing the first of them. One adapter for each way to do that.
//
// Each adapter uses its engine's calls for bulk changes; the guarantee is the same for all: when
// ingest() and erase_below() return, their changes survive any crash. Rows are those of rows.h,
// their keys are their numbers.
// Thread-safety: one thread, except version_bytes().
// Failure: std::exception with the engine's own message.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/engines/bulk_store.h"

namespace palimpsest::experiments::bulk {

/// The rows in the store.
struct FoundRows {
  std::uint64_t rows = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool sound = true;  ///< each follows from its number
};

class RangeEngine {
 public:
  RangeEngine() = default;
  virtual ~RangeEngine() = default;
  RangeEngine(const RangeEngine&) = delete;
  RangeEngine& operator=(const RangeEngine&) = delete;

  /// Inserts the rows [0, rows) into the empty store.
  virtual void ingest(std::uint64_t rows) = 0;
  /// Erases the rows [0, end).
  virtual void erase_below(std::uint64_t end) = 0;
  /// Frees the space of erased rows, as far as the engine does that. Returns the seconds it took.
  [[nodiscard]] virtual double reclaim() = 0;
  /// The first rows, at most so many.
  [[nodiscard]] virtual FoundRows find_rows(std::uint64_t rows_max) = 0;
  /// The number of the last row; nothing if there is none.
  [[nodiscard]] virtual std::optional<std::uint64_t> last_row() = 0;
  [[nodiscard]] virtual Space space() = 0;
  /// Memory of versions, if the engine counts them. From any thread.
  [[nodiscard]] virtual std::optional<std::uint64_t> version_bytes() const = 0;
  /// The method, in the engine's own terms.
  [[nodiscard]] virtual std::string description() const = 0;
  virtual void close() = 0;
};

struct RangeSettings {
  std::filesystem::path directory;  ///< exists; empty, or as this engine left it
  std::uint64_t memory_bytes = 0;
};

struct RangeEngineTraits {
  std::string name;
};

struct RangeEngineEntry {
  RangeEngineTraits traits;
  std::function<std::unique_ptr<RangeEngine>(const RangeSettings&)> open;
};

/// The engines a binary knows. range_bench is linked with range_engines_own.cc, range_bench_peers
/// with range_engines_peers.cc; range_main.cc is the same.
[[nodiscard]] std::vector<RangeEngineEntry> known_range_engines();

}  // namespace palimpsest::experiments::bulk
