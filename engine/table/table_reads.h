// Reads rows of a table: by primary key, by a unique index, or a range where they lie.
//
// A row is copied out of its leaf before the caller sees it, and in a transaction out of the
// transaction's owner latch, too: what the caller does with it may use the engine. visit() and
// visit_many() show rows where they lie instead, with the leaf's latch and the owner latch held:
// their caller must neither block nor use the engine. A large row is not in its leaf: they let the
// leaf go, read it, show it, and go on behind it.
//
// By an index, the entry is read first and then its row: of one snapshot, if the access has a view.
// Without one, the row is read as it is by then, and is not there if it is gone.
// Latching: no latch but the owner latch while pages are read; none while the caller looks at rows,
//           but for visits. Failure: Error not_found, if the table was dropped meanwhile (nobody
//           sees what was read then); corruption for rows that are damaged; what trees throw.
// Thread-safety: as TableAccess.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "palimpsest/table.h"

#include "engine/table/table_access.h"
#include "engine/table/table_state.h"
#include "txn/transaction.h"

namespace palimpsest::engine {

class TableReads {
 public:
  explicit TableReads(TableAccess access) : access_(std::move(access)) {}

  /// In no transaction: whether there is such a row, if its newest state is known to be committed,
  /// and the rows were not replaced meanwhile; nothing, and nothing was shown, otherwise.
  std::optional<bool> read_stable(const Key& key, ReadRow use) const;
  /// False if there is no such row.
  bool read(const Key& key, ReadRow use) const;
  /// Brings the pages of all keys into memory first, their reads overlapping.
  void read_many(std::span<const Key> keys, ReadRows use) const;
  /// The same, showing rows as visit() does.
  void visit_many(std::span<const Key> keys, ReadRows visit) const;
  void visit(const Range& range, VisitRow visit, Direction direction) const;
  /// The row with these values in all columns of a unique index; none has a null there.
  bool read_by_index(std::string_view index, const Key& key, ReadRow use) const;

 private:
  bool read_encoded(ByteView key, ReadRow use, btree::LastLeaf* last) const;
  void show(ByteView key, ByteView bytes, ReadRow use) const;

  TableAccess access_;
};

}  // namespace palimpsest::engine
