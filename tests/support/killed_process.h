// A process that a test starts, receives reports from, and kills at any moment.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <type_traits>

namespace palimpsest::test {

/// Started by fork(), by a test without other threads; writes its reports to a pipe, each by one
/// write(). Ends with the object.
template <class Report>
class KilledProcess {
 public:
  static_assert(std::is_trivially_copyable_v<Report> && sizeof(Report) <= PIPE_BUF,
                "written at once or not at all");
  using SteadyClock = std::chrono::steady_clock;

  /// body(int pipe) returns the exit status.
  template <class Body>
  explicit KilledProcess(const Body& body) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw std::runtime_error("no pipe can be made");
    }
    process_ = ::fork();
    if (process_ < 0) {
      throw std::runtime_error("no process can be started");
    }
    if (process_ == 0) {
      ::close(ends[0]);
      int status = EXIT_FAILURE;
      try {
        status = body(ends[1]);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "in the process under test: %s\n", error.what());
      }
      ::_exit(status);
    }
    ::close(ends[1]);
    pipe_ = ends[0];
  }
  ~KilledProcess() {
    kill();
    static_cast<void>(wait());
    ::close(pipe_);
  }
  KilledProcess(const KilledProcess&) = delete;
  KilledProcess& operator=(const KilledProcess&) = delete;

  void kill() const {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
    }
  }
  /// The next report, if there is one before the deadline and before the process has ended.
  [[nodiscard]] std::optional<Report> read(SteadyClock::time_point deadline) const {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now());
    pollfd waiting{.fd = pipe_, .events = POLLIN, .revents = 0};
    Report report;
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0 ||
        ::read(pipe_, &report, sizeof report) != sizeof report) {
      return std::nullopt;
    }
    return report;
  }
  /// Calls `each` with its reports until the deadline, or until the process has ended.
  template <class Each>
  void read_until(SteadyClock::time_point deadline, const Each& each) const {
    while (const auto report = read(deadline)) {
      each(*report);
    }
  }
  /// Its exit status, or minus the signal that ended it.
  [[nodiscard]] int wait() {
    int status = 0;
    if (process_ > 0 && ::waitpid(process_, &status, 0) == process_) {
      process_ = 0;
      status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    return status_;
  }

 private:
  pid_t process_ = 0;
  int pipe_ = -1;
  int status_ = 0;
};

}  // namespace palimpsest::test
