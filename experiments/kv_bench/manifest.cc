#include "experiments/kv_bench/manifest.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace palimpsest::experiments {
namespace {

constexpr int kManifestVersion = 1;

std::string_view name_of(DataState state) {
  switch (state) {
    case DataState::loading: return "loading";
    case DataState::open: return "open";
    case DataState::closed: return "closed";
  }
  return "unknown";
}

/// Anything that is not a clean `closed` counts as not clean.
DataState state_of(const std::string& name) {
  if (name == "closed") {
    return DataState::closed;
  }
  return name == "open" ? DataState::open : DataState::loading;
}

std::string scale(const Manifest& manifest) {
  return fmt::format("{} records, {} value bytes, {} KiB pages, loaded in {} order by {}",
                     manifest.records, manifest.value_bytes, manifest.page_kib,
                     name_of(manifest.load_order), manifest.engine);
}

Manifest wanted_manifest(const Options& wanted) {
  return {.engine = wanted.engine,
          .records = wanted.records,
          .value_bytes = wanted.value_bytes,
          .page_kib = wanted.page_bytes / 1024,
          .load_order = wanted.load_order,
          .state = DataState::loading};
}

nlohmann::json to_json(const Manifest& manifest) {
  return {{"engine", manifest.engine},
          {"records", manifest.records},
          {"value_bytes", manifest.value_bytes},
          {"page_kib", manifest.page_kib},
          {"load_order", std::string(name_of(manifest.load_order))},
          {"state", std::string(name_of(manifest.state))}};
}

std::optional<Manifest> manifest_of(const nlohmann::json& json) {
  return Manifest{
      .engine = json.at("engine"),
      .records = json.at("records"),
      .value_bytes = json.at("value_bytes"),
      .page_kib = json.at("page_kib"),
      .load_order = json.at("load_order") == "random" ? LoadOrder::random : LoadOrder::ascending,
      .state = state_of(json.at("state"))};
}

}  // namespace

DataDirectory::DataDirectory(std::filesystem::path path)
    : directory_(std::move(path), "kv_bench.json", kManifestVersion) {}

DataPlan DataDirectory::plan(const Options& wanted) const {
  const std::optional<Manifest> found =
      directory_.describe(manifest_of, "was not made by kv_bench");
  if (!found) {
    return {.load = true, .reason = "the path is empty"};
  }
  const std::string path = directory_.path().string();
  Manifest asked = wanted_manifest(wanted);
  if (!wanted.load_order_given) {
    asked.load_order = found->load_order;
  }
  if (wanted.reload) {
    return {.load = true, .reason = "--reload"};
  }
  if (scale(*found) != scale(asked)) {
    throw UsageError(fmt::format("{} holds {}; asked for {}. Name another path or give --reload",
                                 path, scale(*found), scale(asked)));
  }
  switch (found->state) {
    case DataState::closed: break;
    case DataState::loading: return {.load = true, .reason = "an earlier load was interrupted"};
    case DataState::open: return {.load = true, .reason = "an earlier run did not close the data"};
  }
  if (wanted.mode == Mode::load) {
    throw UsageError(fmt::format("{} is loaded already; give --reload to load it again", path));
  }
  return {};
}

void DataDirectory::start_load(const Options& wanted) {
  directory_.start(to_json(wanted_manifest(wanted)));
}

void DataDirectory::set_state(DataState state) {
  std::optional<Manifest> manifest = read();
  if (!manifest) {
    throw std::runtime_error(fmt::format("{} vanished during the run", directory_.file().string()));
  }
  manifest->state = state;
  directory_.write(to_json(*manifest));
}

std::optional<Manifest> DataDirectory::read() const {
  return directory_.read(manifest_of);
}

}  // namespace palimpsest::experiments
