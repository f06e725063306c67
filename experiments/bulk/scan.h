// One run of scan_bench: repeated full scans of a table, one kind after the other.
//
// A round: without versions, a scan at `none` and one at `snapshot`; then, with a reader open that
// began before, one row in so many is changed; then a scan by a new transaction, and one by the
// open reader. After that the reader ends, and the next round begins when no version is left in
// memory. All scans of a round read the same bytes in the same memory, so only their costs differ.
// Each scan verifies that it has seen all rows, with the right contents.
// Thread-safety: one call at a time for a directory.
// Failure: Error of the database; std::runtime_error for wrong rows, and if versions remain.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/common/host_info.h"

namespace palimpsest::experiments::bulk {

enum class Scan : std::uint8_t {
  none,             ///< at isolation none, without versions
  snapshot,         ///< at snapshot, without versions
  beside_versions,  ///< at snapshot, begun after the changes
  old_reader,       ///< at snapshot, begun before the changes: their versions are taken back
};
inline constexpr std::size_t kScans = 4;
[[nodiscard]] std::string_view name_of(Scan scan) noexcept;

struct ScanOptions {
  std::filesystem::path directory;  ///< of the database; without one, or empty
  std::uint64_t memory_bytes = 0;
  std::uint64_t rows = 0;
  std::uint64_t changed_one_in = 100;  ///< rows
  std::uint32_t rounds = 1;
};

struct ScanResult {
  double load_seconds = 0;
  std::array<std::vector<double>, kScans> seconds;  ///< of each scan, by rounds
  std::uint64_t version_bytes_max = 0;
  std::uint64_t entries_max = 0;
};

[[nodiscard]] ScanResult run_scans(const ScanOptions& options);

[[nodiscard]] std::string summary(const ScanOptions& options, const ScanResult& result);
[[nodiscard]] nlohmann::json to_json(const ScanOptions& options, const ScanResult& result,
                                     const HostInfo& host);

}  // namespace palimpsest::experiments::bulk
