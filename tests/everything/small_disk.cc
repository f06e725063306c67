#include "tests/everything/small_disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>

namespace palimpsest::everything {
namespace {

bool write_file(const char* path, const std::string& text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  const bool is_written = file >= 0 && ::write(file, text.data(), text.size()) == std::ssize(text);
  if (file >= 0) {
    ::close(file);
  }
  return is_written;
}

/// A process without the right to mount may get it in a user namespace, where this is allowed.
bool enter_namespace() {
  const auto user = ::getuid();
  const auto group = ::getgid();
  if (::unshare(CLONE_NEWNS) == 0) {
    return true;
  }
  return ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
         write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/uid_map", fmt::format("0 {} 1", user)) &&
         write_file("/proc/self/gid_map", fmt::format("0 {} 1", group));
}

}  // namespace

bool mount_small_disk(const std::string& directory, std::uint64_t bytes) {
  return enter_namespace() && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", directory.c_str(), "tmpfs", 0, fmt::format("size={}", bytes).c_str()) ==
             0;
}

void resize_ballast(const std::string& path, std::uint64_t bytes) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) {
    return;
  }
  // Space that cannot be allocated is not taken: then the disk is as good as full.
  if (::ftruncate(file, 0) == 0) {
    constexpr std::uint64_t kStep = std::uint64_t{256} << 10U;
    std::uint64_t taken = 0;
    while (taken < bytes && ::posix_fallocate(file, static_cast<off_t>(taken), kStep) == 0) {
      taken += kStep;
    }
  }
  ::close(file);
}

}  // namespace palimpsest::everything
