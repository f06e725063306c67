// Looking at the chain of a record's versions.
//
// Latching: the caller holds the latch of the entry's page, shared at least; the chain's is taken
//           for the length of a call. Failure: none; nothing allocates.
// Thread-safety: all functions, from any thread.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/ids.h"
#include "versioning/commit_status.h"
#include "versioning/entry.h"
#include "versioning/version.h"

namespace palimpsest::versioning {

/// Who looks: what had been committed at `snapshot`, and what his own transaction has done.
struct ReadView {
  Gsn snapshot{};
  const CommitStatus* mine = nullptr;
  BulkEpoch bulk = kNoEpoch;  ///< not none: he is this bulk
  /// Whoever has a start below this had ended before the snapshot was taken (snapshots.h); 0: that
  /// is known of nobody.
  Gsn stable{0};
};

/// What has come of looking at a chain.
enum class Looked : std::uint8_t {
  undecided = 1,  ///< the image is void; the caller lets go of all latches and asks again
  found,          ///< the read view sees a change of the chain
  at_its_end,     ///< it sees none: what was before the oldest one may be said by a mark (spans.h)
};

/// Takes back in `image`, the record as it lies in its page, what the read view does not see.
template <RecordImage Image>
[[nodiscard]] Looked look_back(const Entry& entry, const ReadView& read_view, Image& image) {
  const std::lock_guard latch(entry.chain_latch());
  for (const Version* version = entry.newest(); version != nullptr; version = version->older()) {
    const Visibility visibility = version->at(read_view.snapshot, read_view.mine);
    if (visibility != Visibility::invisible) {
      return visibility == Visibility::visible ? Looked::found : Looked::undecided;
    }
    version->take_back(image);
  }
  return Looked::at_its_end;
}
/// The same of a record without a mark: whether it is decided.
template <RecordImage Image>
[[nodiscard]] bool view(const Entry& entry, const ReadView& read_view, Image& image) {
  return look_back(entry, read_view, image) != Looked::undecided;
}

/// Whether the newest change is one that the read view does not see: he must not write (first
/// updater wins). The entry has no other writer. Here and below the page is held exclusively:
/// nobody adds versions.
[[nodiscard]] inline bool has_changed_since(const Entry& entry,
                                            const ReadView& read_view) noexcept {
  if (!entry.has_versions()) [[likely]] {
    return false;
  }
  const std::lock_guard latch(entry.chain_latch());
  const Version* const newest = entry.newest();
  return newest != nullptr && newest->at(read_view.snapshot, read_view.mine) != Visibility::visible;
}

/// The date of the newest change of an entry that has no writer; 0 if there are no versions.
[[nodiscard]] inline Gsn newest_date(const Entry& entry) noexcept {
  const std::lock_guard latch(entry.chain_latch());
  const Version* const newest = entry.newest();
  return newest == nullptr ? Gsn{0} : newest->timestamp();
}

/// Whether the record was made by this transaction, and by nobody else before: for others it is not
/// there.
[[nodiscard]] inline bool is_new_of(const Entry& entry, const CommitStatus* mine) noexcept {
  if (!entry.has_versions()) [[likely]] {
    return false;
  }
  const std::lock_guard latch(entry.chain_latch());
  const Version* const newest = entry.newest();
  return newest != nullptr && newest->is_of(mine) && newest->kind() == VersionKind::inserted;
}

}  // namespace palimpsest::versioning
