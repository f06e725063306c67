// A reader of a table: the scope of one reading call, or of one cursor, and the reads themselves.
//
// What it sees:
//   isolation         in a transaction            without a transaction
//   none              the newest state            the newest state
//   read_committed    the call's own snapshot     as snapshot
//   serializable      the transaction's; adds     as snapshot
//                     to the read set
//   snapshot          the transaction's           a snapshot of its own; a single row is first read
//                                                 without one, which suffices if no transaction
//                                                 has changed it recently
//
// It reads by the definition that was visible when it began. That does not keep the table from
// being dropped, nor its trees from being reused. So everything that was read is confirmed before
// the caller sees it: if the trees are still the table's then, what was read from them before was
// the table's (table_state.h).
// Trees that were replaced, rather than dropped, stay until their readers have finished:
//   reader with a snapshot      as long as the snapshot, which sees their definition
//   reader without one          until the reader ends: its Call, in which it found the definition
//   reader without one, after   until the reader ends: it is counted in TreesLife::readers
//     keep(), for a long read or several calls
//   a single row without one    they do not stay: rows_are_current() is checked before the row is
//                               shown, and if they were replaced, the row is read by a snapshot
// A definition is retained in memory by the same Call, by the pointer that keep() takes, or by the
// caller (ReadableTable::kept); if that is the visible definition, no Call is needed.
//
// A row is copied out of its leaf, and in a transaction the owner latch is released, before the
// caller sees the row: so the caller may use the engine. visit() and visit_many() instead show rows
// in place, with the leaf's latch and the owner latch held: their caller must neither block nor use
// the engine. A large row is not in its leaf: a visit releases the leaf, reads the row, shows it,
// and continues behind it.
// By an index, the entry is read first and then its row: of one snapshot, if the reader has one.
// Without one, the row is read in its newest state, and may be gone by then.
//
// Latching: in a transaction, its owner latch while trees are read. No other latch while pages are
// read; none while the caller looks at rows, except for visits.
// Failure: Error not_found, naming the table or the index that does not exist, or not any more (the
// caller does not see what was read then); invalid_argument if the transaction has ended;
// corruption for damaged rows; what trees and transactions throw.
// Thread-safety: belongs to one thread; a read excludes other calls of the transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "palimpsest/row.h"
#include "palimpsest/table.h"

#include "btree/btree.h"
#include "engine/format/table_format.h"
#include "engine/table/encoded_keys.h"
#include "engine/table/table_state.h"
#include "txn/read_scope.h"
#include "txn/transactions.h"

namespace palimpsest::engine {

/// What a call reads.
enum class Reads : std::uint8_t {
  one_row = 1,
  range,    ///< in one call
  several,  ///< several rows, or an entry and its row, of one snapshot
  cursor,   ///< in several calls
};

/// A table as a caller hands it to readers, which it outlives.
struct ReadableTable {
  const TableState* table;
  const TableDefinition* kept = nullptr;  ///< a definition that the caller keeps in memory, or null
  /// Begin the snapshots of readers without a transaction; null: those read the newest state.
  txn::Transactions* transactions = nullptr;
};

class TableReader {
 public:
  /// Null `in`: without a transaction. Throws also too_many_transactions.
  TableReader(const ReadableTable& of, txn::Transaction* in, Reads reads);
  /// In a transaction, or of the newest state. Under read_committed, each read has a snapshot of
  /// its own.
  TableReader(txn::Transaction* in, const TableState& table)
      : TableReader({.table = &table}, in, Reads::one_row) {}
  TableReader(TableReader&&) noexcept = default;
  TableReader& operator=(TableReader&&) = delete;
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;
  ~TableReader() = default;

  // As the functions of Table:

  [[nodiscard]] std::optional<Row> get(const Key& key);
  /// False if there is no such row.
  bool read(const Key& key, ReadRow use);
  /// Brings the pages of all keys into memory first, with overlapping reads.
  void read_many(std::span<const Key> keys, ReadRows use) const;
  /// As read_many(), but shows rows as visit() does.
  void visit_many(std::span<const Key> keys, ReadRows visit) const;
  void visit(const Range& range, VisitRow visit, Direction direction) const;
  /// Reads the row with these values in all columns of a unique index; none of them is null.
  bool read_by_index(std::string_view index, const Key& key, ReadRow use) const;
  [[nodiscard]] RangeSize approximate_size(const Range& range) const;

  // For cursors and visits, which read trees themselves, within confirmed():

  /// Prepares for a long read, or for several calls.
  void keep();
  /// Calls read(), which reads trees, within the transaction, if there is one. Returns its result
  /// if the state that it has read still stands.
  template <class Read>
  decltype(auto) confirmed(Read&& read) const {
    if (in_ == nullptr) {
      return read();
    }
    const txn::ReadScope scope(*in_);
    confirm_transaction();
    if (view_ == nullptr) [[likely]] {
      return scope.confirmed(read);
    }
    const txn::ReadScope of_view(*view_);
    return scope.confirmed([&] { return of_view.confirmed(read); });
  }
  /// Whether the transaction, if there is one, is active, and not a later one of its slot. Reads in
  /// this order: if a later transaction is found active, its life is visible, too.
  [[nodiscard]] bool is_active() const noexcept {
    return in_ == nullptr || (in_->is_active() && in_->life() == life_);
  }

  [[nodiscard]] const TableFormat& format() const noexcept { return *definition_->format; }
  [[nodiscard]] const btree::BTree& rows() const noexcept { return *definition_->rows; }
  [[nodiscard]] const btree::BTree& index(std::size_t number) const noexcept {
    return *definition_->indexes[number];
  }
  /// The number of the index of that name. Throws not_found if it does not exist, or is newer than
  /// the snapshot.
  [[nodiscard]] std::size_t require_index(std::string_view name) const;
  [[nodiscard]] KeySpace key_space() const noexcept { return {format(), rows()}; }
  [[nodiscard]] KeySpace index_space(std::size_t number) const noexcept {
    return {format(), number, index(number)};
  }

  /// The view that reads use; null: the newest state.
  [[nodiscard]] const versioning::ReadView* read_view() const noexcept {
    if (bulk_ != nullptr) [[unlikely]] {
      return bulk_;
    }
    const txn::Transaction* const by = view_owner();
    return by == nullptr ? nullptr : by->read_view();
  }
  /// The cache of the transaction that provides the read view; null without one, and for a bulk
  /// that reads what it changes.
  [[nodiscard]] btree::GhostRun* ghost_run() const noexcept {
    txn::Transaction* const by = view_owner();
    return by != nullptr && bulk_ == nullptr ? &by->ghost_run() : nullptr;
  }
  /// The transaction's read set, to be added to; null if it will not be validated.
  [[nodiscard]] versioning::ReadSet* read_set() const noexcept {
    return in_ == nullptr ? nullptr : in_->reads();
  }
  /// Adds one key to the read set, whether there is a record or not.
  void note_read(const btree::BTree& tree, ByteView key) const {
    if (versioning::ReadSet* const reads = read_set()) [[unlikely]] {
      reads->add_key(tree.id(), key);
    }
  }

  /// Throws snapshot_too_old if the snapshot was cancelled.
  void confirm_view() const {
    if (const txn::Transaction* const by = view_owner()) {
      by->require_view();
    }
  }
  /// Called after reading rows, also under their leaf's latch. Throws not_found unless they were
  /// the table's.
  void confirm_rows() const {
    if (!rows_are_current() && !still_has_rows()) [[unlikely]] {
      refuse_missing_table(*of_.table);
    }
  }
  /// As confirm_rows(), for an index's entries.
  void confirm_index(std::size_t number) const {
    if (!rows_are_current() && !still_has_index(number)) [[unlikely]] {
      refuse_missing_index(format().stored().indexes[number].schema.name);
    }
  }

 private:
  /// A row that is looked up, with its memory.
  struct Sought {
    explicit Sought(const TableReader& reader) noexcept
        : row(reader.rows().descent().page_size()) {}

    KeyMemory memory;
    ByteView key;
    btree::ValueCopy row;
  };

  void take_snapshot();
  void find_definition();
  void look_up_definition();
  /// The transaction that provides the read view, or null.
  [[nodiscard]] txn::Transaction* view_owner() const noexcept {
    return view_ != nullptr ? view_ : in_;
  }
  /// Whether its snapshot, unless cancelled, keeps the definition that it sees.
  [[nodiscard]] bool has_snapshot() const noexcept {
    return view_ != nullptr || (in_ != nullptr && txn::has_one_snapshot(in_->isolation()));
  }
  /// Throws invalid_argument if the transaction has ended and its slot has begun another one.
  void confirm_transaction() const {
    if (in_->life() != life_) [[unlikely]] {
      refuse_ended();
    }
  }
  /// False also if the rows were replaced.
  [[nodiscard]] bool rows_are_current() const noexcept {
    return of_.table->visible_to(in_) == definition_;
  }
  [[nodiscard]] bool still_has_rows() const noexcept;
  [[nodiscard]] bool still_has_index(std::size_t number) const noexcept;
  [[nodiscard]] bool find(const Key& key, Sought& sought);
  [[nodiscard]] bool find(ByteView key, btree::ValueCopy& row) const;
  void show(ByteView key, ByteView bytes, ReadRow use) const;
  [[noreturn]] static void refuse_ended();
  [[noreturn]] void refuse_missing_index(std::string_view name) const;

  ReadableTable of_;
  txn::TransactionPtr own_;           ///< a snapshot that it has begun itself, or null
  txn::Transaction* in_;              ///< null: the newest state is read
  std::uint64_t life_ = 0;            ///< of in_: its slot may have had other transactions since
  txn::Transaction* view_ = nullptr;  ///< not null: provides in_'s read view
  const versioning::ReadView* bulk_ = nullptr;  ///< of a bulk that changes the table; else null
  bool is_stable_enough_ = false;  ///< rows are shown only if known to be committed, and current
  CallEpochs::Call call_;
  DefinitionPtr kept_;
  TreesReader waited_for_;
  const TableDefinition* definition_ = nullptr;
};

}  // namespace palimpsest::engine
