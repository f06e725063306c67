#include "experiments/common/host_info.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include "experiments_commit.h"

namespace palimpsest::experiments {
namespace {

std::string first_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with("model name")) {
      const std::size_t colon = line.find(": ");
      return colon == std::string::npos ? line : line.substr(colon + 2);
    }
  }
  return "unknown processor";
}

std::string compiler() {
#if defined(__clang__)
  constexpr std::string_view kName = "clang";
#else
  constexpr std::string_view kName = "gcc";
#endif
#if defined(NDEBUG)
  constexpr std::string_view kAsserts = "NDEBUG";
#else
  constexpr std::string_view kAsserts = "asserts on";
#endif
#if defined(__OPTIMIZE__)
  constexpr std::string_view kOptimized = "optimized";
#else
  constexpr std::string_view kOptimized = "not optimized";
#endif
  return fmt::format("{} {}, {}, {}", kName, __VERSION__, kOptimized, kAsserts);
}

/// "ext4 (rw,relatime)" of the mount that holds device `major:minor`.
std::string file_system(std::string_view device) {
  std::ifstream in("/proc/self/mountinfo");
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string id, parent, mounted_device, root, mount_point, options, word, type;
    words >> id >> parent >> mounted_device >> root >> mount_point >> options;
    while (words >> word && word != "-") {
    }
    words >> type;
    if (mounted_device == device) {
      return fmt::format("{} ({})", type, options);
    }
  }
  return "unknown file system";
}

std::string storage(const std::filesystem::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    return "unknown";
  }
  const std::string device = fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev));
  std::error_code failed;
  std::filesystem::path block =
      std::filesystem::canonical(fmt::format("/sys/dev/block/{}", device), failed);
  if (failed) {
    return fmt::format("{} on no block device", file_system(device));
  }
  const std::string name = block.filename();
  if (!std::filesystem::exists(block / "queue", failed)) {
    block = block.parent_path();  // a partition: the queue is its disk's
  }
  const std::filesystem::path queue = block / "queue";
  return fmt::format("{} on {}, logical sector {} B, physical {} B, write cache: {}, scheduler: {}",
                     file_system(device), name, first_line(queue / "logical_block_size"),
                     first_line(queue / "physical_block_size"), first_line(queue / "write_cache"),
                     first_line(queue / "scheduler"));
}

}  // namespace

HostInfo describe_host(const std::filesystem::path& path) {
  utsname system = {};
  ::uname(&system);
  return {.cpu = fmt::format("{}, {} logical processors", cpu_model(),
                             std::thread::hardware_concurrency()),
          .kernel = fmt::format("{} {} {}", system.sysname, system.release, system.machine),
          .compiler = compiler(),
          .commit = kSourceCommit,
          .storage = storage(path)};
}

}  // namespace palimpsest::experiments
