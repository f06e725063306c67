// A process that works until it is killed, and its output before that.
//
// Its output is in a pipe before it ends, so a kill does not lose it; and it ends with its parent
// process, however that ends.
// Thread-safety: called by a process with one thread, which then has two.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "palimpsest/function_ref.h"

namespace palimpsest::experiments::history {

/// Writes the text and ends the process at once; may be called by any of its threads.
using LastWords = std::function<void(std::string_view)>;

/// Runs `work` in a process of its own and kills that (SIGKILL) after a time. Throws
/// std::runtime_error with its output if it has written anything, has thrown, or has ended
/// otherwise than by this kill; Interrupted if this process is asked to end, by SIGINT or SIGTERM.
void run_until_killed(std::chrono::microseconds until_kill,
                      FunctionRef<void(const LastWords&)> work);

}  // namespace palimpsest::experiments::history
