// Checks that a table's rows are rows of it and that its indexes say what the rows say. For tests
// and for `palimpsest check`; that the trees are sound is audited before (btree/audit.h).
//
// Checked of each row: that key and bytes decode by the schema. Of each index: that every row has
// exactly its entry, found by a lookup; and if there are more entries than rows that have found
// theirs, whose each of them is. Different rows have different entries, since an entry names its
// row: so as many entries as such rows means that there are no others. Two rows with the same
// values in a unique index can have but one entry: the second row finds the first one's.
// Why lookups and not a sum of checksums over both sides: the answer is exact, and the first pass
// names what is wrong. Lookups are batched and sorted: what is larger than the pool is read once a
// batch, in order and with reads that overlap, and not once a row.
// Memory: beside the pool, the keys of a batch, the largest row, and the findings, bounded.
//
// Failure: what is wrong is a finding that names key and values as people read them; throws Error
//          if a tree cannot be read to its end.
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
  bool is_left_out = false;  ///< not looked at: its tree is damaged
  std::uint64_t entries = 0;
  btree::Findings findings;
};

struct TableAudit {
  std::uint64_t rows = 0;
  std::uint64_t damaged_rows = 0;   ///< of those; their entries are not looked for
  btree::Findings findings;         ///< of rows
  std::vector<IndexAudit> indexes;  ///< in the order of the definition's

  [[nodiscard]] bool sound() const noexcept;
  /// The findings, a line each.
  [[nodiscard]] std::string text() const;
};

struct TableAuditOptions {
  /// Indexes in these trees are left out. That of the rows is not among them.
  std::span<const btree::BTree* const> damaged{};
  /// For the keys of entries that are looked up together, of all indexes.
  std::uint64_t batch_bytes = std::uint64_t{16} << 20U;
};

[[nodiscard]] TableAudit audit_table(const TableDefinition& table,
                                     const TableAuditOptions& options = {});

}  // namespace palimpsest::engine
