// The part of `palimpsest check` that checks tables: their definitions, their rows, and whether
// their indexes match the rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "btree/btree.h"
#include "tools/palimpsest/check_report.h"
#include "txn/tree_catalog.h"

namespace palimpsest::tools {

/// A tree that was audited.
struct CheckedTree {
  std::string name;                    ///< in the catalog
  const btree::BTree* tree = nullptr;  ///< null if it cannot be opened
  bool sound = false;
  std::uint64_t records = 0;  ///< if it is sound
};

/// Checks all tables, except those with damaged trees. `batch_bytes`: memory for keys that are
/// looked up together. Throws Error if something cannot be read although the trees were sound.
void check_tables(txn::TreeCatalog& catalog, std::span<const CheckedTree> trees,
                  std::uint64_t batch_bytes, CheckReport& report);

}  // namespace palimpsest::tools
