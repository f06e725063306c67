#include "experiments/bulk/range_driver.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>

#include "experiments/common/flag_checks.h"
#include "experiments/common/process_stats.h"
#include "experiments/common/record_key.h"

namespace palimpsest::experiments::bulk {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void check_path(const RangeOptions& options) {
  const bool is_there =
      std::filesystem::exists(options.path) && !std::filesystem::is_empty(options.path);
  if (options.operation == Operation::ingest && is_there) {
    throw UsageError(
        fmt::format("--path={}: ingesting needs an empty directory", options.path.string()));
  }
  if (options.operation == Operation::erase && !is_there) {
    throw UsageError(fmt::format("--path={}: there are no rows to erase", options.path.string()));
  }
}

/// By its first and its last row only: reading more would change the state of the caches.
void check_what_is_erased(const RangeOptions& options, RangeEngine& engine) {
  const FoundRows found = engine.find_rows(1);
  if (found.rows != 1 || found.first != 0) {
    throw DamagedRecord("the rows to erase are missing");
  }
  const std::uint64_t rows = engine.last_row().value() + 1;
  if (rows != options.rows) {
    throw UsageError(
        fmt::format("--records={}: {} have been ingested; nothing was erased", options.rows, rows));
  }
}

void verify(const RangeOptions& options, RangeEngine& engine) {
  const std::uint64_t first = options.operation == Operation::ingest ? 0 : options.rows / 2;
  const FoundRows found = engine.find_rows(std::numeric_limits<std::uint64_t>::max());
  if (!found.sound || found.rows != options.rows - first || found.first != first) {
    throw DamagedRecord(fmt::format("{} rows from {} on were expected, {}{} were found from {} on",
                                    options.rows - first, first, found.rows,
                                    found.sound ? "" : ", not all of them sound,", found.first));
  }
}

}  // namespace

std::string_view name_of(Operation operation) noexcept {
  switch (operation) {
    case Operation::ingest: return "ingest";
    case Operation::erase: return "erase";
  }
  return "unknown";
}

RangeResult run_range(const RangeOptions& options, const RangeEngineEntry& entry) {
  check_path(options);
  std::filesystem::create_directories(options.path);
  const RangeSettings settings{.directory = options.path, .memory_bytes = options.memory_bytes};
  RangeResult result;
  result.resident_bytes_before_open = read_process_stats().resident_bytes;
  {
    const std::unique_ptr<RangeEngine> engine = entry.open(settings);
    result.description = engine->description();
    result.counts_versions = engine->version_bytes().has_value();
    result.space_before = engine->space();
    if (options.operation == Operation::erase) {
      check_what_is_erased(options, *engine);
    }
    {
      MemorySampler sampler([&] { return engine->version_bytes().value_or(0); });
      const std::uint64_t written = read_process_stats().write_bytes;
      const Clock::time_point begin = Clock::now();
      if (options.operation == Operation::ingest) {
        engine->ingest(options.rows);
      } else {
        engine->erase_below(options.rows_changed());
      }
      result.seconds = seconds_since(begin);
      result.write_bytes = read_process_stats().write_bytes - written;
      result.memory_max = sampler.maxima();
    }
    result.space_after = engine->space();
    if (options.operation == Operation::erase) {
      result.reclaim_seconds = engine->reclaim();
    }
    result.space_reclaimed = engine->space();
    const Clock::time_point closing = Clock::now();
    engine->close();
    result.close_seconds = seconds_since(closing);
  }
  result.disk_bytes = occupied_bytes(options.path);
  const std::unique_ptr<RangeEngine> engine = entry.open(settings);
  verify(options, *engine);
  engine->close();
  return result;
}

}  // namespace palimpsest::experiments::bulk
