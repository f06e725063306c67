#include "tools/load/output_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "tools/load/byte_source.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

namespace fs = std::filesystem;

/// By whatever names; also of what is not there yet, as far as names tell.
bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code none;
  return fs::equivalent(a, b, none) || fs::weakly_canonical(fs::absolute(a, none) / "", none) ==
                                           fs::weakly_canonical(fs::absolute(b, none) / "", none);
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

}  // namespace

void require_not_read(const std::string& output, const std::string& input) {
  const bool is_stdin = input == kStandardInput;
  if (is_same(output, is_stdin ? fs::path("/dev/stdin") : fs::path(input))) {
    throw UsageError(fmt::format("{} would be read{} and written", output,
                                 is_stdin ? ", as standard input," : ""));
  }
}

void require_outside(const std::string& output, const fs::path& directory) {
  std::error_code none;
  const auto is_file_of_it = [&](const fs::directory_entry& entry) {
    return is_same(entry.path(), output);
  };
  if (!directory.empty() &&
      (is_same(folder_of(output), directory) ||
       is_same(folder_of(follow(output).file), directory) ||
       std::ranges::any_of(fs::directory_iterator(directory, none), is_file_of_it))) {
    throw UsageError(
        fmt::format("{} would be written over, or beside, the files of the database {}", output,
                    directory.string()));
  }
}

void require_apart(const std::string& copy, const fs::path& directory) {
  std::error_code none;
  fs::path above = fs::weakly_canonical(fs::absolute(copy, none), none);
  for (; !directory.empty() && above.has_relative_path(); above = above.parent_path()) {
    if (is_same(above, directory)) {
      throw UsageError(fmt::format("{} is the database's directory {}, or lies in it", copy,
                                   directory.string()));
    }
  }
}

Followed follow(fs::path path) {
  constexpr int kLinksMax = 40;  // Linux's
  std::error_code error;
  for (int links = 0; links < kLinksMax; ++links) {
    if (fs::canonical(folder_of(path), error).string().starts_with("/proc/")) {
      return {.file = path, .is_descriptor = true};
    }
    const fs::path leads_to = fs::read_symlink(path, error);
    if (error) {
      break;
    }
    path = folder_of(path) / leads_to;
  }
  return {.file = path};
}

void require_plain_name(const std::string& output) {
  for (const std::string_view ending : {".gz", ".zst", ".zstd", ".xz", ".bz2", ".zip"}) {
    if (output.ends_with(ending)) {
      throw UsageError(fmt::format("{}: what is written there is not compressed", output));
    }
  }
}

void require_different(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) {
    return;
  }
  std::error_code none;
  const bool are_same = is_same(follow(a).file, follow(b).file);
  // What is thrown away, as /dev/null, may be named twice.
  const bool is_device = fs::exists(a, none) && !fs::is_regular_file(a, none);
  if (are_same && !is_device) {
    throw UsageError(fmt::format("{} would be written twice, one over the other", a));
  }
}

}  // namespace palimpsest::load
