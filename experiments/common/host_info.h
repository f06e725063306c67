// Where a result was measured: processor, kernel, compiler, source revision, storage. Without
// these, results cannot be compared later.
#pragma once

#include <filesystem>
#include <string>

namespace palimpsest::experiments {

struct HostInfo {
  std::string cpu;       ///< "model name, n logical processors"
  std::string kernel;    ///< release and machine
  std::string compiler;  ///< compiler, version and build type
  std::string commit;    ///< revision of the source tree, "-dirty" if it was changed, or "unknown"
  std::string storage;   ///< file system and block device under a path
};

/// `path` must exist.
[[nodiscard]] HostInfo describe_host(const std::filesystem::path& path);

}  // namespace palimpsest::experiments
