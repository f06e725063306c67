#include "tools/load/interrupt.h"

#include <array>
#include <csignal>

namespace palimpsest::load {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};

// What a signal handler may touch; a process has one set of handlers.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t asked_to_stop = 0;

extern "C" void remember_signal(int) {
  asked_to_stop = 1;
}

void handle_signals(void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  for (const int signal : kSignals) {
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace

bool interrupted() noexcept {
  return asked_to_stop != 0;
}

void stop_if_interrupted() {
  if (interrupted()) {
    throw Interrupted();
  }
}

// Without SA_RESTART: a read that waits is interrupted, too.
InterruptGuard::InterruptGuard() {
  asked_to_stop = 0;
  handle_signals(remember_signal, static_cast<int>(SA_RESETHAND));
}

InterruptGuard::~InterruptGuard() {
  handle_signals(SIG_DFL, 0);
}

}  // namespace palimpsest::load
