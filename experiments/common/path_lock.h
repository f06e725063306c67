// Locks a directory for one process: a driver's --path, from before it is read until the driver
// ends. Without the lock a second driver would take a running load for an aborted one, and remove
// its files.
//
// flock(2) on the directory itself: no file is left in it, and the lock goes with the process,
// however it ends.
// Failure: UsageError if another process has it or it is no directory; std::system_error.
#pragma once

#include <filesystem>

namespace palimpsest::experiments {

class PathLock {
 public:
  /// Creates the directory if it is missing.
  explicit PathLock(const std::filesystem::path& path);
  ~PathLock();
  PathLock(const PathLock&) = delete;
  PathLock& operator=(const PathLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace palimpsest::experiments
