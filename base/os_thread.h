// The operating system's number of a thread, as debuggers and `top -H` show it.
//
// Thread-safety: any thread. Failure: none.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace palimpsest {

/// The calling thread's number; never 0. Threads that run at the same time have different numbers.
[[nodiscard]] inline std::uint32_t os_thread() noexcept {
  thread_local const auto number = static_cast<std::uint32_t>(::gettid());
  return number;
}

}  // namespace palimpsest
