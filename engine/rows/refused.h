// Outcomes of writes and commits that are not done, naming table, index and key.
#pragma once

#include <cstddef>
#include <span>

#include "palimpsest/error.h"
#include "palimpsest/outcome.h"
#include "palimpsest/value.h"

#include "base/bytes.h"
#include "engine/definitions/table_catalog.h"
#include "engine/tables/table_format.h"
#include "txn/validation.h"

namespace palimpsest::engine {

/// By a row's primary key.
[[nodiscard]] Outcome refused(OutcomeKind kind, const TableFormat& format, ByteView key);
/// By the values of all columns of a row, and the index in the way.
[[nodiscard]] Outcome refused(OutcomeKind kind, const TableFormat& format, std::size_t index,
                              std::span<const Value> values);

/// What a commit was refused for, naming table, and row or index.
[[nodiscard]] Error named(const txn::NotSerializable& error, const TableCatalog& tables);

}  // namespace palimpsest::engine
