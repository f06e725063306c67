// Code shared by the results of all benchmarks: latencies, the machine, complete files.
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

/// Writes the text to a temporary file and renames it to `file`, so that no reader sees half a
/// result. Writes directly to a device or a pipe. Throws std::runtime_error: then `file` is
/// unchanged, and no temporary file is left.
void write_file(const std::string& file, const std::string& text);

/// The temporary file of write_file().
[[nodiscard]] std::string aside_of(const std::string& file);

}  // namespace palimpsest::experiments
