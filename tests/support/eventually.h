// Waiting for what the engine's own threads do in their own time.
#pragma once

#include <chrono>
#include <thread>

#include "palimpsest/function_ref.h"

namespace palimpsest::test {

/// Asks until `holds` says so, and returns true; false after 20 s, which is longer than any of
/// the engine's threads pauses.
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
