#include "experiments/oltp/manifest.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "experiments/common/result_json.h"

namespace palimpsest::experiments::oltp {
namespace {

/// Raised when the same scale and seed yield another population, or other stored bytes.
constexpr int kManifestVersion = 1;

}  // namespace

DataPlan DataDirectory::plan(const Options& wanted) const {
  namespace fs = std::filesystem;
  if (!fs::exists(path_) || (fs::is_directory(path_) && fs::is_empty(path_))) {
    return {.load = true, .reason = "the directory does not exist yet"};
  }
  if (!fs::is_directory(path_) || !fs::exists(file())) {
    throw UsageError(fmt::format("--path={}: exists, but holds no workload; name a new directory",
                                 path_.string()));
  }
  const std::optional<Manifest> found = read();
  if (!found) {
    throw UsageError(
        fmt::format("--path={}: {} has another version or is damaged; remove {} to load anew",
                    path_.string(), file().string(), path_.string()));
  }
  const std::string holds = text_of(*found);
  const std::string asked = text_of(manifest_of(wanted, found->loaded));
  if (holds != asked) {
    throw UsageError(fmt::format("--path={}: holds {}, not {}; name another path", path_.string(),
                                 holds, asked));
  }
  return found->loaded ? DataPlan{.load = false, .reason = "loaded by an earlier run"}
                       : DataPlan{.load = true, .reason = "an earlier load was interrupted"};
}

void DataDirectory::start_load(const Options& wanted) const {
  std::filesystem::create_directories(path_);
  write(manifest_of(wanted, false));
  std::filesystem::remove_all(data());
  std::filesystem::create_directory(data());
}

void DataDirectory::end_load(const Options& wanted) const {
  write(manifest_of(wanted, true));
}

std::uint64_t DataDirectory::start_run() const {
  Manifest manifest = read().value();
  const std::uint64_t before = manifest.runs++;
  write(manifest);
  return before;
}

std::uint64_t DataDirectory::runs() const {
  return read().value().runs;
}

Manifest DataDirectory::manifest_of(const Options& wanted, bool loaded) const {
  return {.workload = workload_.name,
          .engine = wanted.engine,
          .scale = wanted.scale,
          .seed = wanted.seed,
          .loaded = loaded};
}

std::string DataDirectory::text_of(const Manifest& manifest) const {
  return fmt::format("{} with --{}={} --seed={} of engine {}", manifest.workload,
                     manifest.workload == workload_.name ? workload_.scale_flag : "scale",
                     manifest.scale, manifest.seed, manifest.engine);
}

std::optional<Manifest> DataDirectory::read() const {
  std::ifstream in(file());
  const nlohmann::json json = nlohmann::json::parse(in, nullptr, false);
  try {
    if (json.at("format_version") != kManifestVersion) {
      return std::nullopt;
    }
    return Manifest{.workload = json.at("workload"),
                    .engine = json.at("engine"),
                    .scale = json.at("scale"),
                    .seed = json.at("seed"),
                    .loaded = json.at("loaded"),
                    .runs = json.value("runs", std::uint64_t{0})};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

void DataDirectory::write(const Manifest& manifest) const {
  const nlohmann::json json = {{"format_version", kManifestVersion},
                               {"workload", manifest.workload},
                               {"engine", manifest.engine},
                               {"scale", manifest.scale},
                               {"seed", manifest.seed},
                               {"loaded", manifest.loaded},
                               {"runs", manifest.runs}};
  write_file(file().string(), json.dump(2) + "\n");
}

}  // namespace palimpsest::experiments::oltp
