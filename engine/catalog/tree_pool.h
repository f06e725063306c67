// Trees for tables and indexes: given out empty, returned full, and emptied in the background.
//
// A dropped table or index leaves a tree full of records. Emptying it takes as many changes as it
// has records, so no caller waits for it: small transactions remove the records and purge the
// ghosts, which frees the pages as any removal does, until one empty root is left. Then the tree is
// vacant, and the next table or index gets it. So the root page of a dropped table is not freed,
// and trees are never deleted. Memory has places for a limited number of roots: a caller that drops
// and makes tables faster than trees are emptied waits for a tree, a moment each time, and is
// refused when there is no room. Trees with many records take turns.
//
// Replaced trees return later, when no reader needs them (TreeSource): the pool asks their source
// when a tree is taken, and periodically by the thread, as long as it expects some.
//
// The state of a tree is not stored: at opening, every tree with a name of this pool that no table
// uses is vacant or waits. Trees that memory has no room for, or with a page that cannot be read,
// stay closed until the next opening, and retain their space until then. A crash at any point
// leaves a tree that is emptied later.
// Invariant: (1) a tree is in exactly one state: given out, vacant, waiting to be emptied, or
// closed.
//
//   given out --give_back()--> waiting --emptied--> vacant --take()--> given out
//                                 \--damaged page--> closed
//
// Latching: mutex_ over the lists, held briefly, never across I/O. A thread of its own empties. A
// caller that waits for a tree holds its owner latch, and perhaps the snapshot, log space or slot
// that emptying needs: so it waits for at most `patience`, and then makes a tree. Without room for
// that, it waits as long as there is progress within each `patience`, for at most kRoomPatience.
// Thread-safety: all functions, from any thread, except open(), start() and stop(); and except
// step(), which one thread at a time may call, while no background thread works.
// Failure: take() as TreeCatalog::make(). A tree that cannot be emptied is tried again later, after
// the others, and retains its space until then. One with a damaged page is closed.
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
#include <utility>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/ids.h"
#include "base/log_sink.h"
#include "btree/btree.h"
#include "txn/transactions.h"
#include "txn/tree_catalog.h"

namespace palimpsest::engine {

/// Prefix of the names of this pool's trees in the catalog; a number follows.
inline constexpr std::string_view kTreeNamePrefix = "tree-";

/// An owner of trees that it will return over time.
class TreeSource {
 public:
  TreeSource(const TreeSource&) = delete;
  TreeSource& operator=(const TreeSource&) = delete;

  /// Returns what it can to the pool; whether there are trees that it cannot return yet.
  virtual bool give_back_replaced() noexcept = 0;

 protected:
  TreeSource() = default;
  ~TreeSource() = default;
};

class TreePool {
 public:
  /// Both references outlive this. `patience`: how long a caller waits for a tree while many are
  /// being emptied. Some trees can only be emptied later, perhaps because of the caller itself.
  /// `log` hears of trees that are closed.
  static constexpr std::chrono::milliseconds kPatience{100};
  TreePool(txn::TreeCatalog& catalog, txn::Transactions& transactions,
           std::chrono::milliseconds patience = kPatience, LogSink log = {})
      : catalog_(catalog), transactions_(transactions), patience_(patience), log_(std::move(log)) {}
  /// Stops the thread.
  ~TreePool();
  TreePool(const TreePool&) = delete;
  TreePool& operator=(const TreePool&) = delete;

  /// Whether a tree of that name is this pool's.
  [[nodiscard]] static bool is_name(std::string_view name) noexcept;

  /// Finds this pool's trees; those not in `used` are vacant or wait to be emptied. No other thread
  /// uses this. `source` (null: none) exists as long as trees are taken and the background works.
  void open(const std::set<TreeId>& used, TreeSource* source = nullptr);

  /// Takes an empty tree, as part of a call of `inside`. If none is vacant, waits a moment for one
  /// if many are being emptied, and otherwise makes one durably, in a transaction of its own.
  /// Throws out_of_memory if there is no room for that.
  [[nodiscard]] btree::BTree& take(const txn::Transaction& inside);
  /// Returns trees that are not used any more.
  void give_back(std::span<btree::BTree* const> trees) noexcept;
  /// The source will return trees later: from now on the thread asks it periodically.
  void expect_some() noexcept;

  /// Empties trees in the background until stop(). May be started again.
  void start();
  void stop() noexcept;
  /// Partly empties the first waiting tree, for use without the background thread. False if none
  /// waits, or if there was no progress: for lack of log space, or because of an old snapshot.
  bool step();

  /// For a caller that needs space: waits until the background has emptied a tree, or made some
  /// steps. False if there was no progress within the patience, or no tree waits. Throws what
  /// require_not_over() throws, which is called repeatedly.
  [[nodiscard]] bool await_steps(FunctionRef<void()> require_not_over);

  /// Whether it is given out: not vacant, not waiting to be emptied, and not closed for lack of
  /// memory.
  [[nodiscard]] bool is_given_out(TreeId tree) const;

  /// The number of trees waiting to be emptied.
  [[nodiscard]] std::size_t waiting() const;

 private:
  enum class Removed { some, none, held };
  struct Waiting {
    btree::BTree* tree;
    std::chrono::steady_clock::time_point due{};  ///< not before, in the background
    int steps = 0;                                ///< in its current turn
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
  void set_aside(btree::BTree& tree, const char* cause) noexcept;
  void report_closed(TreeId tree, std::string_view cause) const noexcept;
  // These work on a waiting tree; false if there was nothing to do, or no progress:

  [[nodiscard]] txn::TransactionPtr begin_emptying();
  [[nodiscard]] bool empty_some(btree::BTree& tree);
  [[nodiscard]] Removed remove_some(btree::BTree& tree);
  [[nodiscard]] bool resolve_some(btree::BTree& tree);
  [[nodiscard]] std::size_t purge_leaves_of(btree::BTree& tree, std::span<const std::string> keys);
  [[nodiscard]] bool purge_some(btree::BTree& tree);
  [[nodiscard]] bool merge_some(btree::BTree& tree);

  txn::TreeCatalog& catalog_;
  txn::Transactions& transactions_;
  std::chrono::milliseconds patience_;
  const LogSink log_;
  TreeSource* source_ = nullptr;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable emptied_;
  std::condition_variable stepped_;
  // Protected by mutex_; with capacity for all trees, so that give_back() does not fail:
  std::vector<btree::BTree*> vacant_;
  std::vector<Waiting> waiting_;
  std::vector<TreeId> closed_;     ///< memory has no room for them, or a page is damaged
  std::size_t trees_ = 0;          ///< of this pool
  std::uint64_t next_number_ = 1;  ///< for a name
  std::uint64_t steps_ = 0;        ///< steps that made progress
  std::uint64_t emptied_count_ = 0;
  bool expects_some_ = false;                       ///< from source_
  std::chrono::steady_clock::time_point ask_at_{};  ///< when to ask source_, while it does
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace palimpsest::engine
