// What transactions that have not ended have changed, to be taken back from the leaves of a damaged
// database as these are read.
//
// Undoing them as recovery does (recovery/undo_losers.h) finds each record by a descent, for which
// no page on the way may be damaged. Here the changes are read from the log, newest first, and
// sorted by tree and key; the reader of a tree's leaves, in the order of their keys, takes
// those of each leaf back on a copy of it. No two transactions have changed the same record, so
// only a record's own changes have an order.
// Memory: as ExternalSort; of the changes of one tree that are taken by themselves, all.
// Thread-safety: belongs to one thread.
// Failure: as ExternalSort. A transaction whose changes cannot be read is counted, and those of its
//          changes that were read are taken back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/bytes.h"
#include "base/ids.h"
#include "bulk/sort/external_sort.h"
#include "engine/recovery/transaction_table.h"
#include "wal/segments.h"

namespace palimpsest::engine {

/// A change of one record.
struct UnfinishedChange {
  TreeId tree = kNoTree;
  std::string key;
  std::string body;  ///< as in the log (btree/log/tree_record_format.h)
};

/// Shows the changes of these transactions, newest first of each. Returns how many transactions
/// cannot be read to their first change.
std::uint64_t visit_unfinished(const std::vector<LoserTransaction>& losers,
                               const wal::Segments& segments, std::uint32_t page_size,
                               FunctionRef<void(const UnfinishedChange&)> show);

/// The changes of one tree, ascending by key, and of each key newest first.
class ChangeSource {
 public:
  ChangeSource() = default;
  ChangeSource(const ChangeSource&) = delete;
  ChangeSource& operator=(const ChangeSource&) = delete;
  virtual ~ChangeSource() = default;

  /// Null at the end; valid until pop().
  [[nodiscard]] virtual const UnfinishedChange* front() = 0;
  virtual void pop() = 0;
};

/// Those of one tree, in memory.
class TreeChanges final : public ChangeSource {
 public:
  explicit TreeChanges(const std::vector<UnfinishedChange>& changes);

  [[nodiscard]] const UnfinishedChange* front() override {
    return changes_.empty() ? nullptr : &changes_.begin()->second;
  }
  void pop() override { changes_.erase(changes_.begin()); }

 private:
  std::multimap<std::string, UnfinishedChange> changes_;
};

/// Those of all trees, one tree after the other.
class SortedChanges final : public ChangeSource {
 public:
  SortedChanges(io::Device& device, const bulk::SortOptions& options) : sort_(device, options) {}

  void add(const UnfinishedChange& change);
  void finish();
  /// Goes on to this tree; those of trees before it are passed over.
  void begin(TreeId tree);

  [[nodiscard]] const UnfinishedChange* front() override {
    return change_ && change_->tree == tree_ ? &*change_ : nullptr;
  }
  void pop() override { read(); }

 private:
  void read();

  bulk::ExternalSort sort_;
  TreeId tree_ = kNoTree;
  std::optional<UnfinishedChange> change_;
};

}  // namespace palimpsest::engine
