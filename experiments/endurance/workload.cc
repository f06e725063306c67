#include "experiments/endurance/workload.h"

#include <fmt/format.h>

#include "experiments/common/flag_checks.h"
#include "experiments/common/process_stats.h"
#include "experiments/common/record_key.h"

namespace palimpsest::experiments::endurance {

std::string_view name_of(Workload workload) noexcept {
  switch (workload) {
    case Workload::queue: return "queue";
    case Workload::reader: return "reader";
    case Workload::refresh: return "refresh";
  }
  return "unknown";
}

void require(bool right, const std::string& what) {
  if (!right) {
    throw DamagedRecord(what);
  }
}

Result run(const Options& options, const EngineEntry& engine) {
  std::filesystem::create_directories(options.path);
  if (!std::filesystem::is_empty(options.path)) {
    throw UsageError(fmt::format("--path={}: is not empty", options.path.string()));
  }
  Result result = engine.run(options);
  result.disk_bytes_closed = occupied_bytes(options.path);
  return result;
}

}  // namespace palimpsest::experiments::endurance
