// Runs a part of a test in a process of its own: its effects on the process (system-call filters,
// user ids, locks) end with it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace palimpsest::test {

inline constexpr int kChildThrew = 125;

/// Forks, runs `body` in the child and returns its exit status: what `body` returned, kChildThrew
/// if it threw, or minus the signal that killed it. For tests without other threads.
template <class Body>
[[nodiscard]] int run_in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int status = kChildThrew;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    ::_exit(status);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) {
    return kChildThrew;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace palimpsest::test
