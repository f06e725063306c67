// On whose behalf a tree is changed: who claims the records, and whose log says what was done.
//
// Passed by reference down every change. Without a writer nobody is asked; without a log nothing
// is logged: then the tree is as durable as its page file is (loads, tests, measurements). Changes
// of one database are all logged, or none is.
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

/// Large values that a transaction has to do with beyond its changes.
struct LargeValueOutcome {
  /// Replaced or removed: their pages are free once it has committed.
  std::vector<LargeValueDescriptor> given_up;
  /// Some were written: their pages must be durable before its commit record.
  bool wrote = false;
};

struct WriteContext {
  WriteContext() = default;
  /// Claims without a log.
  WriteContext(versioning::Writer& claims) noexcept  // NOLINT(google-explicit-constructor)
      : writer(&claims) {}
  /// A transaction's; `claims` may be null.
  WriteContext(versioning::Writer* claims, wal::TransactionLog& records,
               LargeValueOutcome& values) noexcept
      : writer(claims), log(&records), large_values(&values) {}

  versioning::Writer* writer = nullptr;
  /// Nobody else writes to what this one changes: records are claimed only to keep what undoing
  /// will need, the room of values that get shorter, and ghosts. For bulks.
  bool is_alone = false;
  /// Not null: changes leave versions, and who changes what `read view` does not see is in conflict
  /// (first updater wins). There is a writer then.
  versioning::VersionBuffer* versions = nullptr;
  /// That is left with them: the transaction's start (versioning/snapshots.h). The largest:
  /// unknown, and nobody takes it for resolved.
  Gsn start = versioning::kUnknownStart;
  /// Whose view, if there are versions, or if it is a bulk: that leaves virtual versions
  /// (virtual_version.h), and changes what others have versions of.
  versioning::ReadView read_view{};
  versioning::ReadSet* reads = nullptr;  ///< not null: what is found out is to be added to it
  versioning::Pruner* pruner = nullptr;  ///< not null if there are versions
  SpaceReclaimer* reclaimer = nullptr;   ///< null: without room there is none
  wal::TransactionLog* log = nullptr;
  LargeValueOutcome* large_values = nullptr;  ///< not null if there is a log

  /// What is found out of a record that is not claimed: a serializable transaction has read it.
  void note_read(TreeId tree, ByteView key) const noexcept {
    if (reads != nullptr) [[unlikely]] {
      reads->add_key(tree, key);
    }
  }

  /// Makes sure of what one change of this record needs beyond its page. Throws bad_alloc, and what
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
  /// The same for changes of several records, of which the first can surely be made: what the
  /// others need is at hand, or is not.
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
  /// Whether one more change takes nothing that is not at hand. Waits for nothing; under latches.
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
  /// The same for insertions of several records, none of which is a ghost's; of the longest.
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
  /// The same for a change of the structure.
  void prepare_structure_change(std::uint32_t page_size) const {
    if (log != nullptr) {
      log->reserve({.change_bytes = 0, .system_bytes = max_record_bytes(page_size)});
    }
  }
  /// The same for resolution a leaf, with a change of one of its records.
  void prepare_resolution(ByteView key, std::uint32_t page_size) const {
    prepare(key, page_size);
    if (log != nullptr) {
      log->reserve({.change_bytes = change_bytes_max(page_size),
                    .system_bytes = max_record_bytes(page_size)});
    }
  }
  /// The same for a change that can be left undone: false rather than wait for log space.
  [[nodiscard]] bool try_prepare_structure_change(std::uint32_t page_size) const {
    return log == nullptr ||
           log->try_reserve({.change_bytes = 0, .system_bytes = max_record_bytes(page_size)},
                            [] { return true; });
  }

  /// A record is removed: that may be room for others, by and by.
  void note_removal() const noexcept {
    if (reclaimer != nullptr) {
      reclaimer->note_removal();
    }
  }
  /// Whether the transaction has been asked to end, since others wait for the log that it has.
  [[nodiscard]] bool is_cancelled() const noexcept { return log != nullptr && log->is_cancelled(); }
  /// In the middle of what takes long and can be left undone: throws transaction_too_old, or
  /// no_space, if it has. No latch is held.
  void require_not_cancelled() const {
    if (is_cancelled()) {
      log->reserve({});
    }
  }

  [[nodiscard]] bool is_bulk() const noexcept { return read_view.bulk != kNoEpoch; }
  /// Whose view has the newest state with all that this one may change; null: there is no other.
  [[nodiscard]] const versioning::ReadView* newest() const noexcept {
    return is_bulk() ? &read_view : nullptr;
  }
  [[nodiscard]] std::size_t change_bytes_max(std::uint32_t page_size) const noexcept {
    return is_bulk() ? max_bulk_change_bytes(page_size) : max_record_change_bytes(page_size);
  }
  [[nodiscard]] static std::size_t longest_of(std::span<const ByteView> keys) noexcept {
    return std::ranges::max(keys, {}, &ByteView::size).size();
  }
  /// Of log, for changes that are prepared together.
  static constexpr std::size_t kTogetherBytesMax = std::size_t{1} << 16U;

  /// Whether a removal must be able to come back: the record becomes a ghost then.
  [[nodiscard]] bool can_be_undone() const noexcept { return writer != nullptr || log != nullptr; }
  /// Whether ghosts may be purged whose entries are idle. Without claims nobody knows which ghosts
  /// are this transaction's own.
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
/// Stamps a page that a record gives back, and that nobody writes any more.
inline void set_gsn_of_freed(buffer::ExclusivePage& page, Gsn gsn) noexcept {
  std::memcpy(page.modify() + offsetof(buffer::PageHeader, gsn), &gsn, sizeof gsn);
}
/// Stamps a page that a record has been written for, and that was dirty before: page_age.h (1).
inline void set_gsn(buffer::ExclusivePage& page, Gsn gsn) noexcept {
  PALIMPSEST_DEBUG_CHECK(page.frame().has(buffer::FrameFlag::dirty),
                         "a page is marked dirty before a record of its change is appended");
  set_gsn_of_freed(page, gsn);
}

/// Logs a change of one record, encode() and encoded_bytes() of tree_record_encode.h, and stamps
/// its leaf, which is marked dirty before the record can be seen: a checkpoint that begins behind
/// the record finds the page. Returns the record's GSN.
template <class Change>
Gsn log_change(const WriteContext& by, buffer::ExclusivePage& leaf, const Change& change) noexcept {
  static_cast<void>(leaf.modify());
  const Gsn gsn =
      by.log->append_change(gsn_of(leaf.page()), wal::BodyKind::tree, change.encoded_bytes(),
                            [&](MutableBytes into) { change.encode(into); });
  set_gsn(leaf, gsn);
  return gsn;
}

/// The same for a redo-only change; the caller stamps its pages. `at_least`: their highest GSN.
template <class Change>
[[nodiscard]] Gsn log_system_change(const WriteContext& by, Gsn at_least,
                                    const Change& change) noexcept {
  return by.log->append_system(at_least, wal::BodyKind::tree, change.encoded_bytes(),
                               [&](MutableBytes into) { change.encode(into); });
}

}  // namespace palimpsest::btree
