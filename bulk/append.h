// Many records appended to a tree at once, as leaves of their own (leaf_builder.h): as long as they
// ascend, beyond all that are there, and lie in leaves.
//
//   auto run = begin_append(tree, by, records, writer);  // its leaves are being written
//   ...                                                  // anything but another run
//   end_append(tree, by, *run, done);                    // the tree has them
//
// For who is alone, and undoes what he has done without the log. The tree does not have the records
// before end_append(), and shows no sign of them but an empty last leaf; a run may also be let go
// in between, and a crash lets it go.
//
// Latching and failure: as BTree; in between the caller may be in other transactions. What could
// not be written is thrown by either function.
// Thread-safety: for each tree and writer, by one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "btree/btree.h"
#include "btree/write_context.h"
#include "btree/write_outcome.h"
#include "bulk/leaf_builder.h"
#include "bulk/leaf_writer.h"

namespace palimpsest::btree {

/// Begins to append the first records that can be: how many, says the run. Null: none. `records`
/// are not needed any more when it returns.
[[nodiscard]] std::unique_ptr<LeafBuilder> begin_append(const BTree& tree, const WriteContext& by,
                                                        std::span<const NewRecord> records,
                                                        LeafWriter& writer);
/// Waits until the leaves are durable, then links them into the tree, stopping at the first that no
/// longer fits because the tree's end has changed. `done` counts the records linked, also if this
/// throws. The run is over.
void end_append(const BTree& tree, const WriteContext& by, LeafBuilder& run, std::size_t& done);
/// Both.
void append(const BTree& tree, const WriteContext& by, std::span<const NewRecord> records,
            LeafWriter& writer, std::size_t& done);

}  // namespace palimpsest::btree
