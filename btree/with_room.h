// What takes pages, done again when there was no room and some could be found.
//
// Latching: called with no latch held, as SpaceReclaimer::reclaim().
// Failure: as the work; without room as reclaim(), too.
#pragma once

#include <cstdint>
#include <string>

#include "palimpsest/error.h"

#include "btree/space_reclaimer.h"
#include "btree/write_context.h"

namespace palimpsest::btree {

/// Others may be faster to take what was found.
inline constexpr int kAttemptsForRoom = 4;

/// Throws that error, called from its handler; it names what is held back, if there is something.
[[noreturn]] inline void refuse_without_room(const Error& error, const std::string& held_back) {
  if (held_back.empty()) {
    throw;
  }
  throw Error(error.code(), std::string(error.what()) + "; " + held_back);
}

/// Of about so many pages. `work()` has had no effect, or may go on where it was, when it throws
/// no_space.
template <class Work>
auto with_room(const WriteContext& by, std::uint64_t pages, const Work& work) {
  for (int attempt = 1;; ++attempt) {
    try {
      return work();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_space || by.reclaimer == nullptr) {
        throw;
      }
      if (attempt == kAttemptsForRoom || !by.reclaimer->reclaim(by, pages)) {
        refuse_without_room(error, by.reclaimer->held_back());
      }
    }
  }
}

}  // namespace palimpsest::btree
