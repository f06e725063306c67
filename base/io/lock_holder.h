// Which process has locked a file by flock(), as far as the system shows it.
//
// /proc/locks names the process that took the lock, not those that keep it: it may have ended, and
// the lock goes on. Then a process that it has started by _Fork() or clone() still has the file
// open, or the kernel is ending its I/O, which takes up to a second on a machine that has much to
// do.
// Thread-safety: any thread. Failure: none; what cannot be read is not known.
#pragma once

#include <optional>

namespace palimpsest::io {

struct LockHolder {
  /// Nothing: not known. So it is of a process that has ended, or of another container.
  std::optional<int> process;
  /// A process that may have the file locked is running: waiting for it is waiting for its user.
  bool is_running = false;
};

/// Of an open file that somebody else has locked.
[[nodiscard]] LockHolder find_lock_holder(int file);

}  // namespace palimpsest::io
