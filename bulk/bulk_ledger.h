// Which bulks have left virtual versions in which trees: what a crash must not forget (I-9).
//
// A bulk that changes trees with records enters itself here, durably, before the first change. Its
// commit takes the entry out, as one of its changes: so a bulk has committed if, and only if, its
// entry is gone, at every moment and after every crash. What is found at opening has not.
//
//   begin -> (add) -> commit_within -> ended(true)
//                                   \-> ended(false) -> swept -> forget
//
// One that has left something on a page that cannot be read stays, as long as the tree is
// anybody's.
//
// An entry that is left names an aborted bulk, whose changes writers undo where they meet them, and
// a sweep everywhere (bulk_sweep.h); after that it goes. Of a bulk that has committed the trees are
// remembered, in memory, until they have been swept.
//
// On disk: the tree kBulksTree, made with the first bulk; key: epoch, 8 bytes, big-endian; value:
// ids of trees, 4 bytes each, little-endian. The key 0 has the next epoch, 8 bytes, little-endian:
// none is used twice.
// Latching: mutex_ over the list, held briefly, never across I/O; beginning_ across begin() and
//           add(). Thread-safety: all functions, from any thread, but for open().
// Memory: what is kept of each bulk counts as memory of versions (versioning/entry_memory.h).
// Failure: as transactions; corruption for a record that is none; begin(): too_many_bulks. Nothing
//          has changed then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/ids.h"
#include "btree/write_context.h"
#include "txn/transactions.h"
#include "txn/tree_catalog.h"
#include "versioning/bulk_epochs.h"
#include "versioning/entry_allocator.h"
#include "versioning/entry_memory.h"

namespace palimpsest::engine {

inline constexpr std::string_view kBulksTree = "bulks";

/// What the ledger says.
struct StoredBulks {
  std::map<BulkEpoch, std::vector<TreeId>> aborted;  ///< none of them has committed
  std::uint64_t next = 1;                            ///< an epoch that was never used
};
/// Of a database that nobody is changing. Throws corruption.
[[nodiscard]] StoredBulks read_bulks(TreeCatalog& trees);

class BulkLedger {
 public:
  /// All outlive it.
  BulkLedger(TreeCatalog& trees, txn::Transactions& transactions, versioning::BulkEpochs& epochs,
             versioning::EntryMemory& memory) noexcept
      : trees_(trees),
        transactions_(transactions),
        epochs_(epochs),
        entries_(Entries::allocator_type(memory)) {}

  /// Enters what was left as aborted. Alone.
  void open();

  // A bulk, in a call of its transaction

  struct Begun {
    BulkEpoch epoch = kNoEpoch;
    versioning::CommitStatus* commit_status =
        nullptr;  ///< of what it changes, decided with its transaction
  };
  /// Whether begin() has room for another.
  [[nodiscard]] bool has_room() const;
  /// One that is about to change these trees. Durable when it returns.
  [[nodiscard]] Begun begin(const txn::Transaction& inside, std::span<btree::BTree* const> trees);
  /// Of one that runs: these as well.
  void add(const txn::Transaction& inside, BulkEpoch epoch, std::span<btree::BTree* const> trees);
  /// Within its transaction, before that commits. False: a conflict.
  [[nodiscard]] bool commit_within(const btree::WriteContext& by, BulkEpoch epoch);
  /// Its transaction has ended, and its commit status says how.
  void ended(BulkEpoch epoch, bool committed) noexcept;

  // What is left of it

  struct Left {
    BulkEpoch epoch = kNoEpoch;
    std::vector<TreeId> trees;
    bool is_aborted = false;
  };
  /// The oldest for which is_wanted(epoch) of those that were aborted, or have committed and
  /// everybody sees; or nothing. `is_wanted` takes no latch.
  [[nodiscard]] std::optional<Left> first_left(FunctionRef<bool(BulkEpoch)> is_wanted) const;
  /// How many were aborted, and are not forgotten yet.
  [[nodiscard]] std::size_t aborted() const;
  /// Whether one has committed that somebody does not see yet: it will be left by itself.
  [[nodiscard]] bool has_unretired() const;
  /// Whether there is none, and none that runs or waits for readers: nothing will be left by
  /// itself.
  [[nodiscard]] bool is_empty() const;
  /// Its trees have been swept: of an aborted one nothing is left on any page.
  void forget(const Left& left);

 private:
  enum class State : std::uint8_t { running = 0, committed, aborted };
  using Trees = std::vector<TreeId, versioning::EntryAllocator<TreeId>>;
  struct Entry {
    Entry(Trees changed, State at) noexcept : trees(std::move(changed)), state(at) {}

    Trees trees;
    State state;
  };
  using Entries = std::map<BulkEpoch, Entry, std::less<>,
                           versioning::EntryAllocator<std::pair<const BulkEpoch, Entry>>>;

  [[nodiscard]] btree::BTree& tree(const txn::Transaction& inside);
  void enter(BulkEpoch epoch, const std::vector<TreeId>& trees, State state);
  [[nodiscard]] static Left left_of(BulkEpoch epoch, const Entry& entry);
  void store(const txn::Transaction& inside, BulkEpoch epoch, const std::vector<TreeId>& trees,
             bool is_new);

  TreeCatalog& trees_;
  txn::Transactions& transactions_;
  versioning::BulkEpochs& epochs_;
  mutable std::mutex beginning_;
  std::uint64_t next_ = 1;  ///< protected by beginning_
  mutable std::mutex mutex_;
  Entries entries_;  ///< protected by mutex_
};

}  // namespace palimpsest::engine
