// Undoes what aborted bulks have left, and gives back the space of what others have deleted and
// replaced, in the background.
//
// Writers resolve the leaves that they come upon (btree/virtual_version_resolver.h). The sweep
// visits all leaves of the trees that a bulk has changed, a few at a time, resolves those that have
// its epoch, and purges them. When no page names an aborted bulk, the ledger lets go of it; a crash
// in between begins it again. Of one that has committed, and that everybody sees, it leaves alone
// the leaves in which it has created records only: there is no space to be given back.
//
// Argument that it misses no leaf of an aborted bulk: it goes on from a key only after a walk from
// there on has met no leaf of the epoch, and nobody brings records of the epoch to a key that was
// passed: splits and merges leave each record where its key belongs. What it has passed because it
// could not be read, or not be resolved, it remembers: the bulk is not forgotten then.
//
// What stays where it is: each bulk has a course of its own, and a page that cannot be read holds
// up neither the rest of its tree nor other bulks.
//
//   under way --all pages done--------------------------------> forgotten
//       |  \--a page was damaged--> held, told once --due------> under way
//       \-----anything else failed-> held, soon due --due------> under way
//
// A held bulk is due again after a pause that doubles each time; and at once when the trees that it
// is held by have been given back, since nobody shows what it reads there any more. So dropping the
// damaged table ends it. A committed bulk is not held by damage: it is about space only.
// A bulk may begin only on a table that few are held by: kHeldMax.
//
// Latching: mutex_, to sleep on and over the list of what is held; never with another latch.
//           A thread of its own, if it is started.
// Thread-safety: step() and open() from one thread at a time; others from any.
// Failure: what could not be done is tried again later: it sleeps without a limit only when neither
//          epochs nor ledger have a bulk. (An epoch goes before what its bulk has left, and without
//          a word to the sweep.) Whoever ends a bulk has entered it before, and wakes after that.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
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

namespace palimpsest::engine {

struct BulkSweepOptions {
  /// Before a bulk that is held by a damaged page is tried again, at first; twice as long each
  /// time.
  std::chrono::milliseconds pause{1'000};
  LogSink log;  ///< is told of such a bulk, once
};

class BulkSweep {
 public:
  /// All outlive it.
  BulkSweep(TreeCatalog& trees, txn::Transactions& transactions, versioning::BulkEpochs& epochs,
            BulkLedger& ledger, BulkSweepOptions options)
      : trees_(trees),
        transactions_(transactions),
        epochs_(epochs),
        ledger_(ledger),
        options_(std::move(options)) {}
  /// Stops.
  ~BulkSweep();
  BulkSweep(const BulkSweep&) = delete;
  BulkSweep& operator=(const BulkSweep&) = delete;

  /// Before anything else; outlives it.
  void open(const TreeOwners& owners) noexcept { owners_ = &owners; }
  /// In the background until stop(). May be started again.
  void start();
  void stop() noexcept;
  /// A bulk has ended, or trees were given back.
  void wake() noexcept;
  /// Does some of what there is to do; false if there is nothing, or if nothing could be done.
  bool step();

  /// Aborted bulks that damaged pages keep from being forgotten.
  [[nodiscard]] std::size_t held() const;
  /// So many of them may be held by one tree while others begin there.
  static constexpr std::size_t kHeldMax = 16;
  /// Before a bulk changes this tree: throws corruption, which says why the first one is held, if
  /// there are as many.
  void require_undone(TreeId tree) const;

 private:
  using SteadyClock = std::chrono::steady_clock;

  /// What a bulk is held by.
  struct Held {
    std::set<TreeId> trees{};  ///< of which something was passed
    std::string why{};         ///< of the first
  };
  /// How far the sweep of one bulk has come.
  struct Course {
    std::size_t tree = 0;                ///< of its trees
    std::string from{};                  ///< key in that tree
    Held passed{};                       ///< what this one has come by in vain
    SteadyClock::time_point due{};       ///< not before
    std::chrono::milliseconds pause{0};  ///< before the next one
    bool is_told = false;
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

  TreeCatalog& trees_;
  txn::Transactions& transactions_;
  versioning::BulkEpochs& epochs_;
  BulkLedger& ledger_;
  const BulkSweepOptions options_;
  const TreeOwners* owners_ = nullptr;
  std::map<BulkEpoch, Course> courses_;  ///< step()'s
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // Protected by mutex_:
  std::map<BulkEpoch, Held> held_;
  bool is_woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace palimpsest::engine
