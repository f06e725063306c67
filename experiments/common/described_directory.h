// A directory with a benchmark's data, and a small file beside the data that describes it.
//
// Layout of --path: that file, and `data/` (the engine's). A directory with other content is
// refused.
// Thread-safety: none needed; one driver has the directory (path_lock.h).
// Failure: UsageError for a path that cannot be used; std::runtime_error if writing fails.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace palimpsest::experiments {

/// What a driver does with a path before a run.
struct DataPlan {
  bool load = false;   ///< insert all records
  std::string reason;  ///< why, for people; empty if the data is used as it is
};

class DescribedDirectory {
 public:
  /// `format_version` is that of the file's contents.
  DescribedDirectory(std::filesystem::path path, std::string file_name, int format_version)
      : path_(std::move(path)), file_name_(std::move(file_name)), format_version_(format_version) {}

  /// The description; nothing if the directory is missing or empty. UsageError if it has other
  /// content (`foreign` says what is wrong with that), or the file cannot be understood.
  template <class Parse>
  [[nodiscard]] auto describe(Parse&& parse, const char* foreign) const
      -> decltype(parse(nlohmann::json())) {
    if (is_new(foreign)) {
      return std::nullopt;
    }
    auto found = read(parse);
    if (!found) {
      refuse_unreadable();
    }
    return found;
  }
  /// The same without judgement: nothing if there is no such file, or it cannot be understood.
  /// parse(json) returns an optional and may throw what a json does.
  template <class Parse>
  [[nodiscard]] auto read(Parse&& parse) const -> decltype(parse(nlohmann::json())) {
    try {
      const std::optional<nlohmann::json> json = read_json();
      return json ? parse(*json) : std::nullopt;
    } catch (const nlohmann::json::exception&) {
      return std::nullopt;
    }
  }
  /// Writes the description, at once.
  void write(nlohmann::json description) const;
  /// Makes an empty data directory with that description, removing earlier data.
  void start(nlohmann::json description) const;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path data() const { return path_ / "data"; }
  [[nodiscard]] std::filesystem::path file() const { return path_ / file_name_; }

 private:
  [[nodiscard]] bool is_new(const char* foreign) const;
  [[noreturn]] void refuse_unreadable() const;
  [[nodiscard]] std::optional<nlohmann::json> read_json() const;

  std::filesystem::path path_;
  std::string file_name_;
  int format_version_;
};

}  // namespace palimpsest::experiments
