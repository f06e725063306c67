// What takes pages, done once more when there was no room and some could be found.
//
// Latching: called with no latch held, as SpaceReclaimer::reclaim().
// Failure: as the work; without room as reclaim(), too.
#pragma once

#include "palimpsest/error.h"

#include "btree/space_reclaimer.h"
#include "btree/write_context.h"

namespace palimpsest::btree {

/// `work()` has had no effect, or may go on where it was, when it throws no_space.
template <class Work>
auto with_room(const WriteContext& by, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space || by.reclaimer == nullptr ||
        !by.reclaimer->reclaim(by)) {
      throw;
    }
  }
  return work();
}

}  // namespace palimpsest::btree
