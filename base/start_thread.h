// Starting a thread; if the system refuses, an Error says what the thread was for.
#pragma once

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace palimpsest {

/// Throws Error out_of_memory.
[[noreturn]] void refuse_without_thread(std::string_view purpose, const std::system_error& error);

/// Starts a std::thread or std::jthread that runs `work`. `purpose` completes the message "cannot
/// start a thread ...".
/// Throws Error out_of_memory: the system's limits of processes or memory allow no more.
template <class Thread = std::thread, class Work>
[[nodiscard]] Thread start_thread(std::string_view purpose, Work&& work) {
  try {
    return Thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    refuse_without_thread(purpose, error);
  }
}

}  // namespace palimpsest
