// Starting a thread, with an Error that says what for where the system starts none.
#pragma once

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace palimpsest {

/// Throws Error out_of_memory.
[[noreturn]] void refuse_without_thread(std::string_view purpose, const std::system_error& error);

/// A thread, or a std::jthread, that does `work`. `purpose` completes "cannot start a thread ...".
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
