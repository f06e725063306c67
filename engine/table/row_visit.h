// Visiting the rows of a range where they lie (TableReader::visit()).
#pragma once

#include "palimpsest/table.h"

#include "btree/leaf_walk.h"

namespace palimpsest::engine {

class TableReader;

/// Within TableReader::confirmed(): shows the rows of the range, confirmed, until `visit` returns
/// false, and adds what it has read to the read set. A leaf is latched meanwhile.
void visit_rows(const TableReader& reader, const btree::KeyRange& range, VisitRow visit,
                Direction direction);

}  // namespace palimpsest::engine
