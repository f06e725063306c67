// Makes the page file as short as what is in use: frees unneeded space, moves pages from
// the end of the file to free places before it, and cuts the end off.
//
// A round chooses where the file should end, a little behind as many pages as are in use, and walks
// through the inner nodes of all trees: pages behind that place get lower page ids
// (btree/structure_moves.cc). When these moves are durable the pages that were left are free, and
// the free end of the file goes. What transactions allocate meanwhile comes from the beginning of
// the file, as far as it is free; what was taken behind the place is for the next round. A round
// that has found no page to move walks through the leaves, too, and moves large values
// (btree/value_moves.h): what is left behind the place is theirs. Rounds end when the file is short
// enough, or when one has moved nothing.
// Not moved: a large value that a transaction or a version has a part in, or that no free pages
// have room for; the catalog's root, leaves of a bulk that has not hung them yet, and a tree's
// pages behind one that cannot be read. What of them lies behind the place is counted
// (CompactionReport).
//
// Concurrency: transactions and bulks continue. A step latches a page and its parent; it fails only
// for lack of memory or log space, or for a page that is being written, which is left for the next
// round. Nothing is cut off during a backup, which reads pages by their ids; pages may move
// meanwhile. A checkpoint sees a move as any change of two pages.
// Crash: each move is complete or has not happened. A page that is cut off was freed by a durable
// record, which is the log's last record on it. A replay of older records of the page makes the
// file longer again only as far as pages are in use according to the log (SpaceMap::recover()).
//
// Latching: none of its own; called with no latch held. Waits for the log and for pages.
// Thread-safety: one run at a time, which the owner ensures.
// Failure: Error no_space (of the log), io_error, failed, out_of_memory, and what `progress`
// throws: pages moved until then stay moved. Corruption in a tree is not reported here: the pages
// behind it stay where they are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "palimpsest/compaction.h"
#include "palimpsest/function_ref.h"

#include "base/ids.h"
#include "base/log_sink.h"
#include "btree/page_moves.h"
#include "btree/value_moves.h"
#include "buffer/page_file.h"
#include "buffer/space_map.h"
#include "engine/catalog/tree_pool.h"
#include "txn/transactions.h"
#include "txn/tree_catalog.h"
#include "wal/log.h"

namespace palimpsest::engine {

/// What a compaction works on; all outlive it.
struct CompactedParts {
  buffer::PageFile& file;
  buffer::SpaceMap& space;
  wal::Log& log;
  txn::Transactions& transactions;
  txn::TreeCatalog& trees;
  TreePool& store;
  /// Cuts off the free end of the file, if it has at least `pages_min` pages and no backup copies
  /// the file; returns the number of pages cut.
  std::function<std::uint64_t(std::uint64_t pages_min)> cut_tail;
  LogSink report{};  ///< hears of what the background could not do
};

/// Calls step(context) in a transaction of its own. True if it is to be called again, also if the
/// transaction had to end because other threads wait for the log.
[[nodiscard]] bool in_steps(txn::Transactions& transactions,
                            FunctionRef<bool(const btree::WriteContext&)> step);

class Compaction {
 public:
  Compaction(CompactedParts parts, const CompactionOptions& options)
      : parts_(std::move(parts)), options_(options) {}

  /// Skips purging: removed records stay where they are, and their leaves are not read.
  void leave_ghosts() noexcept { leaves_ghosts_ = true; }
  CompactionReport run();

 private:
  void empty_dropped_trees();
  void purge_all();
  void purge(TreeId id);
  std::uint64_t move_all(PageId from);
  std::uint64_t move_all_values(PageId from);
  void move_values(TreeId id, btree::ValueMoves& walk);
  void move(TreeId id, btree::PageMoves& walk);
  void move_root(TreeId id, btree::PageMoves& walk);
  void wait_for_frees();
  [[nodiscard]] std::uint64_t wanted_pages() const noexcept;
  [[nodiscard]] std::uint64_t in_use_behind(std::uint64_t page) const noexcept;
  [[nodiscard]] std::vector<TreeId> tree_ids() const;
  void tell();

  const CompactedParts parts_;
  const CompactionOptions& options_;
  bool leaves_ghosts_ = false;
  CompactionReport report_;
  std::uint64_t pages_to_move_ = 0;  ///< as known at the start of the round
};

}  // namespace palimpsest::engine
