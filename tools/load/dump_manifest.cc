#include "tools/load/dump_manifest.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "palimpsest/error.h"

#include "tools/load/output_file.h"
#include "tools/load/system_error.h"

namespace palimpsest::load {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view why) {
  throw Error(ErrorCode::corruption, fmt::format("{}: {}", path.string(), why));
}

/// A file in the directory itself: a name that leads elsewhere is none that a dump has written.
std::string file_of(const std::filesystem::path& path, const Json& table) {
  std::string file = table.at("file");
  if (file.empty() || file.find('/') != std::string::npos || file == "..") {
    refuse(path, "a file that is not in the directory");
  }
  return file;
}

}  // namespace

bool has_manifest(const std::filesystem::path& directory) {
  std::error_code none;
  return std::filesystem::exists(directory / kManifestName, none);
}

DumpManifest read_manifest(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kManifestName;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(ErrorCode::not_found,
                fmt::format("{}: it cannot be opened: dump --directory writes it", path.string()));
  }
  try {
    const Json json = Json::parse(file);
    if (json.at("palimpsest") != kVersion) {
      refuse(path, "it is of another version");
    }
    DumpManifest manifest{.state = json.at("state"), .complete = json.at("complete")};
    for (const Json& table : json.at("tables")) {
      const std::string format_name = table.at("format");
      const auto format = format_of_name(format_name);
      if (!format) {
        refuse(path, "a format that there is not");
      }
      manifest.tables.push_back({.name = table.at("name"),
                                 .file = file_of(path, table),
                                 .format = *format,
                                 .rows = table.at("rows"),
                                 .schema = table.at("schema")});
    }
    return manifest;
  } catch (const Json::exception& error) {
    refuse(path, error.what());
  }
}

void write_manifest(const std::filesystem::path& directory, const DumpManifest& manifest) {
  Json tables = Json::array();
  for (const DumpedTable& table : manifest.tables) {
    tables.push_back({{"name", table.name},
                      {"file", table.file},
                      {"format", std::string(name_of(table.format))},
                      {"rows", table.rows},
                      {"schema", table.schema}});
  }
  const Json json = {{"palimpsest", kVersion},
                     {"state", manifest.state},
                     {"complete", manifest.complete},
                     {"tables", tables}};
  const std::string path = (directory / kManifestName).string();
  OutputFile file(path);
  const std::string text = json.dump(1) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file.begin()) != text.size()) {
    refuse_to_write(path, errno);
  }
  file.complete();
}

}  // namespace palimpsest::load
