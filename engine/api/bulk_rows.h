// A bulk transaction: changes any number of rows, and needs neither versions nor log for as long as
// it takes.
//
// Every call changes trees by a transaction of its own, which commits at once and leaves no
// versions: so memory and log are those of one call.
//   A table without rows gets trees of the bulk's own (catalog/table_catalog.h), which nobody
//   else can find. When the bulk commits, the tables' definitions name them, for every snapshot
//   from the commit on (I-7, table/table_state.h); older ones go on seeing the trees that
//   were there before. If it does not, no definition names them, and they are emptied in the
//   background, after a crash as well.
//   A table with rows is changed where it lies: what the bulk does are virtual versions, under its
//   epoch (btree/node/virtual_version.h), which others see from its commit on (I-9,
//   versioning/bulk_epochs.h). If there is none, they are undone (bulk/bulk_sweep.h).
//
// Rows that come in ascending order, beyond all that a table has, are kept until there are some
// mebibytes of them, or the bulk reads or changes something else, and are then appended as leaves
// of their own (ascending_row_buffer.h): with the next ones being collected while those are
// written, by one thread for all appending of the bulk (rows_in_flight.h). Those of all tables
// together take kKeptBytesMax: before there are more, those of other tables are appended. Before
// the bulk reads or changes anything else, and before it commits, all have arrived. So what a call
// says of rows that could not be written may be about those of earlier calls; they are kept, and
// tried again. What was appended is not undone by the log, nor are parts of a range that was
// erased: a call with more rows than are ever kept, or with a range of many leaves, that fails
// half-way leaves a bulk that can only be rolled back.
//
// A call that waits for space in the log for its first record may be the oldest transaction, and be
// told to give way. Nothing of it is there then, and it begins again.
//
// Writers of these tables are in conflict until the bulk has ended; readers wait for nothing.
// Latching: the bulk's owner latch, held across the call: it cannot end in the middle. A call
//           begins a transaction: it takes one of the worker slots more.
// Failure: Error gate_timeout, not_found; too_many_transactions; otherwise as TableWrites; and any
//          call, what appending kept rows throws. A call that fails has changed nothing. Error
//          failed if one has failed half-way before.
// Source: Umbra-MVCC 3.2, for what a bulk promises.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "palimpsest/function_ref.h"
#include "palimpsest/outcome.h"
#include "palimpsest/schema.h"

#include "bulk/ascending_row_buffer.h"
#include "bulk/leaf_writer.h"
#include "engine/api/rows_in_flight.h"
#include "engine/catalog/table_catalog.h"
#include "engine/table/table_writes.h"
#include "txn/transactions.h"

namespace palimpsest::engine {

class Bulk {
 public:
  /// `by` has not changed anything, and does not but through the bulk. All outlive it.
  Bulk(txn::Transactions& transactions, TableCatalog& tables, txn::Transaction& by)
      : transactions_(transactions),
        tables_(tables),
        by_(by),
        commit_status_(std::make_shared<versioning::CommitStatus>()) {}

  Outcome write(const TableState& table, FunctionRef<Outcome(const TableWrites&)> write);
  /// As those of TableWrites.
  Outcome insert(const TableState& table, const Values& row);
  Outcome insert(const TableState& table, const EncodedRow& row);
  Outcome insert_many(const TableState& table, std::span<const EncodedRow> rows);
  /// A part at a time. What one part has erased is not undone with the call.
  ErasedRange erase_range(const TableState& table, const Range& range);
  /// Before the bulk reads: what it was given is in its trees.
  void append_kept();

  Outcome create_table(const TableSchema& schema);
  Outcome create_index(std::string_view table, const IndexSchema& schema);
  /// As TableCatalog says.
  Outcome alter_table(std::string_view table, AlterSchema to, const ConvertRow* convert);
  /// Before by_ commits, which may be tried again; nothing can be changed in between. Throws
  /// conflict if another transaction has changed the same definitions.
  void publish();
  /// When by_ has ended, or is about to be rolled back: nothing is being written any more, and the
  /// bulk holds neither pages nor rows. It is over then.
  void let_go() noexcept;

  /// Memory for rows that are kept, a piece more or less.
  static constexpr std::size_t kKeptBytesMax = 4 * RecordBuffer::kBytesMax;
  [[nodiscard]] std::size_t kept_bytes() const noexcept;

 private:
  template <class Row>
  Outcome insert_row(const TableState& table, const Row& row);
  [[nodiscard]] bool can_keep(const TableState& table, AscendingRowBuffer& rows,
                              std::span<const btree::NewRecord> records);
  Outcome keep(const TableState& table, AscendingRowBuffer& rows,
               std::span<const btree::NewRecord> records);
  void append(const TableState& table, std::span<const btree::NewRecord> records,
              std::size_t& done);
  void append_at_once(const TableState& table, std::span<const btree::NewRecord> records);
  void append_kept_of(const TableState& table);
  void append_others(const AscendingRowBuffer& rows);
  void append_kept(const TableState& table, AscendingRowBuffer& rows);
  void send_kept(const TableState& table, AscendingRowBuffer& rows);
  void await_sent();
  [[nodiscard]] btree::LeafWriter& writer_of(const TableState& table);
  Outcome erase_part(const TableState& table, const btree::KeyRange& range, std::uint64_t& rows,
                     std::string& next);
  Outcome call(const TableState& table, FunctionRef<Outcome(const TableWrites&)> write);
  Outcome call_once(const TableState& table, FunctionRef<Outcome(const TableWrites&)> write,
                    txn::Transaction& by);
  [[nodiscard]] Outcome make_own(const TableState& table);
  void require_whole() const;
  void require_open() const;

  txn::Transactions& transactions_;
  TableCatalog& tables_;
  txn::Transaction& by_;
  CommitStatusPtr commit_status_;
  std::map<const TableState*, AscendingRowBuffer>
      kept_;                                 ///< the catalog keeps the tables of a definer
  std::optional<btree::LeafWriter> writer_;  ///< of all runs, one after the other
  RowsInFlight sent_;                        ///< by a run of writer_
  bool is_broken_ = false;                   ///< a call was done half-way
  bool is_published_ = false;
};

}  // namespace palimpsest::engine
