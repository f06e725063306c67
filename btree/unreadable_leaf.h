// Going on behind a leaf that cannot be read.
//
// Where its keys end its parent says, too; if that cannot be read either, the lowest inner node
// above it that can.
// Latching: none held by the caller; may do I/O. Thread-safety: any thread.
// Failure: throws what the pool throws if no inner node on the way can be read.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "btree/descent.h"

namespace palimpsest::btree {

/// The first key behind what cannot be read on the way to `key`; nothing: it goes to the tree's
/// end.
[[nodiscard]] std::optional<std::string> key_behind_leaf(const Descent& descent, ByteView key);

}  // namespace palimpsest::btree
