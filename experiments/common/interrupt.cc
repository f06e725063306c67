#include "experiments/common/interrupt.h"

#include <ctime>

namespace palimpsest::experiments {

InterruptSignals::InterruptSignals() noexcept {
  sigemptyset(&watched_);
  sigaddset(&watched_, SIGINT);
  sigaddset(&watched_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &watched_, &before_);
}

InterruptSignals::~InterruptSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool InterruptSignals::arrived() noexcept {
  const timespec at_once{};
  return sigtimedwait(&watched_, nullptr, &at_once) > 0;
}

}  // namespace palimpsest::experiments
