// Checks that a table's rows are valid and that its indexes match them. For tests and for
// `palimpsest check`; the trees themselves are audited before (btree/audit.h).
//
// For each row: key and bytes decode by the schema. For each index: every row has exactly its
// entry, found by a lookup; and if there are more entries than rows with an entry, each entry is
// checked for its row. Different rows have different entries, since an entry names its row: so if
// there are as many entries as such rows, there are no others. Two rows with the same values in a
// unique index can have only one entry: the second row finds the first one's.
// Why lookups and not checksums over both sides: the result is exact, and the first pass names the
// errors. Lookups are batched and sorted: a tree larger than the pool is read once per batch, in
// order and with overlapping reads, and not once per row.
// Memory: in addition to the pool, the keys of a batch, the largest row, and the findings, which
// are bounded.
//
// Failure: an error in the data is a finding with key and values in printable form; throws Error if
// a tree cannot be read to its end.
// Thread-safety: the table must not be changed during the call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "btree/audit.h"
#include "btree/btree.h"
#include "engine/table/table_state.h"

namespace palimpsest::engine {

struct IndexAudit {
  std::string name;
  bool is_unique = false;
  bool is_left_out = false;  ///< not checked: its tree is damaged
  std::uint64_t entries = 0;
  btree::Findings findings;
};

struct TableAudit {
  std::uint64_t rows = 0;
  std::uint64_t damaged_rows = 0;   ///< part of rows; their entries are not looked up
  btree::Findings findings;         ///< of rows
  std::vector<IndexAudit> indexes;  ///< in the order of the definition's

  [[nodiscard]] bool sound() const noexcept;
  /// The findings, one per line.
  [[nodiscard]] std::string text() const;
};

struct TableAuditOptions {
  /// Indexes in these trees are not checked. The rows' tree is not among them.
  std::span<const btree::BTree* const> damaged{};
  /// Bound on the keys of entries that are looked up together, for all indexes.
  std::uint64_t batch_bytes = std::uint64_t{16} << 20U;
};

[[nodiscard]] TableAudit audit_table(const TableDefinition& table,
                                     const TableAuditOptions& options = {});

}  // namespace palimpsest::engine
