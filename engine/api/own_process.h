// The objects behind a handle of the public API belong to the process that made them.
//
// A child of fork() has the handle, too: every call on it is refused, and its destructors do
// nothing, because the objects are the parent's, and their threads do not exist in the child. So
// the memory stays in the child until it ends.
// Thread-safety: any thread. Nothing here waits, since the child would wait for ever.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/process_mark.h"

namespace palimpsest::detail {

/// Throws invalid_argument: process `process` opened the database at `path`.
[[noreturn]] void refuse_other_process(std::string_view path, int process);

/// Destroys the state, which has a ProcessMark `owner`; in a child, releases it without destroying
/// it.
template <class State>
void end_of(std::unique_ptr<State>& state) noexcept {
  if (state != nullptr && !state->owner.is_of_this_process()) [[unlikely]] {
    static_cast<void>(state.release());
  }
  state.reset();
}

/// As end_of() for the old `state`, which then takes what `from` has.
template <class State>
void take_over(std::unique_ptr<State>& state, std::unique_ptr<State>& from) noexcept {
  std::unique_ptr<State> taken = std::move(from);
  end_of(state);
  state = std::move(taken);
}

}  // namespace palimpsest::detail
