// The ledger of bulks: which bulks have left virtual versions in which trees, in memory and on
// disk, so that a crash does not lose it (I-9).
//
// A bulk that changes trees with records enters itself here, durably, before the first change. Its
// commit removes the entry, as one of its changes: so a bulk has committed if, and only if, its
// entry is gone, at every moment and after every crash. An entry found at opening is of an aborted
// bulk.
//
//   begin -> (add) -> commit_within -> ended(true)
//                                   \-> ended(false) -> swept -> forget
//
// An entry that is left names an aborted bulk. Writers undo its changes where they meet them, and a
// sweep everywhere (bulk_sweep.h); then the entry is removed. If the bulk has left something on a
// page that cannot be read, the entry stays as long as a table or index owns the tree. The trees of
// a committed bulk are remembered, in memory, until they have been swept.
//
// On disk: the tree kBulksTree, made with the first bulk; key: epoch, 8 bytes, big-endian; value:
// ids of trees, 4 bytes each, little-endian. The key 0 has the next epoch, 8 bytes, little-endian,
// so that none is used twice.
// Latching: mutex_ over the entries, held briefly, never across I/O; beginning_ across begin() and
// add().
// Thread-safety: all functions, from any thread, except open().
// Memory: the entries count as memory of versions (versioning/entry_memory.h).
// Failure: as transactions; corruption for an invalid record; begin(): too_many_bulks. Nothing has
// changed then.
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

namespace palimpsest::bulk {

inline constexpr std::string_view kBulksTree = "bulks";

/// The content of the ledger on disk.
struct StoredBulks {
  std::map<BulkEpoch, std::vector<TreeId>> aborted;  ///< none of them has committed
  std::uint64_t next = 1;                            ///< an epoch that was never used
};
/// Adds what one record of the ledger's tree says. False, and nothing added: it is no such record.
[[nodiscard]] bool add_record(StoredBulks& bulks, ByteView key, ByteView value);
/// Reads the ledger of a database that no transaction is changing. Throws corruption.
[[nodiscard]] StoredBulks read_bulks(txn::TreeCatalog& trees);

class BulkLedger {
 public:
  /// All references outlive this.
  BulkLedger(txn::TreeCatalog& trees, txn::Transactions& transactions,
             versioning::BulkEpochs& epochs, versioning::EntryMemory& memory) noexcept
      : trees_(trees),
        transactions_(transactions),
        epochs_(epochs),
        entries_(Entries::allocator_type(memory)) {}

  /// Enters the bulks found on disk as aborted. No other thread uses this.
  void open();

  // These are called in a call of the bulk's transaction:

  struct Begun {
    BulkEpoch epoch = kNoEpoch;
    versioning::CommitStatus* commit_status =
        nullptr;  ///< of the bulk's changes, decided with its transaction
  };
  /// Whether begin() has room for another bulk.
  [[nodiscard]] bool has_room() const;
  /// Enters a bulk that is about to change these trees. Durable when it returns.
  [[nodiscard]] Begun begin(const txn::Transaction& inside, std::span<btree::BTree* const> trees);
  /// Adds these trees to a running bulk.
  void add(const txn::Transaction& inside, BulkEpoch epoch, std::span<btree::BTree* const> trees);
  /// Removes the entry, within the bulk's transaction, before it commits. False: a conflict.
  [[nodiscard]] bool commit_within(const btree::WriteContext& by, BulkEpoch epoch);
  /// The bulk's transaction has ended; its commit status says how.
  void ended(BulkEpoch epoch, bool committed) noexcept;

  // These deal with what a bulk has left:

  struct Left {
    BulkEpoch epoch = kNoEpoch;
    std::vector<TreeId> trees;
    bool is_aborted = false;
  };
  /// The oldest bulk, with is_wanted(epoch), that has aborted, or has committed and is seen by
  /// every snapshot; or nothing. `is_wanted` takes no latch.
  [[nodiscard]] std::optional<Left> first_left(FunctionRef<bool(BulkEpoch)> is_wanted) const;
  /// The number of aborted bulks that are not forgotten yet.
  [[nodiscard]] std::size_t aborted() const;
  /// Whether there is a committed bulk that some snapshot does not see: first_left() will return it
  /// later, without a further event.
  [[nodiscard]] bool has_unretired() const;
  /// Whether there is no entry, not even a running bulk or one that waits for readers: without a
  /// further event, first_left() will return nothing.
  [[nodiscard]] bool is_empty() const;
  /// The bulk's trees have been swept: an aborted one has left nothing on any page.
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

  txn::TreeCatalog& trees_;
  txn::Transactions& transactions_;
  versioning::BulkEpochs& epochs_;
  mutable std::mutex beginning_;
  std::uint64_t next_ = 1;  ///< protected by beginning_
  mutable std::mutex mutex_;
  Entries entries_;  ///< protected by mutex_
};

}  // namespace palimpsest::bulk
