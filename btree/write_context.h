// The context of a change: the writer that claims the records, and the log that the changes go to.
//
// Passed by reference down every change. Without a writer, no conflicts are checked. Without a log,
// nothing is logged, and the tree is as durable as its page file (loads, tests, measurements).
// Either all changes of a database are logged, or none.
// Latching: prepare() is called with no latch held; it may wait for log space.
// Thread-safety: belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "btree/large/large_value_format.h"
#include "btree/log/tree_record_format.h"
#include "btree/space_reclaimer.h"
#include "buffer/page_guard.h"
#include "buffer/page_header.h"
#include "versioning/chain.h"
#include "versioning/prune.h"
#include "versioning/read_set.h"
#include "versioning/snapshots.h"
#include "versioning/version_buffer.h"
#include "versioning/writer.h"
#include "wal/transaction_log.h"

namespace palimpsest::btree {

/// The effects of a transaction on large values that last beyond its changes.
struct LargeValueOutcome {
  /// Replaced or removed values: their pages are free once the transaction has committed.
  std::vector<LargeValueDescriptor> given_up;
  /// Some values were written: their pages must be durable before the commit record.
  bool wrote = false;
};

struct WriteContext {
  WriteContext() = default;
  /// Claims records without a log.
  WriteContext(versioning::Writer& claims) noexcept  // NOLINT(google-explicit-constructor)
      : writer(&claims) {}
  /// For a transaction; `claims` may be null.
  WriteContext(versioning::Writer* claims, wal::TransactionLog& records,
               LargeValueOutcome& values) noexcept
      : writer(claims), log(&records), large_values(&values) {}

  versioning::Writer* writer = nullptr;
  /// No other writer changes what this one changes: records are claimed only to keep what undo will
  /// need, that is, the space of values that get shorter, and ghosts. For bulks.
  bool is_alone = false;
  /// Not null: changes leave versions, and changing a record is a conflict if `read_view` does not
  /// see its newest state (first updater wins). `writer` is not null then.
  versioning::VersionBuffer* versions = nullptr;
  /// Recorded with the versions: the transaction's start (versioning/snapshots.h). The largest:
  /// unknown, and the leaf does not count as stable for any snapshot.
  Gsn start = versioning::kUnknownStart;
  /// The read view, if there are versions or if this is a bulk. A bulk leaves virtual versions
  /// (virtual_version.h), and also changes records of which other transactions have versions.
  versioning::ReadView read_view{};
  versioning::ReadSet* reads = nullptr;  ///< not null: gets the records that a call reports on
  versioning::Pruner* pruner = nullptr;  ///< not null if there are versions
  SpaceReclaimer* reclaimer = nullptr;   ///< null: no space can be reclaimed
  wal::TransactionLog* log = nullptr;
  LargeValueOutcome* large_values = nullptr;  ///< not null if there is a log

  /// Adds a record to the read set: a call reports its state without claiming it, so a serializable
  /// transaction has read it.
  void note_read(TreeId tree, ByteView key) const noexcept {
    if (reads != nullptr) [[unlikely]] {
      reads->add_key(tree, key);
    }
  }

  /// Reserves what one change of this record needs beyond its page. Throws bad_alloc, and what
  /// TransactionLog::reserve() throws; nothing has changed then.
  void prepare(ByteView key, std::uint32_t page_size) const {
    if (writer != nullptr) {
      writer->prepare(key);
    }
    if (versions != nullptr) {
      versions->prepare(record_bytes_max(page_size));
    }
    if (log != nullptr) {
      std::vector<LargeValueDescriptor>& given_up = large_values->given_up;
      if (given_up.size() == given_up.capacity()) {
        given_up.reserve(2 * given_up.size() + 4);
      }
      log->reserve({.change_bytes = change_bytes_max(page_size), .system_bytes = 0});
    }
  }
  /// prepare() for changes of several records: the first can certainly be made; has_at_hand() says
  /// whether the reservation suffices for the next one.
  void prepare_some(std::span<const ByteView> keys, std::uint32_t page_size) const {
    prepare(keys.front(), page_size);
    if (keys.size() == 1) {
      return;
    }
    if (writer != nullptr) {
      writer->prepare_many(keys.size(), longest_of(keys));
    }
    const std::size_t changes =
        std::clamp<std::size_t>(kTogetherBytesMax / change_bytes_max(page_size), 1, keys.size());
    if (log != nullptr) {
      log->reserve({.change_bytes = change_bytes_max(page_size), .changes = changes});
    }
  }
  /// Whether one more change is covered by what is reserved. Does not wait; may be called under
  /// latches.
  [[nodiscard]] bool has_at_hand(ByteView key, std::uint32_t page_size) const noexcept {
    if (writer != nullptr && !writer->has_at_hand(key)) {
      return false;
    }
    if (versions != nullptr && !versions->has_room(record_bytes_max(page_size))) {
      return false;
    }
    return log == nullptr || (large_values->given_up.size() < large_values->given_up.capacity() &&
                              log->has_at_hand({.change_bytes = change_bytes_max(page_size)}));
  }
  /// prepare() for inserts of several records, none over a ghost; lengths are those of the longest.
  void prepare_inserts(std::size_t count, std::size_t key_bytes, std::size_t record_bytes) const {
    if (writer != nullptr) {
      writer->prepare_many(count, key_bytes);
    }
    if (versions != nullptr) {
      versions->prepare(count * versioning::Version::size_bytes(0));
    }
    if (log != nullptr) {
      log->reserve({.change_bytes = kRecordHeadBytesMax + record_bytes, .changes = count});
    }
  }
  /// prepare() for a change of the structure.
  void prepare_structure_change(std::uint32_t page_size) const {
    if (log != nullptr) {
      log->reserve({.change_bytes = 0, .system_bytes = max_record_bytes(page_size)});
    }
  }
  /// prepare() for resolving a leaf, with a change of one of its records.
  void prepare_resolution(ByteView key, std::uint32_t page_size) const {
    prepare(key, page_size);
    if (log != nullptr) {
      log->reserve({.change_bytes = change_bytes_max(page_size),
                    .system_bytes = max_record_bytes(page_size)});
    }
  }
  /// For an optional change of the structure: returns false instead of waiting for log space.
  [[nodiscard]] bool try_prepare_structure_change(std::uint32_t page_size) const {
    return log == nullptr ||
           log->try_reserve({.change_bytes = 0, .system_bytes = max_record_bytes(page_size)},
                            [] { return true; });
  }

  /// Notes a removal: its space may become reclaimable later.
  void note_removal() const noexcept {
    if (reclaimer != nullptr) {
      reclaimer->note_removal();
    }
  }
  /// Whether the transaction was asked to end because other writers wait for log space it pins.
  [[nodiscard]] bool is_cancelled() const noexcept { return log != nullptr && log->is_cancelled(); }
  /// Called during long optional work, with no latch held: throws transaction_too_old or no_space
  /// if the transaction was cancelled.
  void require_not_cancelled() const {
    if (is_cancelled()) {
      log->reserve({});
    }
  }

  [[nodiscard]] bool is_bulk() const noexcept { return read_view.bulk != kNoEpoch; }
  /// The read view that sees the newest state, including all that this one may change. Null: the
  /// newest state itself.
  [[nodiscard]] const versioning::ReadView* newest() const noexcept {
    return is_bulk() ? &read_view : nullptr;
  }
  [[nodiscard]] std::size_t change_bytes_max(std::uint32_t page_size) const noexcept {
    return is_bulk() ? max_bulk_change_bytes(page_size) : max_record_change_bytes(page_size);
  }
  [[nodiscard]] static std::size_t longest_of(std::span<const ByteView> keys) noexcept {
    return std::ranges::max(keys, {}, &ByteView::size).size();
  }
  /// Most log space reserved at once for changes that are prepared together.
  static constexpr std::size_t kTogetherBytesMax = std::size_t{1} << 16U;

  /// Whether a removal must be undoable; the record then becomes a ghost.
  [[nodiscard]] bool can_be_undone() const noexcept { return writer != nullptr || log != nullptr; }
  /// Whether ghosts with idle entries may be purged. Without claims, the transaction's own ghosts
  /// cannot be told from other ghosts.
  [[nodiscard]] bool may_purge() const noexcept {
    return log == nullptr || writer != nullptr || !log->has_changes();
  }
};

[[nodiscard]] inline PageId page_id_of(const buffer::ExclusivePage& page) noexcept {
  return page.frame().page_id.load(std::memory_order_relaxed);
}
/// GSN of the newest change of a page.
[[nodiscard]] inline Gsn gsn_of(const std::byte* page) noexcept {
  Gsn gsn;
  std::memcpy(&gsn, page + offsetof(buffer::PageHeader, gsn), sizeof gsn);
  return gsn;
}
/// Stamps a page that a record frees, and that is not written any more.
inline void set_gsn_of_freed(buffer::ExclusivePage& page, Gsn gsn) noexcept {
  std::memcpy(page.modify() + offsetof(buffer::PageHeader, gsn), &gsn, sizeof gsn);
}
/// Stamps a dirty page after its record was appended: page_age.h (1).
inline void set_gsn(buffer::ExclusivePage& page, Gsn gsn) noexcept {
  PALIMPSEST_DEBUG_CHECK(page.frame().has(buffer::FrameFlag::dirty),
                         "a page is marked dirty before the record of its change is appended");
  set_gsn_of_freed(page, gsn);
}

/// Logs a change of one record by encode() and encoded_bytes() of tree_record_encode.h, and stamps
/// its leaf. The leaf is marked dirty before the record can be seen, so that a checkpoint that
/// begins behind the record finds the page. Returns the record's GSN.
template <class Change>
Gsn log_change(const WriteContext& by, buffer::ExclusivePage& leaf, const Change& change) noexcept {
  static_cast<void>(leaf.modify());
  const Gsn gsn =
      by.log->append_change(gsn_of(leaf.page()), wal::BodyKind::tree, change.encoded_bytes(),
                            [&](MutableBytes into) { change.encode(into); });
  set_gsn(leaf, gsn);
  return gsn;
}

/// Logs a redo-only change; the caller stamps its pages. `at_least`: their highest GSN.
template <class Change>
[[nodiscard]] Gsn log_system_change(const WriteContext& by, Gsn at_least,
                                    const Change& change) noexcept {
  return by.log->append_system(at_least, wal::BodyKind::tree, change.encoded_bytes(),
                               [&](MutableBytes into) { change.encode(into); });
}

}  // namespace palimpsest::btree
