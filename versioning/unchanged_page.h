// The page of an entry that nobody needs any more, where that page is at hand: so that the entry
// leaves its table, and the table its page, as soon as they are not needed.
//
// Why: an entry whose writer has ended, and whose versions have gone, used to stay in its table
// until somebody changed the page again or came to prune it. Most leaves of a large table are
// changed seldom: each change met a table, and the entry of a record that somebody had changed long
// ago, in memory that no cache had. At the end of a transaction its leaves are in the cache; a
// moment later, when its versions go, they mostly still are (decision 020). Umbra-MVCC 3.1.2 leaves
// mapping tables alone at the end of a transaction, for pages would have to be found and latched;
// here the entry says which frame it was, the latch is only tried, and where anybody has changed
// the page since, he is left to prune it: a page that many write is not latched once more for this.
//
// Invariants: (1) the frame that an entry names is a hint. What counts is found under the frame's
//                 exclusive latch: that the table that hangs off it has this very entry. So it does
//                 not matter whether the frame holds another page by now, or the page has been
//                 split, evicted, or become an orphan.
//             (2) the caller knows the entry to exist: it has its writer, or a version in its
//                 chain, until the latch is held. From then on nobody else can take the entry away
//                 (entry.h (3)), so that it may be made empty and taken out under it. Others may
//                 still be at its chain, whose last version they have taken: an entry is taken
//                 out when is_empty() says so under the latch, and not because the caller has
//                 ended, or seen no version before.
//             (3) nothing that a reader can see changes, so the page's version stays: who reads
//                 optimistically and finds no table is right, since nobody needs what was before.
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
  /// Latches the page of this entry if it is as the last change of the record left it and nobody
  /// holds it.
  explicit UnchangedPage(const Entry& entry) noexcept;
  UnchangedPage(const UnchangedPage&) = delete;
  UnchangedPage& operator=(const UnchangedPage&) = delete;
  ~UnchangedPage();

  [[nodiscard]] bool holds() const noexcept { return frame_ != nullptr; }
  /// Of a page that is held: takes its entry, which is empty, out of its table, and the table off
  /// the page if it has no other. `into` may use them again; null: they are freed.
  void take_out(Entry& entry, Writer* into) noexcept;

 private:
  buffer::Frame* frame_ = nullptr;
  MappingTable* table_ = nullptr;
};

}  // namespace palimpsest::versioning
