// Makes system calls fail, in this process and permanently: to simulate hosts that forbid them, and
// to show that none is made. Use it in a child process (child_process.h).
#pragma once

#include <seccomp.h>

#include <initializer_list>

namespace palimpsest::test {

/// A filter that passes everything but what `add_rules(filter)` adds; false if the kernel accepts
/// none.
template <class AddRules>
[[nodiscard]] bool install_filter(const AddRules& add_rules) {
  scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
  const bool done = filter != nullptr && add_rules(filter) && ::seccomp_load(filter) == 0;
  ::seccomp_release(filter);
  return done;
}

/// Makes `calls` (SCMP_SYS numbers) fail with `error`.
[[nodiscard]] inline bool forbid_calls(std::initializer_list<int> calls, int error) {
  return install_filter([&](scmp_filter_ctx filter) {
    for (const int call : calls) {
      if (::seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(error)), call, 0) != 0) {
        return false;
      }
    }
    return true;
  });
}

/// All calls that make files durable.
[[nodiscard]] inline bool forbid_syncs(int error) {
  return forbid_calls({SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(msync), SCMP_SYS(sync),
                       SCMP_SYS(syncfs), SCMP_SYS(sync_file_range)},
                      error);
}

}  // namespace palimpsest::test
