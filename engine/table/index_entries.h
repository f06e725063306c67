// Updates the entries of a table's indexes to match a row, within a statement.
//
// The caller has claimed the row (or has just inserted it): the entries that name its primary key
// belong to it alone. In an index that is not unique, all entries name a primary key; so one that
// exists already, or is missing, contradicts the table. An entry of a unique index may be another
// row's, and claimed by another transaction: then the outcome is exists or conflict, and the
// statement is undone.
//
// Failure: corruption, naming table and index; invalid_argument for entries longer than keys may
// be.
// Thread-safety: belongs to one statement.
#pragma once

#include <cstddef>
#include <span>

#include "palimpsest/outcome.h"
#include "palimpsest/value.h"

#include "base/bytes.h"
#include "btree/btree.h"
#include "btree/write_context.h"
#include "engine/format/table_format.h"
#include "engine/table/table_state.h"

namespace palimpsest::engine {

/// Whether two rows with the same key, which fit their table, have the same bytes in all indexed
/// columns.
[[nodiscard]] bool same_in_indexes(const TableFormat& format, ByteView a, ByteView b) noexcept;

/// A row's entry in index number `index`, as IndexCodec::encode() says, with a key that the index's
/// tree accepts; the values fit their columns. Throws invalid_argument, naming table, index and
/// row.
[[nodiscard]] IndexEntry entry_of(const TableDefinition& definition, std::size_t index,
                                  std::span<const Value> values, ByteView primary_key,
                                  KeyMemory& into);

class IndexEntries {
 public:
  /// For the row with this primary key.
  IndexEntries(const btree::WriteContext& by, const TableDefinition& definition,
               ByteView primary_key) noexcept
      : by_(&by), definition_(&definition), primary_key_(primary_key) {}

  /// The values are those of all columns, in declared order.
  [[nodiscard]] Outcome insert(std::span<const Value> values) const;
  [[nodiscard]] Outcome remove(std::span<const Value> values) const;
  /// Replaces only entries that differ.
  [[nodiscard]] Outcome replace(std::span<const Value> before, std::span<const Value> after) const;

 private:
  [[nodiscard]] const TableFormat& format() const noexcept { return *definition_->format; }
  [[nodiscard]] IndexEntry encode(std::size_t index, std::span<const Value> values,
                                  KeyMemory& into) const {
    return entry_of(*definition_, index, values, primary_key_, into);
  }
  [[nodiscard]] Outcome put(std::size_t index, const IndexEntry& entry,
                            std::span<const Value> values) const;
  [[nodiscard]] Outcome take(std::size_t index, const IndexEntry& entry,
                             std::span<const Value> values) const;

  /// Calls write(const WriteContext&, BTree&), in the right context for this index.
  template <class Write>
  [[nodiscard]] btree::WriteOutcome change(std::size_t index, const Write& write) const;

  const btree::WriteContext* by_;
  const TableDefinition* definition_;
  ByteView primary_key_;
};

}  // namespace palimpsest::engine
