// The files that a run writes at its end, checked before it begins: an hour of measuring must not
// end with a file that cannot be created, or that replaces a file of the database.
//
// Failure: UsageError, and nothing is changed.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>

namespace palimpsest::experiments {

struct OutputFile {
  const char* flag = "";  ///< that names it: "json"
  std::string name;       ///< empty: there is none; --json=- is standard output
};

/// Refuses files that cannot be created, are the same, or are inside `data` or at a name that it
/// needs. `data`: the value of --path; empty if there is none. Devices and pipes need only be
/// writable.
void check_output_files(const std::filesystem::path& data, std::initializer_list<OutputFile> files);

}  // namespace palimpsest::experiments
