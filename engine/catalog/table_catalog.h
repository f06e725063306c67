// All tables: their names, their records in a tree of their own, and changes of definitions within
// transactions.
//
// A definition counts with its transaction: its record is inserted, updated or removed like any
// row, and rollback and recovery undo that. In memory, the transaction that changes a table is
// entered as its definer (table_state.h): it sees the change at once, the others when it has
// committed, of which the transaction tells this catalog (txn::EndListener). Each change is one
// statement: what is not done leaves no record behind. An existing table is changed by one
// transaction at a time, alone: the change waits until everybody who has written anything has
// ended. Who cannot have a table within that time gets a conflict, so that two who wait for each
// other end.
//
// Columns: a table is altered in bulk. Its rows are made anew in trees of the bulk's own
// (rows_rebuild.h), with its indexes, and snapshots from before its commit go on reading the old
// ones, by the definition that was replaced. Nobody needs a second way to read a row.
//
// Bulks: who fills tables in bulk has trees of his own for each (table_state.h), and changes
// nothing himself, so that he holds no log back: records of definitions are written when he is
// about to commit. A crash, or his end, leaves trees that no record names. Tables with rows are his
// where they are, once nobody sees what was before the last bulk there: a leaf has one epoch.
//
// Trees come from the tree store and go back there: those of a dropped table or index when that has
// committed, those taken for new ones if it has not, those that were replaced when nobody sees them
// any more (table_state.h): that is looked for when definitions change, when a tree is taken, when
// there is no space, and now and then by the tree store's thread.
//
// On disk: the tree kTablesTree (stored_definitions.h), made with the first table.
// Latching: a transaction's owner latch, across the whole change; then mutex_, never across I/O.
// Thread-safety: all functions, from any thread, but for open().
// Failure: Error invalid_argument for schemas that are none, corruption for records that are none;
//          otherwise as transactions do. Nothing has changed then.
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

class TableCatalog final : public txn::EndListener, public TreeOwners, public TreeSource {
 public:
  /// What bulks of tables with rows need.
  struct Bulks {
    versioning::BulkEpochs& epochs;
    BulkLedger& ledger;
    BulkSweep& sweep;
  };

  /// All outlive it. `sorting`: for indexes of tables with rows; `patience`: how long a change
  /// waits for writers.
  TableCatalog(TreeCatalog& trees, txn::Transactions& transactions, TreePool& store,
               const Bulks& bulks, const SortSpace& sorting, std::chrono::milliseconds patience)
      : trees_(trees),
        transactions_(transactions),
        store_(store),
        bulks_(bulks),
        sorting_(sorting),
        patience_(patience) {}

  /// Learns which tables there are, and tells the store which trees are theirs. Alone.
  void open();

  /// The table that `by`, null for nobody, sees under that name; null if there is none.
  [[nodiscard]] TablePtr find(std::string_view name, const txn::Transaction* by) const;
  /// Those that count, ascending by name.
  [[nodiscard]] std::vector<TablePtr> all() const;

  // As Transaction of the public API says. `bulk`: the commit status of a bulk's tables, null for
  // others.

  Outcome create_table(txn::Transaction& by, const TableSchema& schema,
                       const CommitStatusPtr& bulk = {});
  Outcome drop_table(txn::Transaction& by, std::string_view table);
  Outcome create_index(txn::Transaction& by, std::string_view table, const IndexSchema& schema,
                       const CommitStatusPtr& bulk = {});
  Outcome drop_index(txn::Transaction& by, std::string_view table, std::string_view index);

  // Of a bulk

  /// As Transaction of the public API says; null `convert`: none. `to` is asked what the table is
  /// to be by what it is, when nobody else can change that any more.
  Outcome alter_table(txn::Transaction& by, std::string_view table, AlterSchema to,
                      const ConvertRow* convert, const CommitStatusPtr& bulk);
  /// Makes the table the bulk's, if it is not: one without rows gets empty trees that are its
  /// alone, of one with rows it changes the trees where they are (TableState::bulk_view()). Throws
  /// gate_timeout if others do not let it within the patience.
  Outcome make_own(txn::Transaction& by, const TableState& table, const CommitStatusPtr& bulk);
  /// Before it commits: the records of what it has made, once, and from now on its commit status
  /// decides who sees that. The latter under its owner latch: the engine may end it between the
  /// two, which takes its definitions back, and nothing may be published behind that.
  Outcome publish(txn::Transaction& by);

  // EndListener
  void ended(const txn::Transaction& transaction, bool committed) noexcept override;

  // TreeOwners
  [[nodiscard]] bool is_owned(TreeId tree) const override { return store_.is_given_out(tree); }
  [[nodiscard]] std::string owner_of(TreeId tree) const override;

  // TreeSource
  bool give_back_replaced() noexcept override;
  /// Whom replaced trees wait for, as a part of a sentence; empty if there are none.
  [[nodiscard]] std::string held_back() const;

 private:
  /// What a name stands for.
  struct Entry {
    TablePtr table;  ///< that counts; null if there is none
    TablePtr made;   ///< by a transaction that has not ended
  };
  /// What a transaction has changed.
  struct Changes {
    std::list<TablePtr> tables;          ///< made, changed or dropped by it
    CommitStatusPtr commit_status;       ///< a bulk's: kept until it is decided
    BulkLedger::Begun epoch;             ///< a bulk's of tables with rows
    std::vector<btree::BTree*> taken;    ///< given back unless it commits
    std::vector<btree::BTree*> dropped;  ///< given back if it commits
  };
  /// A table that a transaction may change, or what stands in the way.
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
  /// As claim_table(), and its trees are the bulk's.
  [[nodiscard]] Claimed claim_own(txn::Transaction& by, std::string_view name,
                                  const CommitStatusPtr& bulk);
  [[nodiscard]] bool sees_newest_record(const txn::Transaction& by, std::string_view name) const;
  Outcome own_trees(txn::Transaction& by, TableState& table, const CommitStatusPtr& bulk);
  void replace_trees(txn::Transaction& by, TableState& table, const CommitStatusPtr& bulk);
  Outcome rebuild(txn::Transaction& by, TableState& table, AlterSchema to,
                  const ConvertRow* convert, const CommitStatusPtr& bulk);
  void require_keys_fit(const StoredTable& table) const;
  /// Of that table, in trees taken for it, whose numbers it names.
  [[nodiscard]] std::unique_ptr<TableDefinition> in_new_trees(txn::Transaction& by,
                                                              StoredTable stored);
  /// Those that are none are null.
  void give_trees_back(const txn::Transaction& by, std::span<btree::BTree* const> trees) noexcept;
  void change_in_place(txn::Transaction& by, TableState& table);
  void count_definitions(const std::list<TablePtr>& tables);
  template <class InTheWay>
  [[nodiscard]] bool wait_for_readers(const txn::Transaction& by, const TableState& table,
                                      const InTheWay& is_in_the_way) const;
  void wait_until_retired(const txn::Transaction& by, const TableState& table) const;
  void wait_for_room(const txn::Transaction& by, const TableState& table) const;
  /// Enters `by` as the maker of a table of that name.
  [[nodiscard]] Claimed claim_name(txn::Transaction& by, const std::string& name);
  void release_name(const txn::Transaction& by, const TablePtr& made) noexcept;
  /// Makes `by` the definer of a table, and waits until it is alone.
  [[nodiscard]] Claimed claim_table(txn::Transaction& by, std::string_view name);
  /// Of those that may have changed something of a table that was claimed.
  [[nodiscard]] Outcome wait_for_writers(const txn::Transaction& by, std::string_view table);
  // mutex_ held:
  [[nodiscard]] static bool is_changed_by_another(txn::Transaction& by,
                                                  const TableState& table) noexcept;
  [[nodiscard]] Claimed claim_now(txn::Transaction& by, std::string_view name);
  void release_table(const txn::Transaction& by, const TablePtr& table) noexcept;
  /// Does work(), which returns an outcome, with a table just claimed: released if nothing is done.
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
  /// mutex_ held, as of the next.
  void look_after(std::list<TablePtr>& tables) noexcept;
  void let_go_past() noexcept;
  [[nodiscard]] KeptDefinitions take_gone() noexcept;

  TreeCatalog& trees_;
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
  std::list<TablePtr> with_past_;  ///< tables of which older snapshots may see what they were
  KeptDefinitions left_;           ///< in the order in which they were left
  versioning::Snapshots::Scan scan_;
};

}  // namespace palimpsest::engine
