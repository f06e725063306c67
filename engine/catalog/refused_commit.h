// Errors of commits that failed validation.
#pragma once

#include "palimpsest/error.h"

#include "engine/catalog/table_catalog.h"
#include "txn/validation.h"

namespace palimpsest::engine {

/// The error of a failed commit, naming table, and row or index.
[[nodiscard]] Error named(const txn::NotSerializable& error, const TableCatalog& tables);

}  // namespace palimpsest::engine
