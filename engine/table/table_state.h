// One table as long as anybody knows it: its definition now, those that older snapshots see, and
// who is about to change it.
//
// Handles share it. A definition (which indexes there are, which trees everything lies in) is
// immutable; a change makes a new one, which counts for the transaction that made it at once and
// for others once that has committed.
//
// Who may use what, with D the transaction that is changing the definition, if any:
//   D itself           reads and writes by the new definition
//   others, reading    by the one that counts for their snapshot; after reading, and before anybody
//                      sees what was read, they ask whether its trees have gone (TreesLife)
//   others, writing    not at all: a conflict
// Rows in bulk: a definition may have other trees of rows than the one before it, filled by its
// definer alone, and other columns. Such a definition has a commit status, decided with its
// transaction's commit: a snapshot from before that sees the definition that was replaced, whose
// trees stay as they are, by that one's format.
//
//   published, commit status active -> announced -> dated -> committed, end_change(true)
//                        \-> aborted, end_change(false)
//
// Publishing comes before the announcement: a snapshot that is to see the rows was taken after the
// date was drawn, so it finds the new definition, and a commit status that is announced at least
// (I-7). One that is not to see them, finds the old one by either. No answer changes while a
// snapshot lives. Indexes that a bulk makes of a table that it changes where it lies are trees of
// its own as well, in a definition without a commit status of its own: it counts when the bulk has
// ended, as an ordinary change does, and for snapshots from then on (IndexLife::since).
//
// The life of a definition, and of its trees (all steps but reading under the catalog's mutex):
//
//   changed   the definer's                                   change_to()
//   current   counts for the newest snapshots                 publish(), end_change(true)
//   past      a bulk's has replaced it: it counts for         publish()
//             snapshots from its own date up to that one's
//   left      no reader comes to it any more                  let_go_past(), end_change(), ...
//   gone      no reader is at it any more; its trees go       TableCatalog::give_back_replaced()
//             back to the tree store, its memory is freed
//
//   changed -> current -> past -> left -> gone      replaced by a bulk's or an alteration's rows
//              current ---------> left -> gone      by one with the same trees, or the table
//              dropped
//   changed --------------------> left -> gone      rolled back, or changed again
//   past ----> current                              the bulk that was published was rolled back
//
// Past to left (I-18): no snapshot in use lies in [its date, its successor's), and none will: the
// scan read the clock before it looked at the snapshots, as for pruning (versioning/prune.h). So
// each snapshot holds back one definition of a table, whatever was replaced after it.
// Left to gone: calls that looked before have ended (base/call_epochs.h), and so have readers that
// see the newest rows, without a snapshot, over several calls or a long one (TreesLife::readers).
// Who has a snapshot, and learns that it was cancelled, may still be reading: it asks
// Transaction::require_view(), or are_gone, before anybody sees what it has read.
// Calls find a definition by acquire loads, and it is taken out by a release store, where
// call_epochs.h says sequentially consistent: that and the advances of the epoch follow each other
// under the catalog's mutex, so by the second advance, which looks at the calls again, the store is
// visible to all of them.
// A crash at any moment: the record of the table names the trees of the current one, from the
// commit on; those of all others are named by none, and are emptied after the opening.
// Invariants: (1) while a writer that is not D changes the table's trees, there is no D, or D
// waits.
//   A writer publishes that it changes something (Transactions::oldest()) before it reads definer_,
//   both sequentially consistent; D sets definer_, then waits until everybody that has published
//   has ended (Transactions::wait_for_writers()). Either the writer sees D, or D waits for it. So
//   the definition that a writer finds stays current until its transaction has ended: it needs no
//   more to keep it in memory.
//             (2) the trees of a definition that was replaced are written to no more before they
//                 are gone.
//
// Thread-safety: reading from any thread, what is found within a Call of calls(), or by a writer,
// or by D. Changing by TableCatalog, under its mutex.
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

/// A definition that is kept, and what is to be done when nobody needs it.
struct KeptDefinition {
  DefinitionPtr definition;
  bool gives_trees = false;  ///< its trees go back with it
  std::uint64_t left = 0;    ///< CallEpochs::now() when it was left
};
using KeptDefinitions = std::list<KeptDefinition>;

class TableState {
 public:
  /// `calls`: those that look at definitions of the same catalog.
  explicit TableState(std::string name,
                      std::shared_ptr<CallEpochs> calls = std::make_shared<CallEpochs>())
      : name_(std::move(name)), calls_(std::move(calls)) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] CallEpochs& calls() const noexcept { return *calls_; }

  /// The definition that `by` sees; null by: who is in no transaction. Null: for him there is no
  /// such table, not yet or no longer.
  [[nodiscard]] const TableDefinition* visible_to(const txn::Transaction* by) const noexcept {
    const txn::Transaction* const definer = definer_.load();
    if (definer != nullptr && definer == by) [[unlikely]] {
      return changed_.load(std::memory_order_acquire);
    }
    return current_.load(std::memory_order_acquire);
  }
  /// The same, kept in memory; from any call.
  [[nodiscard]] DefinitionPtr keep_visible_to(const txn::Transaction* by) const noexcept {
    const CallEpochs::Call call = calls_->enter();
    const TableDefinition* const visible = visible_to(by);
    return visible == nullptr ? nullptr : visible->shared_from_this();
  }
  /// What a reader in `by` sees, null: nothing. What the definer itself is filling in bulk it sees
  /// at once; what others have filled, as everybody does.
  [[nodiscard]] const TableDefinition* seen_by(
      const txn::Transaction* by, const versioning::ReadView* read_view) const noexcept {
    const TableDefinition* const definition = visible_to(by);
    if (definition == nullptr || is_newest_for(*definition, by, read_view)) [[likely]] {
      return definition;
    }
    return past_of(by, read_view);
  }
  /// The same of one that is visible to `by`: whether it is what that sees.
  [[nodiscard]] bool is_newest_for(const TableDefinition& visible, const txn::Transaction* by,
                                   const versioning::ReadView* read_view) const noexcept {
    if (visible.commit_status == nullptr) [[likely]] {
      return true;
    }
    const bool is_own =
        by != nullptr && definer_.load() == by && !visible.commit_status->is_committed();
    return is_own || visible.is_seen_by(read_view);
  }
  /// Calls visit(definition) for the one that counts, then for those that older snapshots may see,
  /// until it returns false. Within a Call of calls().
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
  /// Whether another transaction is changing the definition: `by` must not write then. Asked after
  /// `by` has published that it writes: within Transaction::write() or statement().
  [[nodiscard]] bool is_changed_by_another(const txn::Transaction& by) const noexcept {
    const txn::Transaction* const definer = definer_.load();
    return definer != nullptr && definer != &by;
  }

  /// Not null: `by` changes the table's rows in bulk, where they lie, and sees them so. For its own
  /// calls.
  [[nodiscard]] const versioning::ReadView* bulk_view(const txn::Transaction* by) const noexcept {
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
  void change_to(std::unique_ptr<const TableDefinition> definition);
  /// Before its transaction commits: a definition whose commit status decides for whom it counts.
  /// One that has the same trees of rows counts when the transaction has ended.
  void publish() noexcept;
  /// The change counts for all, or for nobody. `now`: the clock.
  void end_change(bool committed, Gsn now = {}) noexcept;
  [[nodiscard]] const txn::Transaction* definer() const noexcept { return definer_.load(); }

  /// Whether there are definitions that older snapshots may see.
  [[nodiscard]] bool has_past() const noexcept { return past_.load() != nullptr; }
  /// The trees of these.
  [[nodiscard]] std::size_t past_trees() const noexcept;
  /// Those of them go that no snapshot sees, nor will.
  void let_go_past(const versioning::Snapshots::Scan& scan) noexcept;
  /// What was left since the last time; counted from now on.
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
  KeptDefinitions left_;  ///< and not taken yet
};

}  // namespace palimpsest::engine
