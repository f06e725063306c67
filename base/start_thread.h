// Starting a thread; if the system refuses, an Error says what the thread was for.
#pragma once

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/thread_blocks.h"

namespace palimpsest {

/// Throws Error out_of_memory.
[[noreturn]] void refuse_without_thread(std::string_view purpose, const std::system_error& error);

/// Starts a std::thread or std::jthread that runs `work`, with blocks as a call has them
/// (thread_blocks.h). `purpose` completes the message "cannot start a thread ...".
/// Throws Error out_of_memory: the system's limits of processes or memory allow no more.
template <class Thread = std::thread, class Work>
[[nodiscard]] Thread start_thread(std::string_view purpose, Work&& work) {
  try {
    return Thread([blocks = make_thread_blocks(), work = std::forward<Work>(work)]() mutable {
      for (ThreadBlock& block : blocks) {
        block = ThreadBlock();  // the thread keeps it
      }
      work();
    });
  } catch (const std::system_error& error) {
    refuse_without_thread(purpose, error);
  }
}

}  // namespace palimpsest
