// What a handle of the public API leads to belongs to the process that made it.
//
// A child of fork() that has the handle, too, is refused by every call, and its destructors do
// nothing: what they would end is the parent's, and half of it, the threads, is not there. So what
// they leave behind stays in the child's memory until it ends.
// Thread-safety: any thread; nothing is waited for, since the child would wait for ever.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/process_mark.h"

namespace palimpsest::detail {

/// Throws invalid_argument: the database at `path` was opened by process `process`.
[[noreturn]] void refuse_other_process(std::string_view path, int process);

/// As the destructor of the state, whose member `owner` is a ProcessMark; nothing in a child.
template <class State>
void end_of(std::unique_ptr<State>& state) noexcept {
  if (state != nullptr && !state->owner.is_of_this_process()) [[unlikely]] {
    static_cast<void>(state.release());
  }
  state.reset();
}

/// The same of what `state` was, which becomes what `from` has.
template <class State>
void take_over(std::unique_ptr<State>& state, std::unique_ptr<State>& from) noexcept {
  std::unique_ptr<State> taken = std::move(from);
  end_of(state);
  state = std::move(taken);
}

}  // namespace palimpsest::detail
