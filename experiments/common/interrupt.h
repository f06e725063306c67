// Polling for Ctrl-C, for programs that clean up before they end.
//
// While an InterruptSignals exists, SIGINT and SIGTERM stay pending in the kernel until arrived()
// takes them: no system call is interrupted, and no state need be safe for signal handlers.
// Construct it before any other thread starts: threads inherit the mask.
// Thread-safety: belongs to one thread.
#pragma once

#include <csignal>
#include <exception>

namespace palimpsest::experiments {

/// Thrown by code that finds that the process was asked to stop; bench_main() catches it.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

class InterruptSignals {
 public:
  InterruptSignals() noexcept;
  ~InterruptSignals();
  InterruptSignals(const InterruptSignals&) = delete;
  InterruptSignals& operator=(const InterruptSignals&) = delete;

  /// Whether a signal has arrived since the last call.
  [[nodiscard]] bool arrived() noexcept;

 private:
  sigset_t watched_{};
  sigset_t before_{};
};

}  // namespace palimpsest::experiments
