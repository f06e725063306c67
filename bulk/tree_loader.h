// Fills a tree that is its maker's alone until he commits: an index, or a table's rows in other
// columns.
//
// The tree goes back to be emptied if he does not commit: so the records need not be his changes.
// They come in ascending order and are appended as leaves of their own (bulk/leaf_builder.h), some
// mebibytes at once, by transactions that commit before the maker does and so survive if he does:
// a tree of any size takes no log for itself but the names of its pages, and no memory but for what
// is appended. Where nothing can be appended, few records or large values, they are inserted.
//
// Latching: none; nobody else knows of the tree.
// Failure: as transactions; snapshot_too_old when the maker's snapshot was given up. What was
//          appended is then emptied with the tree.
// Thread-safety: belongs to one thread, within a call of the maker.
#pragma once

#include <cstddef>
#include <span>

#include "btree/btree.h"
#include "btree/write_outcome.h"
#include "bulk/leaf_writer.h"
#include "bulk/record_buffer.h"
#include "txn/transactions.h"

namespace palimpsest::engine {

class TreeLoader {
 public:
  /// All outlive it.
  TreeLoader(txn::Transactions& transactions, txn::Transaction& maker, btree::BTree& tree)
      : transactions_(transactions), maker_(maker), tree_(tree) {}

  /// The maker holds no log back, and has not been told to give up: asked now and then by whoever
  /// fills.
  void go_on();
  /// Greater than all before. Its bytes are copied.
  void add(const btree::NewRecord& record);
  /// The tree has all.
  void finish();

 private:
  void append_kept();
  void append_all(std::span<const btree::NewRecord> records);
  void append_some(std::span<const btree::NewRecord> records, std::size_t& done);

  txn::Transactions& transactions_;
  txn::Transaction& maker_;
  btree::BTree& tree_;
  RecordBuffer kept_;
  btree::LeafWriter writer_{tree_.descent().pool()};
};

}  // namespace palimpsest::engine
