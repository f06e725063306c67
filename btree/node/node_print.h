// Nodes as text, for debuggers, failing tests and `palimpsest check`.
#pragma once

#include <string>

#include "base/bytes.h"

namespace palimpsest::btree {

/// Printable ASCII as it is, everything else as \xNN; cut off with "..." after `bytes_max` bytes.
[[nodiscard]] std::string printable(ByteView bytes, std::size_t bytes_max = 32);

/// The node's header on a few lines, then one line for each record or separator. Accepts any bytes
/// (8-aligned): what cannot be read is shown as the optimistic functions would return it.
[[nodiscard]] std::string print_node(ConstBytes page);

}  // namespace palimpsest::btree
