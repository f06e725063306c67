// Appends many records to a tree at once, as leaves of their own (leaf_builder.h): as long as they
// ascend, lie beyond all records of the tree, and are stored in leaves.
//
//   auto run = begin_append(tree, by, records, writer);  // its leaves are being written
//   ...                                                  // anything but another run
//   end_append(tree, by, *run, done);                    // the tree contains them
//
// For a caller that is alone on the tree, and that undoes its changes without the log. Before
// end_append() the tree does not contain the records, and shows no sign of them but an empty last
// leaf. In between, the caller or a crash may drop the run.
//
// Latching and failure: as BTree; between the two calls the caller may run other transactions.
// Either function throws what could not be written.
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

namespace palimpsest::bulk {

/// Begins to append the longest prefix of `records` that can be appended; the run holds the count.
/// Null if the prefix is empty. `records` are not needed after the return.
[[nodiscard]] std::unique_ptr<LeafBuilder> begin_append(const btree::BTree& tree,
                                                        const btree::WriteContext& by,
                                                        std::span<const btree::NewRecord> records,
                                                        LeafWriter& writer);
/// Waits until the leaves are durable, then links them into the tree, stopping at the first that no
/// longer fits because the tree's end has changed. `done` counts the records linked, even if this
/// throws. The run cannot be used afterwards.
void end_append(const btree::BTree& tree, const btree::WriteContext& by, LeafBuilder& run,
                std::size_t& done);
/// begin_append() followed by end_append().
void append(const btree::BTree& tree, const btree::WriteContext& by,
            std::span<const btree::NewRecord> records, LeafWriter& writer, std::size_t& done);

}  // namespace palimpsest::bulk
