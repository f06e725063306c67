#include "experiments/common/output_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <vector>

#include "experiments/common/flag_checks.h"
#include "experiments/common/result_json.h"

namespace palimpsest::experiments {
namespace {

namespace fs = std::filesystem;

/// Absolute, without links, dots, and a slash at the end.
fs::path resolved(const fs::path& path) {
  const fs::path whole = fs::weakly_canonical(fs::absolute(path));
  return whole.has_filename() ? whole : whole.parent_path();
}

bool lies_in(const fs::path& inner, const fs::path& outer) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

/// An output and every name under which it is written.
struct Places {
  const OutputFile& output;
  std::array<fs::path, 3> names;

  explicit Places(const OutputFile& of) : output(of) {
    const fs::path file = fs::absolute(of.name);
    const fs::path here = resolved(file.parent_path()) / file.filename();
    names = {here, aside_of(here.string()), resolved(file)};
  }

  [[nodiscard]] std::string text() const {
    return fmt::format("--{}={}", output.flag, output.name);
  }
};

[[noreturn]] void refuse_unwritable(const Places& places, int error) {
  throw UsageError(fmt::format("{}: cannot be written: {}", places.text(),
                               std::generic_category().message(error)));
}

/// As write_file() does, without the last step.
void try_to_make(const Places& places) {
  const std::string& name = places.output.name;
  if (fs::is_other(name)) {
    if (::access(name.c_str(), W_OK) != 0) {
      refuse_unwritable(places, errno);
    }
    return;
  }
  const std::string aside = aside_of(name);
  constexpr mode_t kMode = 0666;
  const int file = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kMode);
  if (file < 0) {
    refuse_unwritable(places, errno);
  }
  ::close(file);
  ::unlink(aside.c_str());
}

void check_apart_from_data(const Places& places, const fs::path& data) {
  const bool inside = std::any_of(places.names.begin(), places.names.end(),
                                  [&](const fs::path& name) { return lies_in(name, data); });
  if (inside || lies_in(data, places.names.front())) {
    throw UsageError(
        fmt::format("{}: lies in the directory of the data, --path={}; name another file",
                    places.text(), data.string()));
  }
}

void check_apart(const Places& first, const Places& second) {
  if (std::find_first_of(first.names.begin(), first.names.end(), second.names.begin(),
                         second.names.end()) != first.names.end()) {
    throw UsageError(fmt::format("{}: is the same file as {}", second.text(), first.text()));
  }
}

}  // namespace

void check_output_files(const fs::path& data, std::initializer_list<OutputFile> files) {
  std::vector<Places> replaced;
  for (const OutputFile& file : files) {
    const bool to_stdout = std::string_view(file.flag) == "json" && file.name == "-";
    if (file.name.empty() || to_stdout) {
      continue;
    }
    const Places places(file);
    if (fs::is_directory(file.name)) {
      refuse_unwritable(places, EISDIR);
    }
    if (!fs::is_other(file.name)) {
      if (!data.empty()) {
        check_apart_from_data(places, resolved(data));
      }
      for (const Places& other : replaced) {
        check_apart(other, places);
      }
      replaced.push_back(places);
    }
    try_to_make(places);
  }
}

}  // namespace palimpsest::experiments
