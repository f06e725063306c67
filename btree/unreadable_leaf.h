// Continuing a walk behind a leaf that cannot be read.
//
// The leaf's parent also holds the fence where the leaf ends. If the parent cannot be read either,
// the lowest readable inner node above it is used.
// Latching: none held by the caller; may do I/O. Thread-safety: any thread.
// Failure: throws what the pool throws if no inner node on the way can be read.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "btree/descent.h"

namespace palimpsest::btree {

/// The first key behind the unreadable page on the way to `key`. Nothing: that page extends to the
/// end of the tree.
[[nodiscard]] std::optional<std::string> key_behind_leaf(const Descent& descent, ByteView key);

}  // namespace palimpsest::btree
