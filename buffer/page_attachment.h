// Attachments: what belongs to a page in memory and is never written with it, such as a mapping
// table.
//
// The pool knows nothing of an attachment but this: a page in a frame has one Attached or none
// (Frame::attached). When the page leaves its frame, its attachment waits in the orphan registry
// (orphan_registry.h); when the page is brought in again, the attachment is in place before any
// thread can read the page. The owner of the content implements PageAttachment and gives it to the
// pool.
//
// Latching: each function says what the caller holds. None does I/O, takes a page latch, waits, or
//           throws.
#pragma once

#include <algorithm>
#include <span>

#include "palimpsest/function_ref.h"

#include "base/bytes.h"
#include "base/ids.h"

namespace palimpsest::buffer {

/// Base of an attachment. It holds its own links for the orphan registry, so that becoming an
/// orphan needs no memory and cannot fail.
class Attached {
 public:
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

  /// A bound that a thread reading the page without a latch may use (Frame::youngest). Protected as
  /// the whole object is: by the page's latch, or by the orphan's shard.
  [[nodiscard]] Gsn youngest() const noexcept { return youngest_; }

 protected:
  Attached() = default;
  ~Attached() = default;

  /// The value never falls while the object is attached to a page, or is an orphan.
  void raise_youngest(Gsn to) noexcept { youngest_ = std::max(youngest_, to); }
  void forget_youngest() noexcept { youngest_ = Gsn{0}; }

 private:
  friend class OrphanRegistry;

  Gsn youngest_{0};

  // Protected by the registry's shard while this is an orphan, unused otherwise.
  Attached* next_ = nullptr;
  PageId page_ = kNoPage;
};

/// A page's attachment, and the page.
struct Hanging {
  Attached* what;
  MutableBytes page;
  bool page_changed = false;  ///< in bytes that are never written
};

class PageAttachment {
 public:
  virtual ~PageAttachment() = default;
  PageAttachment(const PageAttachment&) = delete;
  PageAttachment& operator=(const PageAttachment&) = delete;

  /// Called when the page is about to leave its frame, clean: ensures what an orphan needs. False:
  /// the page has to stay. Caller holds the exclusive latches of the page and its parent.
  [[nodiscard]] virtual bool prepare_detach(Hanging& hanging) noexcept = 0;

  /// Called after prepare_detach(), when the page leaves its frame. Returns what becomes the
  /// orphan, or null if nothing is left of it or the owner has *absorbed* it: it keeps what is left
  /// of the attachments of many pages in one object (both destroyed then). Caller holds the same
  /// latches.
  [[nodiscard]] virtual Attached* detach(Attached& attached, PageId page) noexcept = 0;

  /// Whether the attachment of any page is absorbed. If not, a thread that has read a page id from
  /// a swip finds what that page has, if anything, in the orphan registry.
  [[nodiscard]] virtual bool has_absorbed() const noexcept = 0;
  /// If the page's attachment is absorbed: makes it anew, calls enter(), and then forgets that it
  /// was absorbed. Throws std::bad_alloc and changes nothing. Caller is about to read the page,
  /// which no other thread can bring in meanwhile.
  virtual void restore(PageId page, FunctionRef<void(Attached&)> enter) = 0;
  /// prune() for what is absorbed: for a part of it, another one each time, or for all until
  /// is_enough().
  virtual void prune_some_absorbed() noexcept = 0;
  virtual void prune_all_absorbed(FunctionRef<bool()> is_enough) noexcept = 0;

  /// Called when the page comes back. Returns its attachment, or null if nothing is left
  /// (destroyed). The page is private to the caller, which may hold its parent exclusively.
  [[nodiscard]] virtual Attached* attach(Attached& attached) noexcept = 0;

  /// Drops what is not needed any more; false if nothing is left (destroyed). Caller holds the
  /// page's exclusive latch, or the orphan's shard, which is a leaf of the latch order.
  [[nodiscard]] virtual bool prune(Attached& attached) noexcept = 0;
  /// prune() for several pages; prefetches their memory together and shrinks what remains as
  /// far as it can. Sets `what` to null where nothing is left. Caller holds the exclusive latches
  /// of all these pages.
  virtual void prune_all(std::span<Hanging> hanging) noexcept = 0;

  /// Called when the pool ends.
  virtual void destroy(Attached& attached) noexcept = 0;

 protected:
  PageAttachment() = default;
};

}  // namespace palimpsest::buffer
