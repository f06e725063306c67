// One table as long as anybody knows it: its definition now, and who is about to change it.
//
// Handles share it. A definition (which indexes there are, which trees everything lies in) is
// immutable; a change makes a new one, which counts for the transaction that made it at once and
// for others once that has committed. Old ones are kept as long as the state: pointers to them stay
// good for whoever is in the middle of a call.
//
// Who may use what, with D the transaction that is changing the definition, if any:
//   D itself           reads and writes by the new definition
//   others, reading    by the one that counts; after reading, and before anybody sees what was
//                      read, they ask whether it still has that tree: one that was dropped may be
//                      another table's by then
//   others, writing    not at all: a conflict
// Rows in bulk: a definition may have other trees of rows than the one before it, filled by its
// definer alone, and other columns. Such a definition has a fate, decided with its transaction's
// commit: a snapshot from before that sees the definition that was replaced, whose trees stay as
// they are, by that one's format.
//
//   published, fate active -> announced -> dated -> committed, end_change(true)
//                        \-> aborted, end_change(false)
//
// Publishing comes before the announcement: a snapshot that is to see the rows was taken after the
// date was drawn, so it finds the new definition, and a fate that is announced at least (I-7). One
// that is not to see them, finds the old one by either. No answer changes while a snapshot lives.
// Indexes that a bulk makes of a table that it changes where it lies are trees of its own as well,
// in a definition without a fate of its own: it counts when the bulk has ended, as an ordinary
// change does, and for snapshots from then on (index_since).
// Invariants: (1) while a writer that is not D changes the table's trees, there is no D, or D
// waits.
//   A writer publishes that it changes something (Transactions::oldest()) before it reads definer_,
//   both sequentially consistent; D sets definer_, then waits until everybody that has published
//   has ended (Transactions::wait_for_writers()). Either the writer sees D, or D waits for it.
//             (2) the trees of a definition that was replaced are written to no more, and are not
//                 given back before the table is dropped, or the database closed.
//
// Thread-safety: reading from any thread. Changing by TableCatalog, under its mutex.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sync_point.h"
#include "btree/btree.h"
#include "engine/tables/table_format.h"
#include "txn/transaction.h"
#include "versioning/chain.h"
#include "versioning/fate.h"

namespace palimpsest::engine {

/// A table's format and the trees that its rows and its indexes' entries lie in.
struct TableDefinition {
  std::shared_ptr<const TableFormat> format;
  btree::BTree* rows = nullptr;
  std::vector<btree::BTree*> indexes;  ///< in the order of the format's
  /// By index: the clock when it began to count. Older snapshots see rows that have no entry in it.
  std::vector<std::shared_ptr<std::atomic<Gsn>>> index_since;
  /// Not null: its rows are those of this fate's transaction, and of later ones.
  std::shared_ptr<versioning::Fate> fate;
  /// What older snapshots see; null if the table was not there. Kept by the table.
  const TableDefinition* replaced = nullptr;
  /// Not none: this bulk, which changes the rows where they lie, has made the indexes from that
  /// number on. Until it has committed nobody else finds these: it leaves no virtual versions
  /// there.
  BulkEpoch made_by = kNoEpoch;
  std::size_t made_from = 0;

  /// Whether an index is a tree of this bulk's own.
  [[nodiscard]] bool is_made_by(BulkEpoch bulk, std::size_t number) const noexcept {
    return bulk != kNoEpoch && bulk == made_by && number >= made_from;
  }
  /// The indexes that come now are this bulk's.
  void begin_indexes_of(BulkEpoch bulk) noexcept {
    if (made_by != bulk) {
      made_by = bulk;
      made_from = indexes.size();
    }
  }
  void add_index(btree::BTree& tree) {
    indexes.push_back(&tree);
    index_since.push_back(std::make_shared<std::atomic<Gsn>>());
  }
  void remove_index(std::size_t number) {
    const auto at = static_cast<std::ptrdiff_t>(number);
    indexes.erase(indexes.begin() + at);
    index_since.erase(index_since.begin() + at);
  }

  /// It, or one that it has replaced.
  [[nodiscard]] bool has(const btree::BTree& tree) const noexcept {
    return &tree == rows || std::find(indexes.begin(), indexes.end(), &tree) != indexes.end() ||
           (replaced != nullptr && replaced->has(tree));
  }
  /// What a snapshot sees, null: the newest state. Null if the table was not there. Waits while
  /// that is being decided, for a few instructions.
  [[nodiscard]] const TableDefinition* as_of(const versioning::Viewer* viewer) const noexcept {
    const TableDefinition* seen = this;
    while (seen != nullptr && seen->fate != nullptr && !seen->is_seen_by(viewer)) [[unlikely]] {
      seen = seen->replaced;
    }
    return seen;
  }
  /// Of one with a fate.
  [[nodiscard]] bool is_seen_by(const versioning::Viewer* viewer) const noexcept {
    constexpr Gsn kNewest{std::numeric_limits<std::uint64_t>::max()};
    const Gsn snapshot = viewer == nullptr ? kNewest : viewer->snapshot;
    for (;;) {
      const versioning::Sight sight = fate->at(snapshot);
      if (sight != versioning::Sight::undecided) {
        return sight == versioning::Sight::visible;
      }
      PALIMPSEST_SYNC_POINT("engine.definition.undecided");
      std::this_thread::yield();
    }
  }
};

class TableState {
 public:
  explicit TableState(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// The definition that `by` sees; null by: who is in no transaction. Null: for him there is no
  /// such table, not yet or no longer.
  [[nodiscard]] const TableDefinition* visible_to(const txn::Transaction* by) const noexcept {
    const txn::Transaction* const definer = definer_.load();
    if (definer != nullptr && definer == by) [[unlikely]] {
      return changed_.load(std::memory_order_acquire);
    }
    return current_.load(std::memory_order_acquire);
  }
  /// What a reader in `by` sees, null: nothing. What the definer itself is filling in bulk it sees
  /// at once; what others have filled, as everybody does.
  [[nodiscard]] const TableDefinition* seen_by(const txn::Transaction* by,
                                               const versioning::Viewer* viewer) const noexcept {
    const TableDefinition* const definition = visible_to(by);
    if (definition == nullptr || definition->fate == nullptr) [[likely]] {
      return definition;
    }
    const bool is_own = by != nullptr && definer_.load() == by && !definition->fate->is_committed();
    return is_own ? definition : definition->as_of(viewer);
  }
  /// Whether another transaction is changing the definition: `by` must not write then. Asked after
  /// `by` has published that it writes: within Transaction::write() or statement().
  [[nodiscard]] bool is_changed_by_another(const txn::Transaction& by) const noexcept {
    const txn::Transaction* const definer = definer_.load();
    return definer != nullptr && definer != &by;
  }
  /// After reading a tree that visible_to() named: whether what was read was the table's. Its trees
  /// are not used for anything else before this says no.
  [[nodiscard]] bool still_has(const btree::BTree& tree,
                               const txn::Transaction* by) const noexcept {
    const TableDefinition* const definition = visible_to(by);
    return definition != nullptr && definition->has(tree);
  }

  /// Not null: `by` changes the table's rows in bulk, where they lie, and sees them so. For its own
  /// calls.
  [[nodiscard]] const versioning::Viewer* bulk_view(const txn::Transaction* by) const noexcept {
    const bool is_bulk = by != nullptr && definer_.load() == by && bulk_view_.bulk != kNoEpoch;
    return is_bulk ? &bulk_view_ : nullptr;
  }

  // For TableCatalog:

  /// Whether its definer has made another definition.
  [[nodiscard]] bool is_changed_by(const txn::Transaction& definer) const noexcept {
    return visible_to(&definer) != current_.load(std::memory_order_acquire);
  }
  /// The definer changes rows as this bulk from now on. Everything that others have done has been
  /// committed.
  void begin_bulk(BulkEpoch epoch, Gsn now) noexcept {
    bulk_view_ = {.snapshot = now, .mine = nullptr, .bulk = epoch};
    last_bulk_ = epoch;
  }
  /// The last that has changed rows where they lie.
  [[nodiscard]] BulkEpoch last_bulk() const noexcept { return last_bulk_; }
  /// From now on `by` changes the definition. Others write no more.
  void begin_change(const txn::Transaction& by) noexcept {
    changed_.store(current_.load(std::memory_order_relaxed), std::memory_order_release);
    definer_.store(&by);
  }
  /// What it is for the transaction that changes it; null if dropped.
  void change_to(std::unique_ptr<const TableDefinition> definition) {
    const TableDefinition* const changed = definition.get();
    if (definition != nullptr) {
      kept_.push_back(std::move(definition));
    }
    changed_.store(changed, std::memory_order_release);
  }
  /// Before its transaction commits: a definition whose fate decides for whom it counts.
  void publish() noexcept {
    const TableDefinition* const changed = changed_.load(std::memory_order_relaxed);
    if (changed != nullptr && changed->replaced != nullptr) {
      const TableDefinition* const before = current_.exchange(changed, std::memory_order_acq_rel);
      unpublished_ = unpublished_ == nullptr ? before : unpublished_;
    }
  }
  /// The change counts for all, or for nobody. `now`: the clock.
  void end_change(bool committed, Gsn now = {}) noexcept {
    if (committed) {
      const TableDefinition* const changed = changed_.load(std::memory_order_relaxed);
      if (const TableDefinition* const before = current_.load(std::memory_order_relaxed);
          changed != nullptr && before != nullptr) {
        begin_to_count(*changed, *before, now);
      }
      if (unpublished_ != nullptr && changed != nullptr && changed->rows != unpublished_->rows) {
        last_bulk_ = kNoEpoch;  // it has not been in these rows' tree
      }
      current_.store(changed, std::memory_order_release);
    } else if (unpublished_ != nullptr) {
      current_.store(unpublished_, std::memory_order_release);
    }
    unpublished_ = nullptr;
    bulk_view_.bulk = kNoEpoch;
    definer_.store(nullptr);
  }
  [[nodiscard]] const txn::Transaction* definer() const noexcept { return definer_.load(); }

 private:
  static void begin_to_count(const TableDefinition& changed, const TableDefinition& before,
                             Gsn now) noexcept {
    for (std::size_t number = 0; number < changed.indexes.size(); ++number) {
      const auto& since = changed.index_since[number];
      if (std::find(before.index_since.begin(), before.index_since.end(), since) ==
          before.index_since.end()) {
        since->store(now, std::memory_order_relaxed);  // published with the definition
      }
    }
  }

  const std::string name_;
  std::atomic<const TableDefinition*> current_{nullptr};
  std::atomic<const TableDefinition*> changed_{nullptr};  ///< meaningful while there is a definer_
  std::atomic<const txn::Transaction*> definer_{nullptr};
  const TableDefinition* unpublished_ = nullptr;  ///< what publish() has replaced
  versioning::Viewer bulk_view_;                  ///< meaningful while there is a definer_
  BulkEpoch last_bulk_ = kNoEpoch;
  std::vector<std::unique_ptr<const TableDefinition>> kept_;  ///< all that have been
};

}  // namespace palimpsest::engine
