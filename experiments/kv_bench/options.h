// The options of a kv_bench run: validates the flags as typed, or refuses them clearly.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/common/flag_checks.h"
#include "experiments/kv_bench/kv_engine.h"

namespace palimpsest::experiments {

enum class Mode : std::uint8_t { load = 1, lookup, update, scan, mixed };
enum class Distribution : std::uint8_t { uniform = 1, zipf };
enum class LoadOrder : std::uint8_t { ascending = 1, random };

[[nodiscard]] std::string_view name_of(Mode mode) noexcept;
[[nodiscard]] std::string_view name_of(Distribution distribution) noexcept;
[[nodiscard]] std::string_view name_of(LoadOrder order) noexcept;

/// Flags as they were typed. The initial values are the flags' defaults. Signed, so that a negative
/// number is seen as one.
struct FlagValues {
  std::string engine = "palimpsest";
  std::string path;
  std::int64_t memory_mib = 1024;
  std::int64_t page_kib = 4;
  std::int64_t records = 1'000'000;
  std::int64_t value_bytes = 120;
  std::int64_t threads = 1;
  std::string mode = "lookup";
  std::string distribution = "uniform";
  double theta = 0.99;
  double seconds = 10;
  double warmup = 2;
  std::int64_t warmup_threads = 0;
  std::string json;
  std::int64_t sample_ms = 0;
  std::int64_t seed = 1;
  std::string double_write = "on";
  std::string load_order = "ascending";
  std::int64_t update_percent = 50;
  std::int64_t scan_length = 0;
  std::int64_t latency_every = 0;
  bool reload = false;
  GivenFlags given;  ///< names of the flags given on the command line
};

/// A valid run.
struct Options {
  std::string engine;
  std::filesystem::path path;
  std::uint64_t memory_bytes = 0;
  std::uint32_t page_bytes = 0;
  std::uint64_t records = 0;
  std::uint32_t value_bytes = 0;
  std::uint32_t threads = 0;
  std::uint32_t warmup_threads = 0;
  Mode mode = Mode::lookup;
  Distribution distribution = Distribution::uniform;
  double theta = 0;
  double seconds = 0;
  double warmup_seconds = 0;
  std::string json_file;        ///< empty: none; "-": standard output
  std::uint32_t sample_ms = 0;  ///< 0: no time series
  std::uint64_t seed = 0;
  std::optional<bool> double_write;  ///< only for engines that have such a choice
  LoadOrder load_order = LoadOrder::ascending;
  bool load_order_given = false;
  std::uint32_t update_percent = 0;
  std::uint64_t scan_length = 0;    ///< 0: whole table
  std::uint32_t latency_every = 0;  ///< every n-th operation is timed
  bool reload = false;

  /// Bytes of keys and values.
  [[nodiscard]] std::uint64_t payload_bytes() const noexcept {
    return records * (kKeyBytes + value_bytes);
  }
  /// Whether the data, with the usual 30 % for half-full pages and page headers, fits memory.
  [[nodiscard]] bool fits_in_memory() const noexcept {
    return payload_bytes() / 10 * 13 <= memory_bytes;
  }
};

/// Throws UsageError for values out of range, unknown names, and flags without effect for this mode
/// or engine.
[[nodiscard]] Options make_options(const FlagValues& flags, const EngineTraits& engine);

}  // namespace palimpsest::experiments
