// Retries work that allocates pages: after no_space it reclaims space and tries again.
//
// Latching: called with no latch held, as SpaceReclaimer::reclaim().
// Failure: throws what the work throws; after no_space also what reclaim() throws.
#pragma once

#include <cstdint>
#include <string>

#include "palimpsest/error.h"

#include "btree/space_reclaimer.h"
#include "btree/write_context.h"

namespace palimpsest::btree {

/// More than one, because other threads may take what was reclaimed.
inline constexpr int kAttemptsForRoom = 4;

/// Rethrows that error; called from its handler. Adds what is held back, if anything.
[[noreturn]] inline void refuse_without_room(const Error& error, const std::string& held_back) {
  if (held_back.empty()) {
    throw;
  }
  throw Error(error.code(), std::string(error.what()) + "; " + held_back);
}

/// Needs about `pages` pages. When `work()` throws no_space, it has had no effect, or can continue
/// where it stopped.
template <class Work>
auto with_room(const WriteContext& by, std::uint64_t pages, const Work& work) {
  for (int attempt = 1;; ++attempt) {
    try {
      return work();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_space || by.reclaimer() == nullptr) {
        throw;
      }
      if (attempt == kAttemptsForRoom || !by.reclaimer()->reclaim(by, pages)) {
        refuse_without_room(error, by.reclaimer()->held_back());
      }
    }
  }
}

}  // namespace palimpsest::btree
