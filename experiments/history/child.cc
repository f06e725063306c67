#include "experiments/history/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

#include "experiments/common/interrupt.h"

namespace palimpsest::experiments::history {
namespace {

using SteadyClock = std::chrono::steady_clock;

[[noreturn]] void refuse(const char* what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

[[noreturn]] void say_and_end(int pipe, std::string_view words) {
  std::string line(words);
  line += '\n';
  for (std::size_t said = 0; said < line.size();) {
    const ssize_t written = ::write(pipe, line.data() + said, line.size() - said);
    if (written <= 0) {
      break;
    }
    said += static_cast<std::size_t>(written);
  }
  ::_exit(EXIT_FAILURE);
}

[[noreturn]] void work_as_child(pid_t parent, int pipe, FunctionRef<void(const LastWords&)> work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(EXIT_FAILURE);  // it ended before it could be watched
  }
  try {
    work([pipe](std::string_view words) { say_and_end(pipe, words); });
  } catch (const std::exception& error) {
    say_and_end(pipe, error.what());
  }
  say_and_end(pipe, "the process ended by itself");
}

enum class Waited {
  long_enough,
  child_speaks,  ///< or has ended
  interrupted,
};

Waited wait(int pipe, std::chrono::microseconds time) {
  constexpr std::chrono::nanoseconds kSliceMax = std::chrono::milliseconds(20);
  InterruptSignals signals;
  const auto end = SteadyClock::now() + time;
  for (;;) {
    const std::chrono::nanoseconds left = end - SteadyClock::now();
    if (left.count() <= 0) {
      return Waited::long_enough;
    }
    pollfd watched{.fd = pipe, .events = POLLIN, .revents = 0};
    const timespec slice{.tv_sec = 0, .tv_nsec = std::min(kSliceMax, left).count()};
    if (::ppoll(&watched, 1, &slice, nullptr) > 0) {
      return Waited::child_speaks;
    }
    if (signals.arrived()) {
      return Waited::interrupted;
    }
  }
}

/// Reads until no process can write any more.
std::string read_all(int pipe) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = ::read(pipe, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  while (text.ends_with('\n')) {
    text.pop_back();
  }
  return text;
}

}  // namespace

void run_until_killed(std::chrono::microseconds until_kill,
                      FunctionRef<void(const LastWords&)> work) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    refuse("no pipe can be created");
  }
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    work_as_child(parent, pipe[1], work);
  }
  ::close(pipe[1]);
  if (child < 0) {
    ::close(pipe[0]);
    refuse("no process can be started");
  }
  const Waited waited = wait(pipe[0], until_kill);
  // A child that writes is about to end; one that writes more than the pipe holds waits for us.
  std::string words = waited == Waited::child_speaks ? read_all(pipe[0]) : "";
  ::kill(child, SIGKILL);
  int status = 0;
  const bool ended = ::waitpid(child, &status, 0) == child;
  words += read_all(pipe[0]);
  ::close(pipe[0]);
  if (waited == Waited::interrupted) {
    throw Interrupted();
  }
  if (words.empty() && (waited == Waited::child_speaks || !ended || !WIFSIGNALED(status) ||
                        WTERMSIG(status) != SIGKILL)) {
    words = fmt::format("the process ended by itself, with status {:#x}", status);
  }
  if (!words.empty()) {
    throw std::runtime_error(fmt::format("in a process that was to be killed: {}", words));
  }
}

}  // namespace palimpsest::experiments::history
