// Errors of commits that validation refused, naming table, and row or index.
#pragma once

#include "palimpsest/error.h"

#include "engine/catalog/table_catalog.h"
#include "txn/validation.h"

namespace palimpsest::engine {

/// What a commit was refused for, naming table, and row or index.
[[nodiscard]] Error named(const txn::NotSerializable& error, const TableCatalog& tables);

}  // namespace palimpsest::engine
