// Undoes what aborted bulks have left, and gives back the space of what others have deleted and
// replaced, in the background.
//
// Writers settle the leaves that they come upon (btree/settler.h). The sweep visits all leaves of
// the trees that a bulk has changed, a few at a time, settles those that have its epoch, and purges
// them. When no page names an aborted bulk, the ledger lets go of it; a crash in between begins it
// again. Of one that has committed, and that everybody sees, it leaves alone the leaves in which it
// has created records only: there is no space to be given back.
//
// Argument that it misses no leaf of an aborted bulk: it goes on from a key only after a walk from
// there on has met no leaf of the epoch, and nobody brings records of the epoch to a key that was
// passed: splits and merges leave each record where its key belongs.
//
// Latching: none of its own but a mutex to sleep on. A thread of its own, if it is started.
// Thread-safety: step() from one thread at a time; wake() from any.
// Failure: what could not be done is tried again later: it sleeps without a limit only when neither
//          epochs nor ledger have a bulk. (An epoch goes before what its bulk has left, and without
//          a word to the sweep.) Whoever ends a bulk has entered it before, and wakes after that.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/catalog.h"
#include "engine/epochs/bulk_ledger.h"
#include "txn/transactions.h"
#include "versioning/bulk_epochs.h"

namespace palimpsest::engine {

class BulkSweep {
 public:
  /// All outlive it.
  BulkSweep(Catalog& trees, txn::Transactions& transactions, versioning::BulkEpochs& epochs,
            BulkLedger& ledger) noexcept
      : trees_(trees), transactions_(transactions), epochs_(epochs), ledger_(ledger) {}
  /// Stops.
  ~BulkSweep();
  BulkSweep(const BulkSweep&) = delete;
  BulkSweep& operator=(const BulkSweep&) = delete;

  /// In the background until stop(). May be started again.
  void start();
  void stop() noexcept;
  /// A bulk has ended.
  void wake() noexcept;
  /// Does some of what there is to do; false if there is nothing, or if nothing could be done.
  bool step();

 private:
  void work();
  bool try_step() noexcept;
  [[nodiscard]] bool sweep(const BulkLedger::Left& left);
  [[nodiscard]] bool settle(btree::BTree& tree, const std::vector<std::string>& keys);

  Catalog& trees_;
  txn::Transactions& transactions_;
  versioning::BulkEpochs& epochs_;
  BulkLedger& ledger_;
  // How far the sweep of first_left() has come:
  BulkEpoch sweeping_ = kNoEpoch;
  std::size_t tree_ = 0;  ///< of its trees
  std::string from_;      ///< key in that tree
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_woken_ = false;  ///< protected by mutex_, as the next
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace palimpsest::engine
