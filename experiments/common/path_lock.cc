#include "experiments/common/path_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "experiments/common/flag_checks.h"

namespace palimpsest::experiments {

PathLock::PathLock(const std::filesystem::path& path) {
  if (std::filesystem::exists(path) && !std::filesystem::is_directory(path)) {
    throw UsageError(fmt::format("--path={}: is not a directory", path.string()));
  }
  std::filesystem::create_directories(path);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw std::system_error(errno, std::generic_category(), "open " + path.string());
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    ::close(descriptor_);
    if (error == EWOULDBLOCK) {
      throw UsageError(
          fmt::format("--path={}: in use by another process; name another path", path.string()));
    }
    throw std::system_error(error, std::generic_category(), "lock " + path.string());
  }
}

PathLock::~PathLock() {
  ::close(descriptor_);
}

}  // namespace palimpsest::experiments
