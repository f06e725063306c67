// A bulk transaction: fills tables that are empty, or that it makes, with any number of rows, and
// needs neither versions nor log for as long as it takes.
//
// Each table that it writes to gets trees of the bulk's own (definitions/table_catalog.h), which
// nobody else can find. Every call changes them by a transaction of its own, which commits at once
// and leaves no versions: so memory and log are those of one call. When the bulk commits, the
// tables' definitions name these trees, for every snapshot from the commit on (I-7,
// definitions/table_state.h); older ones go on seeing the trees that were there before. If it does
// not, no definition names them, and they are emptied in the background, after a crash as well.
//
// Writers of these tables are in conflict until the bulk has ended; readers wait for nothing.
// Latching: the bulk's owner latch, held across the call: it cannot end in the middle. A call
//           begins a transaction: it takes one of the worker slots more.
// Failure: Error invalid_argument for tables that have rows, not_found; too_many_transactions;
//          otherwise as TableWrites. A call that fails has changed nothing.
// Source: Umbra-MVCC 3.2, for what a bulk promises.
#pragma once

#include <memory>

#include "palimpsest/function_ref.h"
#include "palimpsest/outcome.h"
#include "palimpsest/schema.h"

#include "engine/definitions/table_catalog.h"
#include "engine/rows/table_writes.h"
#include "txn/transactions.h"

namespace palimpsest::engine {

class Bulk {
 public:
  /// `by` has not changed anything, and does not but through the bulk. All outlive it.
  Bulk(txn::Transactions& transactions, TableCatalog& tables, txn::Transaction& by)
      : transactions_(transactions),
        tables_(tables),
        by_(by),
        fate_(std::make_shared<versioning::Fate>()) {}

  Outcome write(const TableState& table, FunctionRef<Outcome(const TableWrites&)> write);
  Outcome create_table(const TableSchema& schema) {
    return tables_.create_table(by_, schema, fate_);
  }
  Outcome create_index(std::string_view table, const IndexSchema& schema) {
    return tables_.create_index(by_, table, schema, fate_);
  }
  /// Before by_ commits. Throws conflict if another transaction has changed the same definitions.
  void publish() { tables_.publish(by_).require(); }

 private:
  txn::Transactions& transactions_;
  TableCatalog& tables_;
  txn::Transaction& by_;
  FatePtr fate_;
};

}  // namespace palimpsest::engine
