// The page of an entry that is not needed any more, where that page is at hand: lets the entry
// leave its table, and the table its page, as soon as they are not needed.
//
// Why: an entry with a writer that has ended, and versions that are gone, used to stay in its table
//      until a thread changed the page again or came to prune it. Most leaves of a large table are
//      changed seldom: each change met a table, and an entry of a record changed long ago, in
//      memory that no cache had. At the end of a transaction its leaves are in the cache; a moment
//      later, when its versions go, they mostly still are (decision 020). Umbra-MVCC 3.1.2 leaves
//      mapping tables alone at the end of a transaction, because pages would have to be found and
//      latched. Here the entry says which frame it was, and the latch is only tried. If another
//      thread has changed the page since, pruning is left to that thread: a page with many writers
//      is not latched once more for this.
//
// Invariants: (1) the frame that an entry names is a hint. It is verified under the frame's
//                 exclusive latch: the table attached to it must have this very entry. So it does
//                 not matter whether the frame holds another page by now, or the page has been
//                 split, evicted, or become an orphan.
//             (2) the caller knows the entry to exist: it has its writer, or a version in its
//                 chain, until the latch is held. From then on no other thread can take the entry
//                 away (entry.h (3)), so it may be made empty and taken out under the latch.
//                 Threads that have taken its last version may still be at its chain: an entry is
//                 taken out when is_empty() says so under the latch, and not because the caller has
//                 ended, or seen no version before.
//             (3) nothing that a reader can see changes, so the page's version stays: a thread that
//                 reads optimistically and finds no table is right, since no reader needs the
//                 earlier state.
// Latching: the frame's exclusive latch is tried, never waited for, so it may be held together with
//           a version buffer's latch, which stands behind it in the order; chains' latches are
//           taken under it as always.
// Failure: nothing fails; nothing allocates. Thread-safety: from any thread.
#pragma once

#include "buffer/frame.h"
#include "versioning/entry.h"
#include "versioning/mapping_table.h"

namespace palimpsest::versioning {

class Writer;

class UnchangedPage {
 public:
  /// Latches the page of this entry if it is as the last change of the record left it and no thread
  /// holds it.
  explicit UnchangedPage(const Entry& entry) noexcept;
  UnchangedPage(const UnchangedPage&) = delete;
  UnchangedPage& operator=(const UnchangedPage&) = delete;
  ~UnchangedPage();

  [[nodiscard]] bool holds() const noexcept { return frame_ != nullptr; }
  /// Called while the page is held: takes its entry, which is empty, out of its table, and detaches
  /// the table if it has no other. `into` may use them again; null: they are freed.
  void take_out(Entry& entry, Writer* into) noexcept;

 private:
  buffer::Frame* frame_ = nullptr;
  MappingTable* table_ = nullptr;
};

}  // namespace palimpsest::versioning
