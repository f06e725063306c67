// Settles virtual versions of leaves before somebody else writes there (virtual_version.h).
//
// A leaf has one epoch, and only its bulk makes virtual versions. Who is to write to a leaf of
// another epoch than his own (none, if he is no bulk) does what the bulk's state asks for:
//
//   resolved      everybody sees it: all of the leaf's are kept
//   aborted      all are undone
//   committed    others see the records as they were. Of the one record, if the writer sees the
//                bulk and keeps versions, what it was becomes a version of the bulk's date, and its
//                virtual version is kept. Otherwise, and where the version would have to own a
//                large value, it stays, and is a conflict until the bulk is resolved
//   running      stays, and is a conflict: writers of the table are kept out
//
// Invariant: versions of a record with a virtual version are all older than that. So a reader who
// does not see the bulk takes versions back from what the record was before it, and one who does
// stops at the first.
// Readers resolve nothing; what they never write to stays as it is.
//
// Latching: the leaf exclusively; before it, for a version that is made late, the turn of the
//           bulk's (bulk_epochs.h). Log space and memory are made sure of with no latch held.
// Failure: as WriteContext::prepare(); nothing has changed then. One redo-only record for each.
// Thread-safety: all functions, from any thread.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/descent.h"
#include "btree/node/leaf_node.h"
#include "btree/write_context.h"
#include "buffer/page_guard.h"

namespace palimpsest::btree {

class VirtualVersionResolver {
 public:
  /// Of the leaves of a tree.
  explicit VirtualVersionResolver(const Descent& descent) noexcept : descent_(descent) {}

  /// Whether something has to be resolved before `by` writes to the record of this leaf.
  [[nodiscard]] bool is_in_the_way(const WriteContext& by, const buffer::ExclusivePage& leaf,
                                   ByteView key) const {
    const LeafView view(leaf.page(), descent_.page_size());
    return view.bulk_epoch() != by.read_view.bulk &&
           to_resolve(by, leaf, key) != ToResolve::nothing;
  }
  /// Lets go of the leaf, and resolves it, or the record.
  void resolve_for(const WriteContext& by, buffer::ExclusivePage leaf, ByteView key) const;
  /// Settles the leaf that covers `key`, if all can be. False: nothing was done, for lack of log
  /// space.
  bool resolve_all(const WriteContext& by, ByteView key) const;

 private:
  enum class ToResolve : std::uint8_t { nothing, keep, undo, one_record };

  [[nodiscard]] ToResolve to_resolve(const WriteContext& by, const buffer::ExclusivePage& leaf,
                                     ByteView key) const;
  void resolve_prepared(const WriteContext& by, ByteView key) const;
  void resolve_one(const WriteContext& by, ByteView key, BulkEpoch epoch) const;

  Descent descent_;
};

}  // namespace palimpsest::btree
