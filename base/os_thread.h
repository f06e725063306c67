// The operating system's number of a thread, as debuggers and `top -H` show it.
//
// Thread-safety: any thread. Failure: none.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace palimpsest {

/// Of this thread; never 0. Two threads that run at the same time have different ones.
[[nodiscard]] inline std::uint32_t os_thread() noexcept {
  thread_local const auto number = static_cast<std::uint32_t>(::gettid());
  return number;
}

}  // namespace palimpsest
