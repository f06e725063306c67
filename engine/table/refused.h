// Outcomes of failed writes, naming table, index and key.
#pragma once

#include <cstddef>
#include <span>

#include "palimpsest/outcome.h"
#include "palimpsest/value.h"

#include "base/bytes.h"
#include "engine/format/table_format.h"

namespace palimpsest::engine {

/// Names a row by its primary key.
[[nodiscard]] Outcome refused(OutcomeKind kind, const TableFormat& format, ByteView key);
/// Names a row by the values of all its columns, and the index that refused it.
[[nodiscard]] Outcome refused(OutcomeKind kind, const TableFormat& format, std::size_t index,
                              std::span<const Value> values);

}  // namespace palimpsest::engine
