// Ctrl-C as a question that is asked now and then, so that everything is put back before the end.
//
// The first SIGINT or SIGTERM is remembered; the second one has its usual effect.
// Thread-safety: interrupted() from any thread; an InterruptGuard is made once a process.
#pragma once

#include <exception>

namespace palimpsest::load {

/// Thrown by code that finds that the process was asked to stop.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

/// Whether the process was asked to stop since an InterruptGuard has been there.
[[nodiscard]] bool interrupted() noexcept;
/// Throws Interrupted if so.
void stop_if_interrupted();

/// While it lives, signals are remembered.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

}  // namespace palimpsest::load
