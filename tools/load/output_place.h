// Where what is written may lie: not over what is read, nor among a database's own files.
//
// Thread-safety: pure functions of the file system as it is.
#pragma once

#include <filesystem>
#include <string>

namespace palimpsest::load {

/// Throws UsageError, naming both, if the output is that input: the same file by whatever name, or
/// what standard input comes from (kStandardInput).
void require_not_read(const std::string& output, const std::string& input);

/// Throws UsageError if the output lies in a directory of the database, its own or its log's, or is
/// a file of it by another name; an empty directory is none.
void require_outside(const std::string& output, const std::filesystem::path& directory);

/// Throws UsageError, naming both, if a copy's directory is that one, or lies in it; an empty one
/// is none.
void require_apart(const std::string& copy, const std::filesystem::path& directory);

/// Throws UsageError if the name says that the file is compressed: what is written there is not.
void require_plain_name(const std::string& output);

/// Throws UsageError if two outputs are one file, by whatever name, which may not be there yet. An
/// empty name is no file.
void require_different(const std::string& a, const std::string& b);

/// Where symbolic links lead, one after the other: what is there may be no link, or nothing.
struct Followed {
  std::filesystem::path file{};
  bool is_descriptor = false;  ///< by the way through a process's open files, as /dev/stdout
};

/// Goes no further than the operating system would.
[[nodiscard]] Followed follow(std::filesystem::path path);

}  // namespace palimpsest::load
