#include "experiments/kv_bench/manifest.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

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

}  // namespace

DataPlan DataDirectory::plan(const Options& wanted) const {
  namespace fs = std::filesystem;
  if (!fs::exists(path_) || (fs::is_directory(path_) && fs::is_empty(path_))) {
    return {.load = true, .reason = "the path is empty"};
  }
  if (!fs::is_directory(path_) || !fs::exists(file())) {
    throw UsageError(fmt::format("{} exists, but was not made by kv_bench; name a new directory",
                                 path_.string()));
  }
  const std::optional<Manifest> found = read();
  if (!found) {
    throw UsageError(fmt::format("{} cannot be parsed; remove {} to start anew", file().string(),
                                 path_.string()));
  }
  Manifest asked = wanted_manifest(wanted);
  if (!wanted.load_order_given) {
    asked.load_order = found->load_order;
  }
  if (wanted.reload) {
    return {.load = true, .reason = "--reload"};
  }
  if (scale(*found) != scale(asked)) {
    throw UsageError(fmt::format("{} holds {}; asked for {}. Name another path or give --reload",
                                 path_.string(), scale(*found), scale(asked)));
  }
  switch (found->state) {
    case DataState::closed: break;
    case DataState::loading: return {.load = true, .reason = "an earlier load was interrupted"};
    case DataState::open: return {.load = true, .reason = "an earlier run did not close the data"};
  }
  if (wanted.mode == Mode::load) {
    throw UsageError(
        fmt::format("{} is loaded already; give --reload to load it again", path_.string()));
  }
  return {};
}

void DataDirectory::start_load(const Options& wanted) {
  std::filesystem::create_directories(path_);
  write(wanted_manifest(wanted));
  std::filesystem::remove_all(data());
  std::filesystem::create_directory(data());
}

void DataDirectory::set_state(DataState state) {
  std::optional<Manifest> manifest = read();
  if (!manifest) {
    throw std::runtime_error(fmt::format("{} vanished during the run", file().string()));
  }
  manifest->state = state;
  write(*manifest);
}

std::optional<Manifest> DataDirectory::read() const {
  std::ifstream in(file());
  const nlohmann::json json = nlohmann::json::parse(in, nullptr, false);
  try {
    if (json.at("format_version") != kManifestVersion) {
      return std::nullopt;
    }
    return Manifest{
        .engine = json.at("engine"),
        .records = json.at("records"),
        .value_bytes = json.at("value_bytes"),
        .page_kib = json.at("page_kib"),
        .load_order = json.at("load_order") == "random" ? LoadOrder::random : LoadOrder::ascending,
        .state = state_of(json.at("state"))};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

// Written aside and renamed, so that an interrupted write leaves the old manifest.
void DataDirectory::write(const Manifest& manifest) const {
  const nlohmann::json json = {{"format_version", kManifestVersion},
                               {"engine", manifest.engine},
                               {"records", manifest.records},
                               {"value_bytes", manifest.value_bytes},
                               {"page_kib", manifest.page_kib},
                               {"load_order", std::string(name_of(manifest.load_order))},
                               {"state", std::string(name_of(manifest.state))}};
  const std::filesystem::path aside = path_ / "kv_bench.json.new";
  std::ofstream out(aside);
  out << json.dump(2) << '\n';
  out.close();
  if (!out) {
    throw std::runtime_error(fmt::format("cannot write {}", aside.string()));
  }
  std::filesystem::rename(aside, file());
}

}  // namespace palimpsest::experiments
