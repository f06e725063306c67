// What range_bench needs from an engine: rows in ascending order come in, the first ones of them go
// again. One adapter for each way to do that.
//
// Each adapter does it by the means that its engine has for much at a time; what it promises is
// the same everywhere: when ingest() and erase_below() return, what they have done survives any
// crash. Rows are those of rows.h, their keys are their numbers.
// Thread-safety: one thread, but for version_bytes().
// Failure: std::exception with the engine's own message.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace palimpsest::experiments::bulk {

/// What rows are there.
struct FoundRows {
  std::uint64_t rows = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool sound = true;  ///< each is what its number says
};

struct Space {
  std::uint64_t data_bytes = 0;                   ///< that rows and their tree take in files
  std::optional<std::uint64_t> reusable_bytes{};  ///< of these: free, where the engine says it
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
  /// Has the space of erased rows given back, as far as the engine does that. Returns the seconds
  /// that it took.
  [[nodiscard]] virtual double reclaim() = 0;
  /// The first rows there are, at most so many.
  [[nodiscard]] virtual FoundRows find_rows(std::uint64_t rows_max) = 0;
  /// The number of the last row; nothing if there is none.
  [[nodiscard]] virtual std::optional<std::uint64_t> last_row() = 0;
  [[nodiscard]] virtual Space space() = 0;
  /// That versions take in memory, if the engine counts them. From any thread.
  [[nodiscard]] virtual std::optional<std::uint64_t> version_bytes() const = 0;
  /// How it is done, in the engine's own terms.
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
