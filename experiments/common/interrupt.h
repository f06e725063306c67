// Ctrl-C as a question that is asked now and then, for programs that put things back before they
// end.
//
// While an InterruptSignals lives, SIGINT and SIGTERM wait in the kernel until arrived() asks for
// them: nothing is interrupted, and no state is needed that a signal handler may touch. Made before
// any other thread, which inherit it.
// Thread-safety: belongs to one thread.
#pragma once

#include <csignal>
#include <exception>

namespace palimpsest::experiments {

/// Thrown by whoever finds that the process was asked to stop; bench_main() knows it.
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

  /// Whether one has come since the last call.
  [[nodiscard]] bool arrived() noexcept;

 private:
  sigset_t watched_{};
  sigset_t before_{};
};

}  // namespace palimpsest::experiments
