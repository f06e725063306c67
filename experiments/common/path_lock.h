// A directory that one process has for itself: a driver's --path, from before it is looked at until
// the driver ends. Without it a second driver would take a load under way for one that did not end,
// and remove what the first has made.
//
// flock(2) on the directory itself: no file is left in it, and the lock goes with the process,
// however it ends.
// Failure: UsageError if another has it or it is no directory; std::system_error.
#pragma once

#include <filesystem>

namespace palimpsest::experiments {

class PathLock {
 public:
  /// Makes the directory if it is not there.
  explicit PathLock(const std::filesystem::path& path);
  ~PathLock();
  PathLock(const PathLock&) = delete;
  PathLock& operator=(const PathLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace palimpsest::experiments
