// Waits for effects of the engine's own threads.
#pragma once

#include <chrono>
#include <thread>

#include "palimpsest/function_ref.h"

namespace palimpsest::test {

/// Calls `holds` until it is true, and returns true; false after 20 s, which is longer than any
/// pause of the engine's threads.
[[nodiscard]] inline bool eventually(FunctionRef<bool()> holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= until) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace palimpsest::test
