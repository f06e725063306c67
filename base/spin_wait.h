// Waiting for somebody who needs a few instructions, unless he was not let run.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <thread>

#include "base/futex.h"

namespace palimpsest {

class SpinWait {
 public:
  /// Before the next look: spins, after a while lets others run.
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
