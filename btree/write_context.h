// The context of a change: what makes it (writes.h), and what the change needs of that.
//
// It is passed by reference down every change.
// Latching: prepare() is called with no latch held; it may wait for log space.
// Thread-safety: belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "btree/log/tree_record_format.h"
#include "btree/writes.h"

namespace palimpsest::btree {

class WriteContext {
 public:
  // NOLINTBEGIN(google-explicit-constructor): whatever writes is its own context
  WriteContext() = default;
  WriteContext(versioning::Writer& claims) noexcept : WriteContext(UnloggedWrites{&claims}) {}
  WriteContext(const UnloggedWrites& by) noexcept : writer_(by.claims) {}
  WriteContext(const TransactionWrites& by) noexcept
      : WriteContext(by.logged, by.claims ? &by.claims->writer : nullptr) {
    versions_ = by.claims ? by.claims->versions : nullptr;
    reads_ = by.reads;
  }
  WriteContext(const BulkWrites& by) noexcept : WriteContext(by.logged, &by.claims) {
    is_alone_ = true;
    bulk_view_ = by.read_view;
  }
  // NOLINTEND(google-explicit-constructor)

  /// Null: no conflicts are checked.
  [[nodiscard]] versioning::Writer* writer() const noexcept { return writer_; }
  /// Null: changes leave no versions. There is a writer() otherwise.
  [[nodiscard]] const LeftVersions* versions() const noexcept { return versions_; }
  /// Whether no other writer changes what this one changes.
  [[nodiscard]] bool is_alone() const noexcept { return is_alone_; }
  /// Null: nothing is logged.
  [[nodiscard]] wal::TransactionLog* log() const noexcept { return log_; }
  /// Only with a log.
  [[nodiscard]] LargeValueOutcome& large_values() const noexcept { return *large_values_; }
  /// Null without a log.
  [[nodiscard]] versioning::Pruner* pruner() const noexcept { return pruner_; }
  /// Null: no space can be reclaimed.
  [[nodiscard]] SpaceReclaimer* reclaimer() const noexcept { return reclaimer_; }
  /// Null: calls are not validated.
  [[nodiscard]] versioning::ReadSet* reads() const noexcept { return reads_; }
  /// The epoch of a bulk in place; else kNoEpoch.
  [[nodiscard]] BulkEpoch bulk_epoch() const noexcept { return bulk_view_.bulk; }
  [[nodiscard]] bool is_bulk() const noexcept { return bulk_epoch() != kNoEpoch; }
  /// The read view that sees the newest state, including all that this one may change. Null: the
  /// newest state itself.
  [[nodiscard]] const versioning::ReadView* newest() const noexcept {
    return is_bulk() ? &bulk_view_ : nullptr;
  }
  /// The same writer, for trees that get none of its bulk's virtual versions.
  [[nodiscard]] WriteContext outside_bulk() const noexcept {
    WriteContext outside = *this;
    outside.bulk_view_ = {};
    return outside;
  }

  /// Adds a record to the read set: a call reports its state without claiming it, so a serializable
  /// transaction has read it.
  void note_read(TreeId tree, ByteView key) const noexcept {
    if (reads_ != nullptr) [[unlikely]] {
      reads_->add_key(tree, key);
    }
  }

  /// Reserves what one change of this record needs beyond its page. Throws bad_alloc, and what
  /// TransactionLog::reserve() throws; nothing has changed then.
  void prepare(ByteView key, std::uint32_t page_size) const {
    if (writer_ != nullptr) {
      writer_->prepare(key);
    }
    if (versions_ != nullptr) {
      versions_->buffer.prepare(record_bytes_max(page_size));
    }
    if (log_ != nullptr) {
      std::vector<LargeValueDescriptor>& given_up = large_values_->given_up;
      if (given_up.size() == given_up.capacity()) {
        given_up.reserve(2 * given_up.size() + 4);
      }
      log_->reserve({.change_bytes = change_bytes_max(page_size), .system_bytes = 0});
    }
  }
  /// prepare() for changes of several records: the first can certainly be made; has_at_hand() says
  /// whether the reservation suffices for the next one.
  void prepare_some(std::span<const ByteView> keys, std::uint32_t page_size) const {
    prepare(keys.front(), page_size);
    if (keys.size() == 1) {
      return;
    }
    if (writer_ != nullptr) {
      writer_->prepare_many(keys.size(), longest_of(keys));
    }
    const std::size_t changes =
        std::clamp<std::size_t>(kTogetherBytesMax / change_bytes_max(page_size), 1, keys.size());
    if (log_ != nullptr) {
      log_->reserve({.change_bytes = change_bytes_max(page_size), .changes = changes});
    }
  }
  /// Whether one more change is covered by what is reserved. Does not wait; may be called under
  /// latches.
  [[nodiscard]] bool has_at_hand(ByteView key, std::uint32_t page_size) const noexcept {
    if (writer_ != nullptr && !writer_->has_at_hand(key)) {
      return false;
    }
    if (versions_ != nullptr && !versions_->buffer.has_room(record_bytes_max(page_size))) {
      return false;
    }
    return log_ == nullptr ||
           (large_values_->given_up.size() < large_values_->given_up.capacity() &&
            log_->has_at_hand({.change_bytes = change_bytes_max(page_size)}));
  }
  /// prepare() for inserts of several records, none over a ghost; lengths are those of the longest.
  void prepare_inserts(std::size_t count, std::size_t key_bytes, std::size_t record_bytes) const {
    if (writer_ != nullptr) {
      writer_->prepare_many(count, key_bytes);
    }
    if (versions_ != nullptr) {
      versions_->buffer.prepare(count * versioning::Version::size_bytes(0));
    }
    if (log_ != nullptr) {
      log_->reserve({.change_bytes = kRecordHeadBytesMax + record_bytes, .changes = count});
    }
  }
  /// prepare() for a change of the structure.
  void prepare_structure_change(std::uint32_t page_size) const {
    if (log_ != nullptr) {
      log_->reserve({.change_bytes = 0, .system_bytes = max_record_bytes(page_size)});
    }
  }
  /// prepare() for resolving a leaf, with a change of one of its records.
  void prepare_resolution(ByteView key, std::uint32_t page_size) const {
    prepare(key, page_size);
    if (log_ != nullptr) {
      log_->reserve({.change_bytes = change_bytes_max(page_size),
                     .system_bytes = max_record_bytes(page_size)});
    }
  }
  /// For an optional change of the structure: returns false instead of waiting for log space.
  [[nodiscard]] bool try_prepare_structure_change(std::uint32_t page_size) const {
    return log_ == nullptr ||
           log_->try_reserve({.change_bytes = 0, .system_bytes = max_record_bytes(page_size)},
                             [] { return true; });
  }

  /// Notes a removal: its space may become reclaimable later.
  void note_removal() const noexcept {
    if (reclaimer_ != nullptr) {
      reclaimer_->note_removal();
    }
  }
  /// Whether the transaction was asked to end because other writers wait for log space it pins.
  [[nodiscard]] bool is_cancelled() const noexcept {
    return log_ != nullptr && log_->is_cancelled();
  }
  /// Called during long optional work, with no latch held: throws transaction_too_old or no_space
  /// if the transaction was cancelled.
  void require_not_cancelled() const {
    if (is_cancelled()) {
      log_->reserve({});
    }
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
  [[nodiscard]] bool can_be_undone() const noexcept {
    return writer_ != nullptr || log_ != nullptr;
  }
  /// Whether ghosts with idle entries may be purged. Without claims, the transaction's own ghosts
  /// cannot be told from other ghosts.
  [[nodiscard]] bool may_purge() const noexcept {
    return log_ == nullptr || writer_ != nullptr || !log_->has_changes();
  }

 private:
  WriteContext(const LoggedWrites& by, versioning::Writer* claims) noexcept
      : writer_(claims),
        log_(&by.log),
        large_values_(&by.large_values),
        pruner_(&by.pruner),
        reclaimer_(by.reclaimer) {}

  versioning::Writer* writer_ = nullptr;
  const LeftVersions* versions_ = nullptr;
  wal::TransactionLog* log_ = nullptr;
  LargeValueOutcome* large_values_ = nullptr;
  versioning::Pruner* pruner_ = nullptr;
  SpaceReclaimer* reclaimer_ = nullptr;
  versioning::ReadSet* reads_ = nullptr;
  versioning::ReadView bulk_view_{};
  bool is_alone_ = false;
};

}  // namespace palimpsest::btree
