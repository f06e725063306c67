// One table, as shared by its handles: its current definition, those that older snapshots see, and
// the transaction that is changing it.
//
// A definition (which indexes and which trees there are) is immutable. A change makes a new one,
// which is visible to its own transaction at once and to other transactions once that has
// committed.
//
// With D the transaction that is changing the definition, if any:
//   D itself              reads and writes by the new definition
//   another one, reading  by the definition that its snapshot sees; after reading, and before the
//                         caller sees the result, it checks whether the trees are gone (TreesLife)
//   another one, writing  is refused: a conflict
// Rows in bulk: a definition may have other trees of rows than the one before it, filled by its
// definer alone, and other columns. Such a definition has a commit status, decided with its
// transaction's commit: an older snapshot sees the replaced definition, reads its trees, which stay
// as they are, and uses its format.
//
//   published, commit status active -> announced -> dated -> committed, end_change(true)
//                        \-> aborted, end_change(false)
//
// Publishing precedes the announcement. A snapshot that is to see the rows was taken after the date
// was drawn, so it finds the new definition, with a commit status that is announced at least (I-7).
// A snapshot that is not to see them finds the old definition either way. No answer changes while a
// snapshot lives. If a bulk changes a table in place, the indexes that it makes are trees of its
// own as well, but in a definition without a commit status: that becomes visible when the bulk has
// ended, as an ordinary change does, to snapshots from then on (IndexLife::since).
//
// The life of a definition, and of its trees (all steps but reading under the catalog's mutex):
//
//   changed   the definer's                                   change_to()
//   current   the newest snapshots see it                     publish(), end_change(true)
//   past      a bulk's definition has replaced it: snapshots  publish()
//             from its own date up to that one's see it
//   left      no reader finds it any more                     let_go_past(), end_change(), ...
//   gone      no reader uses it any more; its trees return    TableCatalog::give_back_replaced()
//             to the tree pool, its memory is freed
//
//   changed -> current -> past -> left -> gone      replaced by a bulk's or an alteration's rows
//              current ---------> left -> gone      by one with the same trees, or the table
//              dropped
//   changed --------------------> left -> gone      rolled back, or changed again
//   past ----> current                              the bulk that was published was rolled back
//
// Past to left (I-18): no snapshot in use lies in [its date, its successor's), and none will: the
// scan read the clock before it looked at the snapshots, as for pruning (versioning/prune.h). So
// each snapshot retains one definition of a table, whatever was replaced after it.
// Left to gone: calls that began before have ended (base/call_epochs.h), and so have readers of the
// newest rows, without a snapshot, in several calls or a long one (TreesLife::readers). A reader
// with a cancelled snapshot may still be reading: it checks Transaction::require_view(), or
// are_gone, before it returns anything.
// Memory order: calls find a definition by acquire loads, and it is unlinked by a release store,
// where base/call_epochs.h requires sequential consistency. The store and the advances of the epoch
// follow each other under the catalog's mutex, so by the second advance, which looks at the calls
// again, the store is visible to all of them.
// A crash at any moment: from the commit on, the table's record names the trees of the current
// definition. No record names the trees of other definitions; they are emptied after the opening.
// Invariants:
// (1) While a writer other than D changes the table's trees, there is no D, or D waits. A writer
//     publishes that it changes something (Transactions::oldest()) before it reads definer_, both
//     sequentially consistent; D sets definer_, then waits until all transactions that have
//     published have ended (Transactions::wait_for_writers()). Either the writer sees D, or D waits
//     for it. So the definition that a writer finds stays current until its transaction has ended:
//     nothing else has to keep it in memory.
// (2) After a definition was replaced, its trees are not written to until they are gone.
//
// Thread-safety: reading from any thread; definitions found are used within a Call of calls(), by a
// writer, or by D. Changing by TableCatalog, under its mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "base/call_epochs.h"
#include "engine/table/table_definition.h"
#include "txn/transaction.h"
#include "versioning/snapshots.h"

namespace palimpsest::engine {

/// A definition retained in memory, and what is to be done when it is gone.
struct KeptDefinition {
  DefinitionPtr definition;
  bool gives_trees = false;  ///< its trees are returned with it
  std::uint64_t left = 0;    ///< CallEpochs::now() when it was left
};
using KeptDefinitions = std::list<KeptDefinition>;

class TableState;

/// Throws not_found: the caller sees no such table.
[[noreturn]] void refuse_missing_table(const TableState& table);

class TableState {
 public:
  /// `calls`: the calls that use definitions of the same catalog.
  explicit TableState(std::string name,
                      std::shared_ptr<CallEpochs> calls = std::make_shared<CallEpochs>())
      : name_(std::move(name)), calls_(std::move(calls)) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] CallEpochs& calls() const noexcept { return *calls_; }

  /// The definition that `by` sees (null: a caller without a transaction). Null if it sees no such
  /// table, not yet or not any more.
  [[nodiscard]] const TableDefinition* visible_to(const txn::Transaction* by) const noexcept {
    const txn::Transaction* const definer = definer_.load();
    if (definer != nullptr && definer == by) [[unlikely]] {
      return changed_.load(std::memory_order_acquire);
    }
    return current_.load(std::memory_order_acquire);
  }
  /// As visible_to(), kept in memory; not only within a Call.
  [[nodiscard]] DefinitionPtr keep_visible_to(const txn::Transaction* by) const noexcept {
    const CallEpochs::Call call = calls_->enter();
    const TableDefinition* const visible = visible_to(by);
    return visible == nullptr ? nullptr : visible->shared_from_this();
  }
  /// What a reader in `by` sees; null: nothing. The definer sees what it fills in bulk at once;
  /// other bulks it sees as every transaction does.
  [[nodiscard]] const TableDefinition* seen_by(
      const txn::Transaction* by, const versioning::ReadView* read_view) const noexcept {
    const TableDefinition* const definition = visible_to(by);
    if (definition == nullptr || is_newest_for(*definition, by, read_view)) [[likely]] {
      return definition;
    }
    return past_of(by, read_view);
  }
  /// Whether `visible`, which is visible_to(by), is what seen_by() would return.
  [[nodiscard]] bool is_newest_for(const TableDefinition& visible, const txn::Transaction* by,
                                   const versioning::ReadView* read_view) const noexcept {
    if (visible.commit_status == nullptr) [[likely]] {
      return true;
    }
    const bool is_own =
        by != nullptr && definer_.load() == by && !visible.commit_status->is_committed();
    return is_own || visible.is_seen_by(read_view);
  }
  /// Calls visit(definition) for the current definition, then for those that older snapshots may
  /// see, until it returns false. Within a Call of calls().
  template <class Visit>
  void visit_definitions(const Visit& visit) const {
    const TableDefinition* definition = current_.load(std::memory_order_acquire);
    if (definition != nullptr && !visit(*definition)) {
      return;
    }
    definition = past_.load(std::memory_order_acquire);
    while (definition != nullptr && visit(*definition)) {
      definition = definition->place.older_.load(std::memory_order_acquire);
    }
  }
  /// Whether another transaction is changing the definition, so that `by` must not write. Called
  /// after `by` has published that it writes: within Transaction::write() or statement().
  [[nodiscard]] bool is_changed_by_another(const txn::Transaction& by) const noexcept {
    const txn::Transaction* const definer = definer_.load();
    return definer != nullptr && definer != &by;
  }

  /// Not null: `by` changes the table's rows in bulk, in place, and reads them by this view. Called
  /// by `by` itself.
  [[nodiscard]] const versioning::ReadView* bulk_view(const txn::Transaction* by) const noexcept {
    const bool is_bulk = by != nullptr && definer_.load() == by && bulk_view_.bulk != kNoEpoch;
    return is_bulk ? &bulk_view_ : nullptr;
  }

  // Called by TableCatalog:

  /// Whether its definer has made another definition.
  [[nodiscard]] bool is_changed_by(const txn::Transaction& definer) const noexcept {
    return visible_to(&definer) != current_.load(std::memory_order_acquire);
  }
  /// The definer changes rows as this bulk from now on. All changes of other transactions have been
  /// committed.
  void begin_bulk(BulkEpoch epoch, Gsn now) noexcept {
    bulk_view_ = {.snapshot = now, .mine = nullptr, .bulk = epoch};
    last_bulk_ = epoch;
  }
  /// The last bulk that has changed rows in place.
  [[nodiscard]] BulkEpoch last_bulk() const noexcept { return last_bulk_; }
  /// From now on `by` changes the definition, and other transactions stop writing.
  void begin_change(const txn::Transaction& by) noexcept {
    changed_.store(current_.load(std::memory_order_relaxed), std::memory_order_release);
    definer_.store(&by);
  }
  /// Sets the definition for the transaction that changes it; null if it drops the table.
  void change_to(std::unique_ptr<const TableDefinition> definition);
  /// Called before the transaction commits: publishes a definition with a commit status, which
  /// decides the snapshots that see it. A definition with the same trees of rows becomes visible in
  /// end_change().
  void publish() noexcept;
  /// Makes the change visible to all, or discards it. `now`: the clock.
  void end_change(bool committed, Gsn now = {}) noexcept;
  [[nodiscard]] const txn::Transaction* definer() const noexcept { return definer_.load(); }

  /// Whether there are definitions that older snapshots may see.
  [[nodiscard]] bool has_past() const noexcept { return past_.load() != nullptr; }
  /// The number of their trees.
  [[nodiscard]] std::size_t past_trees() const noexcept;
  /// Unlinks those that no snapshot sees, or will see.
  void let_go_past(const versioning::Snapshots::Scan& scan) noexcept;
  /// Returns the definitions left since the last call, marked with the current call epoch.
  [[nodiscard]] KeptDefinitions take_left() noexcept;

 private:
  [[nodiscard]] const TableDefinition* past_of(
      const txn::Transaction* by, const versioning::ReadView* read_view) const noexcept;
  void count(const TableDefinition* changed, const TableDefinition* before, Gsn now) noexcept;
  void forget(const TableDefinition* changed, const TableDefinition* before) noexcept;
  void drop(const TableDefinition* before) noexcept;
  void leave(const TableDefinition& definition, bool gives_trees) noexcept;

  const std::string name_;
  const std::shared_ptr<CallEpochs> calls_;
  std::atomic<const TableDefinition*> current_{nullptr};
  std::atomic<const TableDefinition*> changed_{nullptr};  ///< meaningful while there is a definer_
  std::atomic<const txn::Transaction*> definer_{nullptr};
  std::atomic<const TableDefinition*> past_{nullptr};  ///< the newest; older ones follow
  const TableDefinition* unpublished_ = nullptr;       ///< what publish() has replaced
  versioning::ReadView bulk_view_;                     ///< meaningful while there is a definer_
  BulkEpoch last_bulk_ = kNoEpoch;
  KeptDefinitions kept_;  ///< changed, current, past
  KeptDefinitions left_;  ///< not taken yet
};

}  // namespace palimpsest::engine
