#include "experiments/common/process_stats.h"

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace palimpsest::experiments {
namespace {

constexpr std::uint64_t kKib = 1024;

/// Calls `take(name, number)` for each "name: number ..." line of a /proc file.
template <class Take>
void for_each_number(const char* file, Take take) {
  std::ifstream in(file);
  std::string name;
  std::string rest;
  while (in >> name) {
    std::uint64_t number = 0;
    if (in >> number) {
      take(std::string_view(name), number);
    } else {
      in.clear();
    }
    std::getline(in, rest);
  }
}

}  // namespace

ProcessStats read_process_stats() {
  ProcessStats stats;
  for_each_number("/proc/self/status", [&](std::string_view name, std::uint64_t number) {
    if (name == "VmRSS:") {
      stats.resident_bytes = number * kKib;
    } else if (name == "RssFile:") {
      stats.resident_file_bytes = number * kKib;
    }
  });
  for_each_number("/proc/self/io", [&](std::string_view name, std::uint64_t number) {
    if (name == "read_bytes:") {
      stats.read_bytes = number;
    } else if (name == "write_bytes:") {
      stats.write_bytes = number;
    }
  });
  return stats;
}

std::uint64_t occupied_bytes(const std::filesystem::path& directory) {
  constexpr std::uint64_t kStatBlockBytes = 512;
  std::uint64_t total = 0;
  std::error_code ignored;  // files may vanish while we look (compactions remove theirs)
  for (std::filesystem::recursive_directory_iterator entry(directory, ignored), end;
       !ignored && entry != end; entry.increment(ignored)) {
    struct stat status = {};
    if (::lstat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      total += static_cast<std::uint64_t>(status.st_blocks) * kStatBlockBytes;
    }
  }
  return total;
}

}  // namespace palimpsest::experiments
