// Outcomes of writes that are not done, naming table, index and key.
#pragma once

#include <cstddef>
#include <span>

#include "palimpsest/outcome.h"
#include "palimpsest/value.h"

#include "base/bytes.h"
#include "engine/format/table_format.h"

namespace palimpsest::engine {

/// By a row's primary key.
[[nodiscard]] Outcome refused(OutcomeKind kind, const TableFormat& format, ByteView key);
/// By the values of all columns of a row, and the index in the way.
[[nodiscard]] Outcome refused(OutcomeKind kind, const TableFormat& format, std::size_t index,
                              std::span<const Value> values);

}  // namespace palimpsest::engine
