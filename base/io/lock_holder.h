// Finds the process that has locked a file by flock(), as far as the system shows it.
//
// /proc/locks names the process that took the lock, not those that keep it: the process may have
// ended while the lock persists. Then either a child that it made by _Fork() or clone() still has
// the file open, or the kernel is still ending its I/O, which takes up to a second on a busy
// machine.
// Thread-safety: any thread. Failure: none; what cannot be read is reported as unknown.
#pragma once

#include <optional>

namespace palimpsest::io {

struct LockHolder {
  /// Empty: unknown, as for a process that has ended or that is in another container.
  std::optional<int> process;
  /// A process that may hold the lock is running: waiting for the lock means waiting for its user.
  bool is_running = false;
};

/// Describes the lock on an open file that another open file description has locked.
[[nodiscard]] LockHolder find_lock_holder(int file);

}  // namespace palimpsest::io
