// Reading the chain of a record's versions.
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

/// What a reader sees: everything committed at `snapshot`, and the changes of its own transaction.
struct ReadView {
  Gsn snapshot{};
  const CommitStatus* mine = nullptr;
  BulkEpoch bulk = kNoEpoch;  ///< not none: the reader is this bulk
  /// Transactions with a start below this had ended before the snapshot was taken (snapshots.h); 0:
  /// nothing is known.
  Gsn stable{0};
};

/// The result of looking at a chain.
enum class Looked : std::uint8_t {
  /// The image is void. The caller asks again with a new one; it may keep its page latched, since a
  /// committer takes no latch until it has decided (decision 010).
  undecided = 1,
  found,       ///< the read view sees a change of the chain
  at_its_end,  ///< it sees none: a mark may stand for the state before the oldest (spans.h)
};

/// Takes back in `image`, which starts as the record on its page, the changes that the read view
/// does not see.
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
/// As look_back(), for a record without a mark. Returns whether it is decided.
template <RecordImage Image>
[[nodiscard]] bool view(const Entry& entry, const ReadView& read_view, Image& image) {
  return look_back(entry, read_view, image) != Looked::undecided;
}

/// Whether the read view does not see the newest change: then its transaction must not write (first
/// updater wins). The entry has no other writer. Here and below the page is held exclusively: no
/// thread adds versions.
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

/// Whether this transaction inserted the record, with none before: no other transaction sees it.
[[nodiscard]] inline bool is_new_of(const Entry& entry, const CommitStatus* mine) noexcept {
  if (!entry.has_versions()) [[likely]] {
    return false;
  }
  const std::lock_guard latch(entry.chain_latch());
  const Version* const newest = entry.newest();
  return newest != nullptr && newest->is_of(mine) && newest->kind() == VersionKind::inserted;
}

}  // namespace palimpsest::versioning
