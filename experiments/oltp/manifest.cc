#include "experiments/oltp/manifest.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace palimpsest::experiments::oltp {
namespace {

/// Raised when the same scale and seed yield another population, or other stored bytes.
constexpr int kManifestVersion = 1;

nlohmann::json to_json(const Manifest& manifest) {
  return {{"workload", manifest.workload}, {"engine", manifest.engine}, {"scale", manifest.scale},
          {"seed", manifest.seed},         {"loaded", manifest.loaded}, {"runs", manifest.runs}};
}

std::optional<Manifest> manifest_of_json(const nlohmann::json& json) {
  return Manifest{.workload = json.at("workload"),
                  .engine = json.at("engine"),
                  .scale = json.at("scale"),
                  .seed = json.at("seed"),
                  .loaded = json.at("loaded"),
                  .runs = json.value("runs", std::uint64_t{0})};
}

}  // namespace

DataDirectory::DataDirectory(std::filesystem::path path, const WorkloadTraits& workload)
    : directory_(std::move(path), "workload.json", kManifestVersion), workload_(workload) {}

DataPlan DataDirectory::plan(const Options& wanted) const {
  const std::optional<Manifest> found = directory_.describe(manifest_of_json, "holds no workload");
  if (!found) {
    return {.load = true, .reason = "the directory does not exist yet"};
  }
  const std::string holds = text_of(*found);
  const std::string asked = text_of(manifest_of(wanted, found->loaded));
  if (holds != asked) {
    throw UsageError(fmt::format("--path={}: holds {}, not {}; name another path",
                                 directory_.path().string(), holds, asked));
  }
  return found->loaded ? DataPlan{.load = false, .reason = "loaded by an earlier run"}
                       : DataPlan{.load = true, .reason = "an earlier load was interrupted"};
}

void DataDirectory::start_load(const Options& wanted) const {
  directory_.start(to_json(manifest_of(wanted, false)));
}

void DataDirectory::end_load(const Options& wanted) const {
  directory_.write(to_json(manifest_of(wanted, true)));
}

std::uint64_t DataDirectory::start_run() const {
  Manifest manifest = read().value();
  const std::uint64_t before = manifest.runs++;
  directory_.write(to_json(manifest));
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
  return directory_.read(manifest_of_json);
}

}  // namespace palimpsest::experiments::oltp
