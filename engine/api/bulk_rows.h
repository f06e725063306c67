// A bulk transaction: changes any number of rows without retaining versions, or pinning the log,
// for its duration.
//
// Every call changes trees by a transaction of its own, which commits at once and leaves no
// versions: so memory and log are used for one call at a time.
// - A table without rows gets trees of the bulk's own (catalog/table_catalog.h), which no other
//   transaction can find. When the bulk commits, the tables' definitions name them, for every
//   snapshot from the commit on (I-7, table/table_state.h); older snapshots keep seeing the
//   previous trees. If the bulk does not commit, no definition names its trees, and they are
//   emptied in the background, after a crash as well.
// - A table with rows is changed in place: the bulk's changes are virtual versions, under its epoch
//   (btree/node/virtual_version.h), which other transactions see from its commit on (I-9,
//   versioning/bulk_epochs.h). If the bulk does not commit, they are undone (bulk/bulk_sweep.h).
//
// Rows that come in ascending order, beyond all rows of the table, are buffered until there are a
// few MiB of them, or the bulk reads or changes something else; then they are appended as leaves of
// their own (bulk/ascending_row_buffer.h). One thread writes all leaves of the bulk, while the next
// rows are collected (rows_in_flight.h). The buffers of all tables together take kKeptBytesMax;
// before they exceed it, those of other tables are appended. Before the bulk reads or changes
// anything else, and before it commits, all rows have arrived. So a call may report that rows of
// earlier calls could not be written; these are retained, and tried again. Neither appended rows
// nor the erased parts of a range are undone by the log: if a call with more rows than a buffer
// holds, or with a range of many leaves, fails half-way, the bulk can only be rolled back.
//
// A call that waits for log space for its first record may be the oldest transaction, and be asked
// to give way. It has changed nothing then, and begins again.
//
// Writers of these tables are in conflict until the bulk has ended; readers wait for nothing.
// Latching: the bulk's owner latch, held across the call, so that the bulk cannot end in the
// middle. A call begins a transaction, which takes one more worker slot.
// Failure: Error gate_timeout, not_found; too_many_transactions; otherwise as TableWriter; and from
// any call, what appending buffered rows throws. A call that fails has changed nothing. Error
// failed if an earlier call has failed half-way.
// Source: Umbra-MVCC 3.2, for the guarantees of a bulk.
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
#include "engine/table/table_writer.h"
#include "txn/transactions.h"

namespace palimpsest::engine {

class Bulk {
 public:
  /// `by` has not changed anything, and changes only through the bulk. All arguments outlive this.
  Bulk(txn::Transactions& transactions, TableCatalog& tables, txn::Transaction& by)
      : transactions_(transactions),
        tables_(tables),
        by_(by),
        commit_status_(std::make_shared<versioning::CommitStatus>()) {}

  Outcome write(const TableState& table, FunctionRef<Outcome(const TableWriter&)> write);
  /// As the functions of TableWriter.
  Outcome insert(const TableState& table, const Values& row);
  Outcome insert(const TableState& table, const EncodedRow& row);
  Outcome insert_many(const TableState& table, std::span<const EncodedRow> rows);
  /// Erases the range part by part. A part that was erased is not undone if the call fails.
  ErasedRange erase_range(const TableState& table, const Range& range);
  /// Writes all buffered rows to their trees. Called before the bulk reads.
  void append_kept();

  Outcome create_table(const TableSchema& schema);
  Outcome create_index(std::string_view table, const IndexSchema& schema);
  /// As TableCatalog::alter_table().
  Outcome alter_table(std::string_view table, AlterSchema to, const ConvertRow* convert);
  /// Called before by_ commits; may be called again; nothing can be changed afterwards. Throws
  /// conflict if another transaction has changed the same definitions.
  void publish();
  /// Called when by_ has ended, or is about to be rolled back: waits until nothing is being
  /// written, and releases pages and rows. The bulk is over then.
  void let_go() noexcept;

  /// Bound on the memory of buffered rows, give or take a piece.
  static constexpr std::size_t kKeptBytesMax = 4 * bulk::RecordBuffer::kBytesMax;
  [[nodiscard]] std::size_t kept_bytes() const noexcept;

 private:
  template <class Row>
  Outcome insert_row(const TableState& table, const Row& row);
  [[nodiscard]] bool can_keep(const TableState& table, bulk::AscendingRowBuffer& rows,
                              std::span<const btree::NewRecord> records);
  Outcome keep(const TableState& table, bulk::AscendingRowBuffer& rows,
               std::span<const btree::NewRecord> records);
  void append(const TableState& table, std::span<const btree::NewRecord> records,
              std::size_t& done);
  void append_at_once(const TableState& table, std::span<const btree::NewRecord> records);
  void append_kept_of(const TableState& table);
  void append_others(const bulk::AscendingRowBuffer& rows);
  void append_kept(const TableState& table, bulk::AscendingRowBuffer& rows);
  void send_kept(const TableState& table, bulk::AscendingRowBuffer& rows);
  void await_sent();
  [[nodiscard]] bulk::LeafWriter& writer_of(const TableState& table);
  Outcome erase_part(const TableState& table, const btree::KeyRange& range, std::uint64_t& rows,
                     std::string& next);
  Outcome call(const TableState& table, FunctionRef<Outcome(const TableWriter&)> write);
  Outcome call_once(const TableState& table, FunctionRef<Outcome(const TableWriter&)> write,
                    txn::Transaction& by);
  [[nodiscard]] Outcome make_own(const TableState& table);
  void require_whole() const;
  void require_open() const;

  txn::Transactions& transactions_;
  TableCatalog& tables_;
  txn::Transaction& by_;
  CommitStatusPtr commit_status_;
  std::map<const TableState*, bulk::AscendingRowBuffer>
      kept_;                                ///< the catalog keeps the tables of a definer
  std::optional<bulk::LeafWriter> writer_;  ///< for all runs, one after the other
  RowsInFlight sent_;                       ///< their run uses writer_
  bool is_broken_ = false;                  ///< a call has failed half-way
  bool is_published_ = false;
};

}  // namespace palimpsest::engine
