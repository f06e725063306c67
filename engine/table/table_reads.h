// Reads rows of a table: by primary key, by a unique index, or a range in place.
//
// A row is copied out of its leaf, and in a transaction the owner latch is released, before the
// caller sees the row: so the caller may use the engine. visit() and visit_many() instead show rows
// in place, with the leaf's latch and the owner latch held: their caller must neither block nor use
// the engine. A large row is not in its leaf: a visit releases the leaf, reads the row, shows it,
// and continues behind it.
//
// By an index, the entry is read first and then its row: of one snapshot, if the access has a view.
// Without one, the row is read in its newest state, and may be gone by then.
// Latching: no latch but the owner latch while pages are read; none while the caller looks at rows,
// except for visits.
// Failure: Error not_found, if the table was dropped meanwhile (the caller does not see what was
// read then); corruption for damaged rows; what trees throw.
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

  /// Without a transaction: whether the row exists, if its newest state is known to be committed,
  /// and the rows were not replaced meanwhile. Otherwise returns nothing, and has shown nothing.
  std::optional<bool> read_stable(const Key& key, ReadRow use) const;
  /// False if there is no such row.
  bool read(const Key& key, ReadRow use) const;
  /// Brings the pages of all keys into memory first, with overlapping reads.
  void read_many(std::span<const Key> keys, ReadRows use) const;
  /// As read_many(), but shows rows as visit() does.
  void visit_many(std::span<const Key> keys, ReadRows visit) const;
  void visit(const Range& range, VisitRow visit, Direction direction) const;
  /// Reads the row with these values in all columns of a unique index; none of them is null.
  bool read_by_index(std::string_view index, const Key& key, ReadRow use) const;

 private:
  bool read_encoded(ByteView key, ReadRow use, btree::LastLeaf* last) const;
  void show(ByteView key, ByteView bytes, ReadRow use) const;

  TableAccess access_;
};

}  // namespace palimpsest::engine
