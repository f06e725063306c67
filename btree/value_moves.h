// Giving large values lower pages, so that the end of the file becomes free.
//
// A value is copied to free pages before the place where the file is to end, as a value with a
// stamp of its own, and the descriptor in its record is exchanged: one redo-only record of the log
// (a `replace` of the leaf that belongs to no transaction) takes the new pages into use and gives
// the old ones back. The value that the record stands for does not change, so no version is left,
// nothing is claimed, and no transaction notices.
//
//   copy      reads the value as any reader, writes the blocks; no latch is held    (1)
//   log       need_pages(): what is appended from now on is durable after (1)       (2)
//   exchange  the leaf latched exclusively: is the record as it was? append, replace (3)
//   free      the old pages, once the record of (3) is durable                      (4)
//
// Which records: one that names exactly this value, and that no transaction has a part in. So the
// descriptor stands nowhere else:
//   - no version names it, or changes bytes of it: a version hangs off the record's entry, and a
//     record whose entry has versions stays. Nor does a mark stand for one (a record that is marked
//     as removed stays), nor a shadow: a record with a virtual version, of a bulk, stays;
//   - no undo names it: a transaction that has changed the record has claimed it, so that its entry
//     is not empty, until it has ended or has undone that change. The undo of one that committed is
//     never needed: the record of (3) has a GSN above its commit, as that of a purge
//     (wal/transaction_log.h), and a cut of the log that keeps the one keeps the other;
//   - no list of values to be freed names it: those were replaced in their records before.
// Beside others:
//   reader       has read the descriptor before (3), reads the pages after they were used again:
//                a block's stamp tells, and it looks the record up again (large_value_store.h). A
//                reader that finds the old blocks in frames has the same bytes
//   snapshot     of any age: the record has no versions, so each snapshot sees it as it lies there
//   serializable what was read is remembered by key and validated by versions: there is none
//   writer       replaces or removes the value between (1) and (3): the record is not as it was,
//                and the copy's pages are given back. After (3): it gives up the new value
//   rewrite      read the value, and stores another one: it claims the record, (3) finds the entry
//   bulk         a plain record that it changes later gets the new descriptor as its shadow
//   purge        ghosts stay where they are, and are purged before
//   backup       a leaf that it copied before (3) gets the new descriptor by replay; the new blocks
//                are reported to it as those of any value (buffer/unlogged_writes.h)
//   checkpoint   as of any change of a leaf
// Crash: before the record of (3) is durable the leaf names the old pages, which are not used again
// (4); the copy's pages are free again, as no record names them. Afterwards the new ones are
// durable, by (2).
//
// Latching: the walk holds one leaf, shared, while it looks; the exchange one, exclusively; none
//           during I/O.
// Failure: Error as LargeValueStore and TransactionLog::reserve() throw; a value is moved or not,
//          and no page stays taken. A value that cannot be read stays.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "btree/btree.h"
#include "btree/write_context.h"

namespace palimpsest::btree {

/// How far the values of one tree have been moved.
struct ValueMoves {
  PageId from = kNoPage;  ///< values with pages from here on move to pages before
  std::string next{};     ///< the key to go on with; empty: the first

  // What it has done:
  std::uint64_t moved = 0;  ///< pages
  std::uint64_t left = 0;   ///< pages of values without room, or that belong to a transaction
};

/// Moves some of the tree's values, and the walk on. False: there are no more. Without a log
/// nothing is moved.
[[nodiscard]] bool move_values_down(BTree& tree, const WriteContext& by, ValueMoves& walk);

}  // namespace palimpsest::btree
