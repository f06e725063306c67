// All tables: their names, their records in a tree of their own, and changes of definitions within
// transactions.
//
// A definition commits with its transaction: its record is inserted, updated or removed like any
// row, and rollback and recovery undo that. In memory, the transaction that changes a table becomes
// its definer (table/table_state.h): it sees the change at once, other transactions when it has
// committed, of which the transaction notifies this catalog (txn::EndListener). Each change is one
// statement: a failed one leaves no record behind. One transaction at a time changes an existing
// table, alone: the change waits until all transactions that have written anything have ended. If
// it cannot have the table within the patience, it gets a conflict, so that two that wait for each
// other end.
//
// Columns: a table is altered in bulk. Its rows and indexes are rebuilt in trees of the bulk's own
// (rows_rebuild.h). Snapshots from before its commit continue to read the old trees, by the
// definition that was replaced; so there is only one way to read a row.
//
// Bulks: a bulk fills new trees of its own for each table without rows (table/table_state.h). It
// makes no change itself, so that it does not pin the log; it writes the records of its definitions
// when it is about to commit. A crash, or a rollback, leaves trees that no record names. A table
// with rows is changed in place, once every snapshot sees the last bulk there: a leaf has one
// epoch.
//
// Trees come from the tree pool and return there: those of a dropped table or index when the drop
// has committed; those taken for new ones if it has not; those that were replaced when no reader
// needs them any more (table/table_state.h). The latter are looked for when definitions change,
// when a tree is taken, when there is no space, and periodically by the tree pool's thread.
//
// On disk: the tree kTablesTree (stored_definitions.h), made with the first table.
// Latching: a transaction's owner latch, across the whole change; then mutex_, never across I/O.
// Thread-safety: all functions, from any thread, except open().
// Failure: Error invalid_argument for invalid schemas, corruption for invalid records; otherwise as
// transactions do. Nothing has changed then.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "palimpsest/function_ref.h"
#include "palimpsest/outcome.h"
#include "palimpsest/schema.h"
#include "palimpsest/table_alteration.h"

#include "bulk/bulk_ledger.h"
#include "bulk/bulk_sweep.h"
#include "bulk/tree_owners.h"
#include "engine/catalog/index_build.h"
#include "engine/catalog/stored_definitions.h"
#include "engine/catalog/tree_pool.h"
#include "engine/table/table_state.h"
#include "txn/transactions.h"
#include "txn/tree_catalog.h"

namespace palimpsest::engine {

using TablePtr = std::shared_ptr<TableState>;
using AlterSchema = FunctionRef<TableAlteration(const TableSchema& before)>;
using CommitStatusPtr = std::shared_ptr<versioning::CommitStatus>;

class TableCatalog final : public txn::EndListener, public bulk::TreeOwners, public TreeSource {
 public:
  /// What bulks on tables with rows need.
  struct Bulks {
    versioning::BulkEpochs& epochs;
    bulk::BulkLedger& ledger;
    bulk::BulkSweep& sweep;
  };

  /// All references outlive this. `sorting`: for building indexes; `patience`: how long a change
  /// waits for writers.
  TableCatalog(txn::TreeCatalog& trees, txn::Transactions& transactions, TreePool& store,
               const Bulks& bulks, const SortSpace& sorting, std::chrono::milliseconds patience)
      : trees_(trees),
        transactions_(transactions),
        store_(store),
        bulks_(bulks),
        sorting_(sorting),
        patience_(patience) {}

  /// Reads all definitions, and tells the pool which trees they use. No other thread uses this.
  void open();

  /// The table that `by` sees under that name (null: that a new transaction sees); null if there is
  /// none.
  [[nodiscard]] TablePtr find(std::string_view name, const txn::Transaction* by) const;
  /// The committed tables, ascending by name.
  [[nodiscard]] std::vector<TablePtr> all() const;

  // As the functions of the public Transaction. `bulk`: the commit status of a bulk's tables, else
  // null.

  Outcome create_table(txn::Transaction& by, const TableSchema& schema,
                       const CommitStatusPtr& bulk = {});
  Outcome drop_table(txn::Transaction& by, std::string_view table);
  Outcome create_index(txn::Transaction& by, std::string_view table, const IndexSchema& schema,
                       const CommitStatusPtr& bulk = {});
  Outcome drop_index(txn::Transaction& by, std::string_view table, std::string_view index);

  // Called by a bulk:

  /// As the public Transaction::alter_table(); null `convert`: no conversion. Calls `to` with the
  /// table's schema when no other transaction can change that any more.
  Outcome alter_table(txn::Transaction& by, std::string_view table, AlterSchema to,
                      const ConvertRow* convert, const CommitStatusPtr& bulk);
  /// Makes the table the bulk's, if it is not: a table without rows gets empty trees of the bulk's
  /// own; a table with rows is changed in place (TableState::bulk_view()). Throws gate_timeout if
  /// other transactions prevent that for longer than the patience.
  Outcome make_own(txn::Transaction& by, const TableState& table, const CommitStatusPtr& bulk);
  /// Called once, before the bulk commits: writes the records of its definitions; from then on its
  /// commit status decides which snapshots see them. The latter step runs under the bulk's owner
  /// latch: the engine may end the bulk between the two steps, which takes its definitions back,
  /// and nothing may be published after that.
  Outcome publish(txn::Transaction& by);

  // EndListener:
  void ended(const txn::Transaction& transaction, bool committed) noexcept override;

  // TreeOwners:
  [[nodiscard]] bool is_owned(TreeId tree) const override { return store_.is_given_out(tree); }
  [[nodiscard]] std::string owner_of(TreeId tree) const override;

  // TreeSource:
  bool give_back_replaced() noexcept override;
  /// What replaced trees wait for, as a part of a sentence; empty if there are none.
  [[nodiscard]] std::string held_back() const;

 private:
  /// The tables of a name.
  struct Entry {
    TablePtr table;  ///< the committed one; null if there is none
    TablePtr made;   ///< made by a transaction that has not ended
  };
  /// The changes of a transaction.
  struct Changes {
    std::list<TablePtr> tables;          ///< made, changed or dropped by it
    CommitStatusPtr commit_status;       ///< a bulk's: retained until it is decided
    bulk::BulkLedger::Begun epoch;       ///< a bulk's on tables with rows
    std::vector<btree::BTree*> taken;    ///< returned unless it commits
    std::vector<btree::BTree*> dropped;  ///< returned if it commits
  };
  /// A table that a transaction may change, or the reason why not.
  struct Claimed {
    TablePtr table;
    Outcome outcome{};
  };

  template <class Work>
  Outcome change(txn::Transaction& by, const CommitStatusPtr& bulk, Work&& work);
  Outcome create_table_by(txn::Transaction& by, const btree::WriteContext& context,
                          const TableSchema& schema, const CommitStatusPtr& bulk);
  Outcome create_index_by(txn::Transaction& by, const btree::WriteContext& context,
                          std::string_view table, const IndexSchema& schema,
                          const CommitStatusPtr& bulk);
  Outcome change_in_bulk(txn::Transaction& by, const CommitStatusPtr& bulk,
                         FunctionRef<Outcome()> work);
  /// As claim_table(); also makes the table's trees the bulk's.
  [[nodiscard]] Claimed claim_own(txn::Transaction& by, std::string_view name,
                                  const CommitStatusPtr& bulk);
  [[nodiscard]] bool sees_newest_record(const txn::Transaction& by, std::string_view name) const;
  Outcome own_trees(txn::Transaction& by, TableState& table, const CommitStatusPtr& bulk);
  void replace_trees(txn::Transaction& by, TableState& table, const CommitStatusPtr& bulk);
  Outcome rebuild(txn::Transaction& by, TableState& table, AlterSchema to,
                  const ConvertRow* convert, const CommitStatusPtr& bulk);
  void require_keys_fit(const StoredTable& table) const;
  /// A definition of that table in newly taken trees, with their numbers in it.
  [[nodiscard]] std::unique_ptr<TableDefinition> in_new_trees(txn::Transaction& by,
                                                              StoredTable stored);
  /// Returns the trees; null ones are skipped.
  void give_trees_back(const txn::Transaction& by, std::span<btree::BTree* const> trees) noexcept;
  void change_in_place(txn::Transaction& by, TableState& table);
  void count_definitions(const std::list<TablePtr>& tables);
  template <class InTheWay>
  [[nodiscard]] bool wait_for_readers(const txn::Transaction& by, const TableState& table,
                                      const InTheWay& is_in_the_way) const;
  void wait_until_retired(const txn::Transaction& by, const TableState& table) const;
  void wait_for_room(const txn::Transaction& by, const TableState& table) const;
  /// Makes `by` the maker of a table of that name.
  [[nodiscard]] Claimed claim_name(txn::Transaction& by, const std::string& name);
  void release_name(const txn::Transaction& by, const TablePtr& made) noexcept;
  /// Makes `by` the definer of a table, and waits until it is alone.
  [[nodiscard]] Claimed claim_table(txn::Transaction& by, std::string_view name);
  /// Waits for the transactions that may have changed a claimed table.
  [[nodiscard]] Outcome wait_for_writers(const txn::Transaction& by, std::string_view table);
  // mutex_ is held:
  [[nodiscard]] static bool is_changed_by_another(txn::Transaction& by,
                                                  const TableState& table) noexcept;
  [[nodiscard]] Claimed claim_now(txn::Transaction& by, std::string_view name);
  void release_table(const txn::Transaction& by, const TablePtr& table) noexcept;
  /// Calls work(), which returns an outcome, with a table just claimed; releases the table on
  /// failure.
  template <class Work>
  Outcome do_or_release(const txn::Transaction& by, const TablePtr& table, Work&& work) {
    try {
      Outcome outcome = work();
      if (!outcome) {
        release_table(by, table);
      }
      return outcome;
    } catch (...) {
      release_table(by, table);
      throw;
    }
  }
  [[nodiscard]] btree::BTree& take_tree(const txn::Transaction& by);
  [[nodiscard]] btree::BTree& take_from_store(const txn::Transaction& by);
  void give_tree_back(const txn::Transaction& by, btree::BTree& tree) noexcept;
  void prepare_drop(const txn::Transaction& by, std::size_t trees);
  void drop_trees(const txn::Transaction& by, std::span<btree::BTree* const> trees) noexcept;
  [[nodiscard]] btree::BTree& tables_tree(const txn::Transaction& by);
  void add(const std::string& name, std::unique_ptr<const TableDefinition> definition);
  void end_name(const TablePtr& table, bool committed) noexcept;
  /// This and the next two: mutex_ is held.
  void look_after(std::list<TablePtr>& tables) noexcept;
  void let_go_past() noexcept;
  [[nodiscard]] KeptDefinitions take_gone() noexcept;

  txn::TreeCatalog& trees_;
  txn::Transactions& transactions_;
  TreePool& store_;
  const Bulks bulks_;
  const SortSpace sorting_;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<CallEpochs> calls_ = std::make_shared<CallEpochs>();
  mutable std::mutex mutex_;
  // Protected by mutex_:
  std::map<std::string, Entry, std::less<>> names_;
  std::unordered_map<const txn::Transaction*, Changes> changes_;
  std::list<TablePtr> with_past_;  ///< tables with definitions that older snapshots may see
  KeptDefinitions left_;           ///< in the order in which they were left
  versioning::Snapshots::Scan scan_;
};

}  // namespace palimpsest::engine
