// What lies in a directory that a whole database was dumped into: palimpsest-tables.json.
//
//   {"palimpsest": 1, "state": "...", "complete": true,
//    "tables": [{"name": "t", "file": "t.csv.zst", "format": "csv", "rows": 12, "schema": "..."}]}
//
// `state` says of which state of the database the files are: a dump that goes on takes those of the
// same one. A table is listed when its file is complete; all are when `complete` is true.
// Failure: Error not_found, io_error, no_space; corruption for a manifest that is none.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/load/dialect.h"

namespace palimpsest::load {

struct DumpedTable {
  std::string name{};
  std::string file{};  ///< in the directory
  Format format = Format::csv;
  std::uint64_t rows = 0;
  std::string schema{};  ///< schema_text.h
};

struct DumpManifest {
  std::string state{};
  bool complete = false;
  std::vector<DumpedTable> tables{};
};

inline constexpr const char* kManifestName = "palimpsest-tables.json";

[[nodiscard]] bool has_manifest(const std::filesystem::path& directory);
[[nodiscard]] DumpManifest read_manifest(const std::filesystem::path& directory);
/// In place of the one that is there, whole or not at all.
void write_manifest(const std::filesystem::path& directory, const DumpManifest& manifest);

}  // namespace palimpsest::load
