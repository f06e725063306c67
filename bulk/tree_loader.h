// Fills a tree that only its maker sees until it commits: an index, or a table's rows in other
// columns.
//
// If the maker does not commit, the whole tree is returned to be emptied: so the records need not
// be its changes. They come in ascending order and are appended as leaves of their own
// (bulk/leaf_builder.h), a few MiB at a time, by transactions that commit before the maker does; so
// they survive if it commits. A tree of any size thus takes no log but the names of its pages, and
// no memory but that of the records being appended. Where records cannot be appended (few of them,
// or large values), they are inserted.
//
// Latching: none; no other thread knows the tree.
// Failure: as transactions; snapshot_too_old when the maker's snapshot was cancelled. What was
// appended is then emptied with the tree.
// Thread-safety: belongs to one thread, within a call of the maker.
#pragma once

#include <cstddef>
#include <span>

#include "btree/btree.h"
#include "btree/write_outcome.h"
#include "bulk/leaf_writer.h"
#include "bulk/record_buffer.h"
#include "txn/transactions.h"

namespace palimpsest::bulk {

class TreeLoader {
 public:
  /// All references outlive this.
  TreeLoader(txn::Transactions& transactions, txn::Transaction& maker, btree::BTree& tree)
      : transactions_(transactions), maker_(maker), tree_(tree) {}

  /// Lets the maker stop pinning the log, and throws if its snapshot was cancelled. The code that
  /// fills the tree calls this now and then.
  void go_on();
  /// Adds a record with a key greater than all before. Copies its bytes.
  void add(const btree::NewRecord& record);
  /// Writes the remaining records: the tree is complete.
  void finish();

 private:
  void append_kept();
  void append_all(std::span<const btree::NewRecord> records);
  void append_some(std::span<const btree::NewRecord> records, std::size_t& done);

  txn::Transactions& transactions_;
  txn::Transaction& maker_;
  btree::BTree& tree_;
  RecordBuffer kept_;
  LeafWriter writer_{tree_.descent().pool()};
};

}  // namespace palimpsest::bulk
