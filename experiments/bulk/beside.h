// One run of bulk_bench: readers of a table while all of its rows are updated, repeatedly or once,
// and writers of another table beside them.
//
// Repeatedly: one phase, "beside". Once: three phases, "before", "during" and "after" the update.
// Thread-safety: one call at a time for a directory.
// Failure: Error of the database; std::runtime_error for wrong rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/bulk/memory_sampler.h"
#include "experiments/bulk/tally.h"

namespace palimpsest::experiments::bulk {

enum class Read : std::uint8_t { scan = 1, get };
enum class Update : std::uint8_t { none = 1, transactions, bulk };

[[nodiscard]] std::string_view name_of(Read read) noexcept;
[[nodiscard]] std::string_view name_of(Update update) noexcept;

struct BesideOptions {
  std::filesystem::path directory;  ///< of the database; without one, or empty
  std::uint64_t memory_bytes = 0;
  std::uint64_t version_bytes_max = 0;  ///< 0: the engine's default
  std::uint64_t rows = 0;
  Read read = Read::scan;
  Update update = Update::none;
  bool once = false;
  std::uint32_t readers = 0;
  std::uint32_t other_writers = 0;
  double warmup_seconds = 0;
  double seconds = 0;  ///< of "beside", or of each phase around the update
  std::uint64_t seed = 1;
};

struct Phase {
  std::string name;
  double seconds = 0;
  Counts reads{};
  Counts updates{};
  Counts other_writes{};
};

struct BesideResult {
  double load_seconds = 0;
  std::vector<Phase> phases{};
  MemoryMaxima memory_max{};  ///< of all phases, and the warm-up
  std::uint64_t log_bytes = 0;
  std::uint64_t data_bytes = 0;  ///< of the page file
};

[[nodiscard]] BesideResult run_beside(const BesideOptions& options);

}  // namespace palimpsest::experiments::bulk
