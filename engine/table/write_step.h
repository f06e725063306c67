// The steps of one statement on a table's rows, of which TableWrites composes its calls.
//
// Failure and order: table_writes.h. Thread-safety: belongs to one statement.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/table.h"

#include "base/bytes.h"
#include "btree/btree.h"
#include "btree/leaf_walk.h"
#include "btree/write_context.h"
#include "engine/format/row_values.h"
#include "engine/table/encoded_keys.h"
#include "engine/table/index_entries.h"
#include "engine/table/row_change.h"
#include "engine/table/table_state.h"

namespace palimpsest::engine {

/// The record of a row from the values of all its columns; views of these and of the memory. Throws
/// invalid_argument for an invalid row.
[[nodiscard]] btree::NewRecord record_of(const TableDefinition& definition,
                                         std::span<const Value> values, KeyMemory& key_memory,
                                         std::string& row_memory);

/// A row to be written, with the memory that it may need.
class NewRow {
 public:
  /// Both throw invalid_argument for an invalid row. The arguments outlive this.
  NewRow(const TableDefinition& definition, const Values& row);
  NewRow(const TableDefinition& definition, const EncodedRow& row);
  NewRow(const NewRow&) = delete;
  NewRow& operator=(const NewRow&) = delete;

  [[nodiscard]] ByteView key() const noexcept { return key_; }
  [[nodiscard]] ByteView bytes() const noexcept { return bytes_; }
  /// Of all columns, in declared order.
  [[nodiscard]] std::span<const Value> values(const TableFormat& format);

 private:
  KeyMemory key_memory_;
  std::string encoded_;
  RowValues decoded_;
  ByteView key_;
  ByteView bytes_;
  std::span<const Value> values_;  ///< the caller's, if it gave any
};

/// The record of an encoded row. Throws invalid_argument for an invalid row.
[[nodiscard]] btree::NewRecord record_of(const TableDefinition& definition, const EncodedRow& row);

class WriteStep {
 public:
  WriteStep(const btree::WriteContext& by, const TableDefinition& definition,
            btree::LastLeaf* last = nullptr) noexcept
      : by_(&by), definition_(&definition), last_(last) {}

  [[nodiscard]] const TableDefinition& definition() const noexcept { return *definition_; }
  [[nodiscard]] const TableFormat& format() const noexcept { return *definition_->format; }
  [[nodiscard]] KeySpace key_space() const noexcept { return {format(), *definition_->rows}; }

  [[nodiscard]] Outcome insert(NewRow& row) const;
  [[nodiscard]] Outcome insert_many(std::span<const EncodedRow> rows) const;
  [[nodiscard]] Outcome insert_records(std::span<const btree::NewRecord> records) const;
  [[nodiscard]] Outcome append(
      FunctionRef<void(btree::BTree& rows, const btree::WriteContext& by)> work) const;
  [[nodiscard]] Outcome insert_entries(std::span<const btree::NewRecord> rows) const;
  [[nodiscard]] Outcome upsert(NewRow& row) const;
  [[nodiscard]] Outcome update(ByteView key, std::span<const ColumnChange> changes) const;
  [[nodiscard]] Outcome modify(ByteView key, EditRow edit) const;
  [[nodiscard]] Outcome modify_many(std::span<const ByteView> keys, EditRows edit) const;
  [[nodiscard]] Outcome rewrite(ByteView key, RewriteRow rewrite) const;
  [[nodiscard]] Outcome erase(ByteView key) const;
  /// Erases some rows of the range, from its lower end on, and adds their number to `rows`. `next`:
  /// where to continue; empty: the range is done. For a bulk, `rows` is right even if this throws.
  [[nodiscard]] Outcome erase_some(const btree::KeyRange& range, std::uint64_t& rows,
                                   std::string& next) const;

 private:
  [[nodiscard]] btree::BTree& rows() const noexcept { return *definition_->rows; }
  [[nodiscard]] bool has_indexes() const noexcept { return !format().indexes().empty(); }
  [[nodiscard]] IndexEntries entries(ByteView key) const noexcept {
    return {*by_, *definition_, key};
  }
  [[nodiscard]] Outcome found(OutcomeKind kind, ByteView key) const;
  /// The outcome of a change of a row that should exist.
  [[nodiscard]] Outcome outcome_of(const btree::WriteOutcome& written, ByteView key) const;
  template <class Change>
  [[nodiscard]] std::optional<btree::WriteOutcome> modify_in_leaf(ByteView key,
                                                                  Change& change) const;
  [[nodiscard]] Outcome claim_and_read(ByteView key, std::string& row) const;
  [[nodiscard]] Outcome update_claimed(ByteView key, std::span<const ColumnChange> changes) const;
  [[nodiscard]] Outcome rewrite_claimed(ByteView key, RewriteInPlace& rewrite) const;
  [[nodiscard]] Outcome replace(ByteView key, ByteView before, ByteView after) const;
  [[nodiscard]] Outcome replace(ByteView key, ByteView before, NewRow& after) const;
  [[nodiscard]] Outcome store(ByteView key, ByteView row) const;
  [[nodiscard]] Outcome erase_leaves(const btree::KeyRange& range, std::uint64_t& rows,
                                     std::string& next) const;
  [[nodiscard]] Outcome erase_one_by_one(const btree::KeyRange& range, std::uint64_t& rows,
                                         std::string& next) const;

  const btree::WriteContext* by_;
  const TableDefinition* definition_;
  btree::LastLeaf* last_;  ///< the caller's: the leaf of the rows used last, or null
};

}  // namespace palimpsest::engine
