// What hangs off a page in memory and is never written with it: a mapping table, say.
//
// The pool knows nothing of it but this: a page in a frame has one Attached or none
// (Frame::attached). When the page leaves its frame, what hangs off it waits in the orphan registry
// (orphan_registry.h); when the page is brought in again, it hangs there before anybody can read
// the page. Whoever owns the content implements PageAttachment and gives it to the pool.
//
// Latching: each function says what the caller holds. None does I/O, takes a page latch, waits, or
//           throws.
#pragma once

#include <algorithm>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"

namespace palimpsest::buffer {

/// Base of what hangs off a page. It carries its own place in the orphan registry, so that becoming
/// an orphan needs no memory and cannot fail.
class Attached {
 public:
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

  /// What who reads the page without a latch may know of it (Frame::youngest). Protected as all of
  /// this is: by the page's latch, or by the orphan's shard.
  [[nodiscard]] Gsn youngest() const noexcept { return youngest_; }

 protected:
  Attached() = default;
  ~Attached() = default;

  /// Never falls while it hangs off a page, or waits.
  void raise_youngest(Gsn to) noexcept { youngest_ = std::max(youngest_, to); }
  void forget_youngest() noexcept { youngest_ = Gsn{0}; }

 private:
  friend class OrphanRegistry;

  Gsn youngest_{0};

  // Protected by the registry's shard while this is an orphan, unused otherwise.
  Attached* next_ = nullptr;
  PageId page_ = kNoPage;
};

/// What hangs off a page, and the page.
struct Hanging {
  Attached* what;
  MutableBytes page;
  bool page_changed = false;  ///< in what is never written
};

class PageAttachment {
 public:
  virtual ~PageAttachment() = default;
  PageAttachment(const PageAttachment&) = delete;
  PageAttachment& operator=(const PageAttachment&) = delete;

  /// The page is about to leave its frame, clean: makes sure of what waiting needs. False: it has
  /// to stay. Caller holds the exclusive latches of the page and its parent.
  [[nodiscard]] virtual bool prepare_detach(Hanging& hanging) noexcept = 0;

  /// After that, the page leaves its frame: what has to wait for its return, or null if nothing is
  /// left of it (it is destroyed then). Caller holds the same.
  [[nodiscard]] virtual Attached* detach(Attached& attached) noexcept = 0;

  /// The page comes back: what is to hang off it, or null if nothing is left (destroyed). The page
  /// is private to the caller, who may hold its parent exclusively.
  [[nodiscard]] virtual Attached* attach(Attached& attached) noexcept = 0;

  /// Drops what nobody needs any more; false if nothing is left (destroyed). Caller holds the
  /// page's exclusive latch, or the orphan's shard, which is a leaf of the latch order.
  [[nodiscard]] virtual bool prune(Attached& attached) noexcept = 0;
  /// The same for those of several pages, whose memory is brought in together; what is needed of
  /// them takes as little of it as it can from then on; null is left in the place of one of which
  /// nothing is left. Caller holds the exclusive latches of all these pages.
  virtual void prune_all(std::span<Hanging> hanging) noexcept = 0;

  /// The pool ends.
  virtual void destroy(Attached& attached) noexcept = 0;

 protected:
  PageAttachment() = default;
};

}  // namespace palimpsest::buffer
