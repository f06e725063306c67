// TPC-H's eight tables as schemas: for the API, as text for `palimpsest load --schema`, and the
// mapping of columns to members of a row.
//
// Types are those of clause 1.4: identifiers of orders have 64 bits, all other identifiers 32;
// decimals have 12 digits, two after the point; fixed texts are character(n), variable ones
// varchar(n).
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "palimpsest/database.h"
#include "palimpsest/schema.h"
#include "palimpsest/table_of.h"

#include "experiments/tpch/rows.h"
#include "experiments/tpch/scale.h"

namespace palimpsest::experiments::tpch {

[[nodiscard]] TableSchema schema_of(TableId table);
/// "r_regionkey int32 primary key, r_name ...", on one line.
[[nodiscard]] std::string schema_text(TableId table);

/// The tables of a database, which has all eight, as rows.
struct Tables {
  explicit Tables(const Database& database);

  TableOf<RegionRow> region;
  TableOf<NationRow> nation;
  TableOf<SupplierRow> supplier;
  TableOf<CustomerRow> customer;
  TableOf<PartRow> part;
  TableOf<PartSuppRow> partsupp;
  TableOf<OrderRow> orders;
  TableOf<LineItemRow> lineitem;
};

}  // namespace palimpsest::experiments::tpch
