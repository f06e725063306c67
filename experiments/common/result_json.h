// What the results of all benchmarks share: latencies, where it was measured, files that are whole.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/common/histogram.h"
#include "experiments/common/host_info.h"

namespace palimpsest::experiments {

[[nodiscard]] double microseconds(std::uint64_t nanoseconds) noexcept;

/// Quantiles in microseconds of a histogram of nanoseconds: p50, p90, p99, p999, max, and
/// timed_operations.
[[nodiscard]] nlohmann::json latency_json(const Histogram& latency_ns);

/// Adds cpu, kernel, compiler, commit and storage.
void add_host(nlohmann::json& object, const HostInfo& host);

/// Writes the text aside and renames it over `file`, so that no reader sees half a result. What is
/// no file of its own, a device or a pipe, is written to, and stays. Throws std::runtime_error:
/// what was there before is there still, and nothing is left aside.
void write_file(const std::string& file, const std::string& text);

/// Where write_file() writes before it renames.
[[nodiscard]] std::string aside_of(const std::string& file);

}  // namespace palimpsest::experiments
