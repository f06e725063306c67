// The options of a log_bench run: validates the flags as typed, or refuses them clearly.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/common/flag_checks.h"
#include "experiments/log_bench/commit_engine.h"

namespace palimpsest::experiments {

/// Flags as they were typed. The initial values are the flags' defaults. Signed, so that a negative
/// number is seen as one.
struct CommitFlags {
  std::string engine = "palimpsest";
  std::string path;
  std::string durability = "sync";
  std::int64_t threads = 1;
  std::int64_t records = 100'000;
  double seconds = 5;
  double warmup = 1;
  std::int64_t sample_ms = 100;
  std::int64_t flush_ms = 5;
  std::int64_t checkpoint_ms = 2000;
  std::int64_t log_mib = 1024;
  std::int64_t memory_mib = 256;
  std::string delta = "off";
  std::int64_t seed = 1;
  std::string json;
  GivenFlags given;
};

/// A valid run.
struct CommitOptions {
  std::string engine;
  std::filesystem::path path;
  Durability durability = Durability::sync;
  std::uint32_t threads = 0;
  std::uint64_t records = 0;
  double warmup_seconds = 0;
  std::chrono::milliseconds step{};  ///< of the time series
  std::size_t steps = 0;             ///< measured; together the measured time
  std::chrono::milliseconds flush_every{};
  std::chrono::milliseconds checkpoint_every{};
  std::optional<std::uint64_t> log_bytes_max;  ///< only for engines that have such a choice
  std::uint64_t memory_bytes = 0;
  std::optional<bool> delta;  ///< only for engines that have such a choice
  std::uint64_t seed = 0;
  std::string json_file;  ///< empty: none; "-": standard output

  [[nodiscard]] double seconds() const noexcept {
    return std::chrono::duration<double>(step).count() * static_cast<double>(steps);
  }
};

/// Throws UsageError for values out of range, unknown names, and flags without effect for this
/// engine or durability.
[[nodiscard]] CommitOptions make_options(const CommitFlags& flags,
                                         const CommitEngineTraits& engine);

}  // namespace palimpsest::experiments
