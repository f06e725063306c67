#include "experiments/common/described_directory.h"

#include <fmt/format.h>

#include <fstream>

#include "experiments/common/flag_checks.h"
#include "experiments/common/result_json.h"

namespace palimpsest::experiments {

void DescribedDirectory::write(nlohmann::json description) const {
  description["format_version"] = format_version_;
  write_file(file().string(), description.dump(2) + "\n");
}

void DescribedDirectory::start(nlohmann::json description) const {
  std::filesystem::create_directories(path_);
  write(std::move(description));
  std::filesystem::remove_all(data());
  std::filesystem::create_directory(data());
}

bool DescribedDirectory::is_new(const char* foreign) const {
  namespace fs = std::filesystem;
  if (!fs::exists(path_) || (fs::is_directory(path_) && fs::is_empty(path_))) {
    return true;
  }
  if (!fs::is_directory(path_) || !fs::exists(file())) {
    throw UsageError(
        fmt::format("--path={}: exists, but {}; name a new directory", path_.string(), foreign));
  }
  return false;
}

void DescribedDirectory::refuse_unreadable() const {
  throw UsageError(
      fmt::format("--path={}: {} cannot be parsed, has another version or is damaged; remove "
                  "{} to load anew",
                  path_.string(), file().string(), path_.string()));
}

std::optional<nlohmann::json> DescribedDirectory::read_json() const {
  std::ifstream in(file());
  nlohmann::json json = nlohmann::json::parse(in, nullptr, false);
  return json.at("format_version") == format_version_ ? std::optional(std::move(json))
                                                      : std::nullopt;
}

}  // namespace palimpsest::experiments
