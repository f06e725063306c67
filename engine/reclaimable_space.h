// Space of what nobody needs any more, found when pages can no longer be had.
//
// A removed record leaves a ghost, which keeps its place, and the pages of a large value, until its
// leaf is written to again (btree.h). On a disk that is full nothing is written, and after opening
// nobody knows where ghosts lie (versioning/ghost_hints.h). So whoever is about to fail with
// no_space has this go through the leaves of all tables first, from where the last one stopped,
// until there is what is wanted and some more, or all leaves were seen: one round at a time, for
// all who wait for room. What that costs is spent again and again by a caller who does not take no
// for an answer: after a long round through everything there is a pause as long, unless somebody
// removes records. A removal is noted when it is made; whoever looks before it is dead, and finds
// too little, may have that pause before him.
// Trees that were replaced, and that no reader needs any more, are given back then, too. If there
// is nothing else, but trees of dropped tables and replaced ones are being emptied, he waits for
// some of that (catalog/tree_pool.h). Not found: what somebody may still see, records that
// aborted bulks have left where they have deleted or replaced none (bulk/bulk_sweep.h undoes
// that), and what lies in a tree behind a leaf that cannot be read.
//
// Argument that a tree may be gone through whose table is dropped meanwhile: trees stay open until
// the database is closed, and a ghost that nobody needs may go from any tree, whoever's it is.
//
// Latching: the round is a mutex, held across I/O, under a transaction's owner latch; whoever waits
//           for it holds no latch of a page. Who has it waits for the log and for pages, not for
//           transactions, and for the tree store's thread only as long as that one's patience:
//           it may need the log that this one holds back. Either ends when the transaction is
//           asked to: others wait for that log.
// Thread-safety: all functions, from any thread, but for open().
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
  /// Before transactions begin; all outlive them.
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
