// Who is asked for room before a change fails for want of it; implemented by whoever knows all
// trees.
//
// Latching: reclaim() is called with no latch held; it may do I/O and wait for the log.
// Thread-safety: all functions, from any thread.
#pragma once

namespace palimpsest::btree {

struct WriteContext;

class SpaceReclaimer {
 public:
  virtual ~SpaceReclaimer() = default;
  SpaceReclaimer(const SpaceReclaimer&) = delete;
  SpaceReclaimer& operator=(const SpaceReclaimer&) = delete;

  /// Pages could not be had, for a change on behalf of `by`: gives back what nobody needs any more.
  /// False if there was nothing. Throws transaction_too_old, failed, bad_alloc.
  [[nodiscard]] virtual bool reclaim(const WriteContext& by) = 0;

 protected:
  SpaceReclaimer() = default;
};

}  // namespace palimpsest::btree
