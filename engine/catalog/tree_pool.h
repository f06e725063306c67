// Trees for tables and indexes: given out empty, taken back full, and emptied in the background.
//
// A table or an index that was dropped leaves a tree full of records. Emptying it takes as many
// changes as it has records, so it is nobody's call that waits for it: small transactions remove
// the records and purge the ghosts, which gives the pages back as any removal does, until one empty
// root is left. That tree is vacant: the next table or index gets it. So the root page of a dropped
// table is not freed, and no tree is ever unmade. Memory has places for so many: who drops and
// makes faster than trees are emptied waits for one, a moment each time, and is refused when there
// is no room. A tree of many records lets the others have turns.
//
// Trees that were replaced come back later, when no reader needs them (TreeSource): their source is
// asked when a tree is taken, and now and then by the thread, as long as it expects some.
//
// What is vacant, or waits to be emptied, stands nowhere: at opening it is every tree of this
// store's names that no table names; those that memory has no room for, or that have a page that
// cannot be read, stay closed until the next opening: what they have is in use until then. A crash
// at any point leaves a tree that is emptied later.
// Invariant: (1) a tree is given out, or vacant, or waits to be emptied, or is closed: one of them.
//
// Latching: mutex_ over the lists, held briefly, never across I/O. A thread of its own empties.
//           Whoever waits for a tree keeps his owner latch, and perhaps the snapshot, the log or
//           the slot that emptying needs: so he waits for `patience` at most, and then makes one.
//           Without room for that he waits as long as something is done within each `patience`,
//           for kRoomPatience at most.
// Thread-safety: all functions, from any thread, but for open(), start() and stop(), and step(),
//          which is one thread's at a time, and nobody's while the background works.
// Failure: take() as Catalog::make(). A tree that cannot be emptied is tried again later, after the
//          others; the space it takes is in use until then. One with a damaged page is closed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/ids.h"
#include "btree/btree.h"
#include "txn/transactions.h"
#include "txn/tree_catalog.h"

namespace palimpsest::engine {

/// What the names of this store's trees begin with in the catalog; a number follows.
inline constexpr std::string_view kTreeNamePrefix = "tree-";

/// Who has trees that it will give back by and by.
class TreeSource {
 public:
  TreeSource(const TreeSource&) = delete;
  TreeSource& operator=(const TreeSource&) = delete;

  /// Gives back to the store what can be; whether there are some that cannot yet.
  virtual bool give_back_replaced() noexcept = 0;

 protected:
  TreeSource() = default;
  ~TreeSource() = default;
};

class TreePool {
 public:
  /// Both outlive it. `patience`: how long somebody waits who needs a tree while many are being
  /// emptied. Some can only be emptied later, perhaps for his own sake.
  TreePool(TreeCatalog& catalog, txn::Transactions& transactions,
           std::chrono::milliseconds patience = std::chrono::milliseconds(100))
      : catalog_(catalog), transactions_(transactions), patience_(patience) {}
  /// Stops.
  ~TreePool();
  TreePool(const TreePool&) = delete;
  TreePool& operator=(const TreePool&) = delete;

  /// Whether a tree of that name is of this store.
  [[nodiscard]] static bool is_name(std::string_view name) noexcept;

  /// Learns which trees there are; those that are not `used` wait to be emptied. Alone. `source`
  /// is there as long as trees are taken, and the background works; null: none.
  void open(const std::set<TreeId>& used, TreeSource* source = nullptr);

  /// An empty tree for the caller. If none is vacant, waits a moment for one if many are being
  /// emptied, and otherwise makes one durably, in a transaction of its own. Throws out_of_memory if
  /// there is no room for that. It is part of a call of `inside`.
  [[nodiscard]] btree::BTree& take(const txn::Transaction& inside);
  /// Nobody uses these any more, nor will.
  void give_back(std::span<btree::BTree* const> trees) noexcept;
  /// The source has some that will come back later: it is asked for them from time to time.
  void expect_some() noexcept;

  /// Empties trees in the background until stop(). May be started again.
  void start();
  void stop() noexcept;
  /// Empties some of the first tree that waits, for whoever has no background; false if none waits,
  /// or if nothing could be done: for lack of log space, or for the sake of an old snapshot.
  bool step();

  /// Who needs space: waits until something has been taken out of trees in the background, until
  /// one is empty, or for some steps. False if nothing was within the patience, or no tree waits.
  /// Throws what require_not_over() does, which is asked again and again.
  [[nodiscard]] bool await_steps(FunctionRef<void()> require_not_over);

  /// Whether a table or index has it: not vacant, nor waiting to be emptied, nor closed.
  [[nodiscard]] bool is_given_out(TreeId tree) const;

  /// Trees that wait to be emptied.
  [[nodiscard]] std::size_t waiting() const;

 private:
  enum class Removed { some, none, held };
  struct Waiting {
    btree::BTree* tree;
    std::chrono::steady_clock::time_point due{};  ///< not before, in the background
    int steps = 0;                                ///< in this turn
  };

  void work();
  [[nodiscard]] btree::BTree* next_due();
  void ask_source(std::unique_lock<std::mutex>& lock);
  bool step(btree::BTree& tree);
  void try_step(btree::BTree& tree) noexcept;
  void note(btree::BTree& tree, bool any) noexcept;
  [[nodiscard]] btree::BTree* take_vacant();
  void await_vacant(std::unique_lock<std::mutex>& lock, bool has_room);
  void emptied(btree::BTree& tree);
  void set_aside(btree::BTree& tree) noexcept;
  // Of a tree that waits; false if there was nothing to do, or nothing could be done.

  [[nodiscard]] txn::TransactionPtr begin_emptying();
  [[nodiscard]] bool empty_some(btree::BTree& tree);
  [[nodiscard]] Removed remove_some(btree::BTree& tree);
  [[nodiscard]] bool resolve_some(btree::BTree& tree);
  [[nodiscard]] std::size_t purge_leaves_of(btree::BTree& tree, std::span<const std::string> keys);
  [[nodiscard]] bool purge_some(btree::BTree& tree);
  [[nodiscard]] bool merge_some(btree::BTree& tree);

  TreeCatalog& catalog_;
  txn::Transactions& transactions_;
  std::chrono::milliseconds patience_;
  TreeSource* source_ = nullptr;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable emptied_;
  std::condition_variable stepped_;
  // Protected by mutex_; room for all trees, so that giving back does not fail:
  std::vector<btree::BTree*> vacant_;
  std::vector<Waiting> waiting_;
  std::set<TreeId> closed_;        ///< that nobody has, and memory had no room for
  std::size_t trees_ = 0;          ///< of this store
  std::uint64_t next_number_ = 1;  ///< for a name
  std::uint64_t steps_ = 0;        ///< that have done something
  std::uint64_t emptied_count_ = 0;
  bool expects_some_ = false;                       ///< of source_
  std::chrono::steady_clock::time_point ask_at_{};  ///< while it does
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace palimpsest::engine
