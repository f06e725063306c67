// Resolves virtual versions of leaves before another transaction writes there (virtual_version.h).
//
// A leaf has one epoch, and only the bulk of that epoch makes virtual versions there. A writer with
// another epoch (none, if it is not a bulk) acts on the state of the leaf's bulk:
//
//   retired     every snapshot sees the bulk: all virtual versions of the leaf are kept
//   aborted     all are undone
//   committed   older snapshots see the records as they were. If the writer sees the bulk and keeps
//               versions, the previous state of its one record becomes a version with the bulk's
//               date, and the record's virtual version is kept. Otherwise, and where the version
//               would have to own a large value, it stays, and is a conflict until the bulk retires
//   running     they stay, and are a conflict: writers of the table are kept out
//
// Invariant: all versions of a record with a virtual version are older than that. So a reader that
// does not see the bulk starts from the record before the bulk and undoes versions from there, and
// a reader that sees it stops at the first version.
// Readers resolve nothing; a leaf that is never written to stays as it is.
//
// Latching: the leaf exclusively; before it, for a late version, the mutex of the bulk's late
//           versions (bulk_epochs.h). Log space and memory are reserved with no latch held.
// Failure: as WriteContext::prepare(); nothing has changed then. One redo-only record per
//          resolution.
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
  explicit VirtualVersionResolver(const Descent& descent) noexcept : descent_(descent) {}

  /// Whether something must be resolved before `by` writes to this record of the leaf.
  [[nodiscard]] bool is_in_the_way(const WriteContext& by, const buffer::ExclusivePage& leaf,
                                   ByteView key) const {
    const LeafView view(leaf.page(), descent_.page_size());
    return view.bulk_epoch() != by.bulk_epoch() && to_resolve(by, leaf, key) != ToResolve::nothing;
  }
  /// Releases the leaf, then resolves it, or the one record.
  void resolve_for(const WriteContext& by, buffer::ExclusivePage leaf, ByteView key) const;
  /// Resolves the leaf that covers `key`, if all can be. False: nothing was done, for lack of log
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
