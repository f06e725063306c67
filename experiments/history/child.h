// A process that works until it is killed, and what it has said before.
//
// Its words are in a pipe before it ends, so that no kill silences it; and it does not outlive the
// process that has started it, however that one ends.
// Thread-safety: called by a process of one thread, which goes on as two.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "palimpsest/function_ref.h"

namespace palimpsest::experiments::history {

/// Says it and ends the process at once; may be called by any of its threads.
using LastWords = std::function<void(std::string_view)>;

/// Runs `work` in a process of its own and kills that one (SIGKILL) after a time. Throws
/// std::runtime_error with its words if it has said something, has thrown, or has ended otherwise
/// than by this kill; Interrupted if this process is asked to end, by SIGINT or SIGTERM.
void run_until_killed(std::chrono::microseconds until_kill,
                      FunctionRef<void(const LastWords&)> work);

}  // namespace palimpsest::experiments::history
