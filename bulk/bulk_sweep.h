// Undoes what aborted bulks left on pages, and frees the space that committed bulks deleted or
// replaced, in the background.
//
// Writers resolve the virtual versions of the leaves they visit (btree/virtual_version_resolver.h).
// The sweep visits all leaves of the trees that a bulk has changed, a few at a time, resolves those
// with its epoch, and purges them. When no page names an aborted bulk any more, the ledger forgets
// the bulk; after a crash in between, the sweep starts again. For a committed bulk that every
// snapshot sees, it skips leaves in which the bulk only created records: there is no space to free.
//
// Argument that it misses no leaf of an aborted bulk: it advances past a range of keys only after a
// walk through them has met no leaf of the epoch, and no record of the epoch gets a key that was
// passed: splits and merges leave each record where its key belongs. A leaf that it passed because
// it could not be read or resolved is noted, and the bulk is not forgotten.
//
// Each bulk has a course of its own. So a page that cannot be read delays neither the rest of its
// tree nor other bulks:
//
//   under way --all pages done----------------------------------> forgotten
//       |  \--a page was damaged---> held, logged once --due-----> under way
//       \-----anything else failed-> held, due soon --due--------> under way
//
// A held bulk is due again after a pause that doubles each time; and at once when the trees that
// hold it have been returned to the pool, because their content is not shown any more. So dropping
// the damaged table ends the hold. Damage does not hold a committed bulk: only space is at stake.
// A bulk may begin only on a table that holds fewer than kHeldMax bulks.
//
// Latching: mutex_, to sleep on and over held_; never with another latch. A thread of its own, if
// it is started.
// Thread-safety: step() and open() from one thread at a time; the other functions from any.
// Failure: what failed is tried again later. The thread sleeps without a limit only when neither
// epochs nor ledger have a bulk. (An epoch is retired before its bulk's remains are swept, and
// without notice to the sweep.) A bulk is entered in the ledger before it ends, and its end wakes
// the thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/log_sink.h"
#include "bulk/bulk_ledger.h"
#include "bulk/tree_owners.h"
#include "txn/transactions.h"
#include "txn/tree_catalog.h"
#include "versioning/bulk_epochs.h"

namespace palimpsest::bulk {

struct BulkSweepOptions {
  /// Pause before a bulk held by a damaged page is tried again; doubles each time.
  std::chrono::milliseconds pause{1'000};
  LogSink log{};  ///< receives a message about such a bulk, once
};

class BulkSweep {
 public:
  /// All references outlive this.
  BulkSweep(txn::TreeCatalog& trees, txn::Transactions& transactions,
            versioning::BulkEpochs& epochs, BulkLedger& ledger, BulkSweepOptions options)
      : trees_(trees),
        transactions_(transactions),
        epochs_(epochs),
        ledger_(ledger),
        options_(std::move(options)) {}
  /// Stops the thread.
  ~BulkSweep();
  BulkSweep(const BulkSweep&) = delete;
  BulkSweep& operator=(const BulkSweep&) = delete;

  /// Called before any other function. `owners` outlives this.
  void open(const TreeOwners& owners) noexcept { owners_ = &owners; }
  /// Runs the sweep in the background until stop(). May be started again.
  void start();
  void stop() noexcept;
  /// Called when a bulk has ended, or trees were returned to the pool.
  void wake() noexcept;
  /// Does a part of the work; false if there is none, or if none could be done.
  bool step();

  /// The number of aborted bulks that damaged pages keep from being forgotten.
  [[nodiscard]] std::size_t held() const;
  /// Bulks may begin on a tree that holds fewer than this many.
  static constexpr std::size_t kHeldMax = 16;
  /// Called before a bulk changes this tree: throws corruption, with the reason why the first one
  /// is held, if it holds kHeldMax bulks.
  void require_undone(TreeId tree) const;

 private:
  using SteadyClock = std::chrono::steady_clock;

  /// What holds a bulk.
  struct Held {
    std::set<TreeId> trees{};  ///< trees of which a leaf was passed
    std::string why{};         ///< the error of the first passed leaf
  };
  /// How far the sweep of one bulk has come.
  struct Course {
    std::size_t tree = 0;                ///< index into the bulk's trees
    std::string from{};                  ///< key in that tree
    Held passed{};                       ///< leaves passed by this round
    SteadyClock::time_point due{};       ///< not before; zero: now
    std::chrono::milliseconds pause{0};  ///< before the next round
    bool is_told = false;                ///< that it is held
    bool has_failed = false;             ///< in its last step
  };

  void work();
  bool try_step() noexcept;
  [[nodiscard]] std::chrono::milliseconds pause_until_due() const;
  void end_holds_by_trees_given_back();
  [[nodiscard]] bool is_owned(TreeId tree) const {
    return owners_ == nullptr || owners_->is_owned(tree);
  }
  bool sweep(const BulkLedger::Left& left, Course& course);
  void sweep_some(const BulkLedger::Left& left, Course& course);
  [[nodiscard]] bool resolve(btree::BTree& tree, const std::vector<std::string>& keys,
                             Course& course);
  void pass(TreeId tree, const Error& error, Course& course);
  void end(const BulkLedger::Left& left, Course& course);
  void hold(const BulkLedger::Left& left, Course& course);
  void tell(const BulkLedger::Left& left) const;
  void tell_failed(const BulkLedger::Left& left, Course& course,
                   std::string_view cause) const noexcept;

  txn::TreeCatalog& trees_;
  txn::Transactions& transactions_;
  versioning::BulkEpochs& epochs_;
  BulkLedger& ledger_;
  const BulkSweepOptions options_;
  const TreeOwners* owners_ = nullptr;
  std::map<BulkEpoch, Course> courses_;  ///< used by step() only
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // Protected by mutex_:
  std::map<BulkEpoch, Held> held_;
  bool is_woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace palimpsest::bulk
