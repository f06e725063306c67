// Finds space that is not needed any more, when no free pages are left.
//
// A removed record leaves a ghost, which keeps its space, and the pages of a large value, until its
// leaf is written to again (btree/btree.h). On a full disk nothing is written, and after opening it
// is unknown which leaves have ghosts (versioning/ghost_hints.h). So a writer that is about to fail
// with no_space calls reclaim() first.
// reclaim() purges the leaves of all tables, from where the last round stopped, until it has the
// wanted pages and some more, or has seen all leaves. There is one round at a time, for all waiting
// writers. So that a caller that keeps retrying does not spend that time again and again, a long
// round through everything is followed by a pause as long, unless records are removed. A removal is
// noted when it is made; so a round that runs before the removed records can be purged, and finds
// too little, may be followed by that pause.
// reclaim() also returns replaced trees that no reader needs any more. If there is nothing else,
// but dropped or replaced trees are being emptied, it waits for some of that (catalog/tree_pool.h).
// It does not find: what some transaction may still see; records of aborted bulks in leaves where
// these have deleted or replaced nothing (bulk/bulk_sweep.h undoes them); and in each tree, what
// lies behind a leaf that cannot be read.
//
// Argument that it may walk through a tree although its table is dropped meanwhile: trees stay open
// until the database is closed, and unneeded ghosts may be purged from any tree, whichever table
// owns it.
//
// Latching: the round is a mutex, held across I/O, under a transaction's owner latch; a thread that
// waits for it holds no page latch. Its holder waits for the log and for pages, not for
// transactions; and for the tree pool's thread only as long as that one's patience, because that
// thread may need log space that this transaction pins. Either wait ends when the transaction is
// asked to end, because other transactions wait for that log.
// Thread-safety: all functions, from any thread, except open().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/ids.h"
#include "btree/space_reclaimer.h"
#include "engine/catalog/table_catalog.h"
#include "engine/catalog/tree_pool.h"
#include "txn/transactions.h"

namespace palimpsest::engine {

class ReclaimableSpace final : public btree::SpaceReclaimer {
 public:
  /// Called before transactions begin; all arguments outlive them.
  void open(TableCatalog& tables, TreePool& trees, txn::Transactions& transactions) noexcept {
    tables_ = &tables;
    trees_ = &trees;
    transactions_ = &transactions;
  }

  [[nodiscard]] bool reclaim(const btree::WriteContext& by, std::uint64_t pages) override;
  [[nodiscard]] std::string held_back() const override;

 private:
  [[nodiscard]] bool purge_tables(const btree::WriteContext& by, std::uint64_t pages);
  [[nodiscard]] std::vector<btree::BTree*> trees_from_last() const;

  TableCatalog* tables_ = nullptr;
  TreePool* trees_ = nullptr;
  txn::Transactions* transactions_ = nullptr;
  std::atomic<std::uint64_t> found_{0};  ///< rounds that have found something
  std::timed_mutex round_;
  // Protected by round_:
  std::chrono::steady_clock::time_point not_before_;
  TreeId last_tree_ = kNoTree;  ///< where the last round has stopped
  std::string last_key_;        ///< in that tree
};

}  // namespace palimpsest::engine
