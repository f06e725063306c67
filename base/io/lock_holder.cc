#include "base/io/lock_holder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>

#include "base/io/small_file.h"

namespace palimpsest::io {
namespace {

/// A process that was killed and is not yet waited for counts as ended.
bool is_running(int process) {
  const auto stat = read_small_file(fmt::format("/proc/{}/stat", process));
  const std::size_t name_end = stat ? stat->rfind(") ") : std::string::npos;
  if (name_end == std::string::npos || name_end + 2 >= stat->size()) {
    return false;
  }
  const char state = (*stat)[name_end + 2];
  return state != 'Z' && state != 'X';
}

/// `1: FLOCK  ADVISORY  WRITE 4711 fe:01:131090 0 EOF`
struct LockLine {
  std::string kind;
  int process = 0;
  std::string file;  ///< device and inode
};

std::optional<LockLine> parse(const std::string& line) {
  std::istringstream words(line);
  std::string number;
  std::string unused;
  LockLine parsed;
  words >> number >> parsed.kind >> unused >> unused >> parsed.process >> parsed.file;
  return words ? std::optional(std::move(parsed)) : std::nullopt;
}

}  // namespace

// Some file systems (btrfs) report different devices in stat() and /proc/locks. A match of the
// inode alone suffices to wait no longer than for a running process, but not to name the process.
LockHolder find_lock_holder(int file) {
  LockHolder holder;
  struct stat status{};
  const auto locks = read_small_file("/proc/locks");
  if (!locks || ::fstat(file, &status) != 0) {
    return holder;
  }
  const std::string inode = fmt::format(":{}", status.st_ino);
  const std::string whole =
      fmt::format("{:02x}:{:02x}{}", major(status.st_dev), minor(status.st_dev), inode);
  std::istringstream lines(*locks);
  for (std::string line; std::getline(lines, line);) {
    const auto lock = parse(line);
    if (!lock || lock->kind != "FLOCK" || lock->process <= 0 || !lock->file.ends_with(inode)) {
      continue;
    }
    const bool runs = is_running(lock->process);
    holder.is_running = holder.is_running || runs;
    if (lock->file == whole && (runs || !holder.process)) {
      holder.process = lock->process;
    }
  }
  return holder;
}

}  // namespace palimpsest::io
