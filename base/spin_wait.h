// Waits for a thread that needs only a few instructions to finish, unless it is descheduled.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <thread>

#include "base/futex.h"

namespace palimpsest {

class SpinWait {
 public:
  /// Called before each check of the condition: spins, and after a while yields the processor.
  void once() noexcept {
    if (spins_ < kSpinsMax) {
      ++spins_;
      spin_pause();
    } else {
      std::this_thread::yield();
    }
  }

 private:
  static constexpr int kSpinsMax = 64;

  int spins_ = 0;
};

}  // namespace palimpsest
