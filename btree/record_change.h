// A change of one record in its latched leaf: checks for conflicts, claims, logs and applies it.
//
// This is the common part of all writing operations of a tree once they hold the leaf. The order
// within one latched step: check (conflicting writer, room), claim, mark the page dirty, append the
// log record and stamp the page with its GSN, change the page. Nothing fails after the claim.
// Latching: the leaf is latched exclusively while this exists. Innermost: the space map's latch,
//           for the append of a record that names a large value's pages.
// Failure: std::bad_alloc from claiming, before anything has changed; corruption for an impossible
//          descriptor in the leaf.
// Thread-safety: belongs to one thread.
#pragma once

#include <optional>

#include "palimpsest/function_ref.h"
#include "palimpsest/value_editor.h"

#include "base/bytes.h"
#include "btree/large/large_value_format.h"
#include "btree/leaf_entries.h"
#include "btree/log/tree_record.h"
#include "btree/log/tree_record_encode.h"
#include "btree/node/leaf_node.h"
#include "btree/write_context.h"
#include "buffer/space_map.h"
#include "versioning/bulk_epochs.h"

namespace palimpsest::btree {

class RecordChange {
 public:
  /// `by` was prepared for this key. All references outlive it.
  RecordChange(const WriteContext& by, buffer::ExclusivePage& leaf, buffer::SpaceMap& space,
               ByteView key, std::uint32_t page_size) noexcept;
  /// With the key's slot known already.
  RecordChange(const WriteContext& by, buffer::ExclusivePage& leaf, buffer::SpaceMap& space,
               ByteView key, std::uint32_t page_size, const SearchResult& at) noexcept;

  /// LeafEntries::release_ended(), finish() and release_unwritten().
  [[nodiscard]] bool release_ended() noexcept {
    entry_.reset();  // it may go
    return entries_.release_ended();
  }
  void finish() noexcept {
    entry_.reset();
    entries_.finish();
  }
  void release_unwritten() noexcept {
    entry_.reset();
    entries_.release_unwritten();
  }
  [[nodiscard]] const SearchResult& at() const noexcept { return at_; }
  [[nodiscard]] SlotIndex slot() const noexcept { return at_.slot; }
  /// Whether the key has a slot, of a record or of a ghost.
  [[nodiscard]] bool has_slot() const noexcept { return at_.found; }
  [[nodiscard]] bool exists() const noexcept { return at_.found && !view().is_ghost(at_.slot); }
  [[nodiscard]] bool is_large() const noexcept {
    return (view().flags(at_.slot) & kLargeValue) != 0;
  }
  /// The writer that has changed it and has not ended, or that has committed since the snapshot.
  [[nodiscard]] versioning::WriterId conflicting_writer() noexcept;

  /// Inserts, or replaces the record or ghost that is there. False, and nothing changed, if it does
  /// not fit.
  [[nodiscard]] bool store(const RecordState& value);
  /// Makes the record a ghost.
  void make_ghost();
  /// Claims the record, and keeps its state before a committed bulk as a version, before its
  /// virtual version is resolved.
  void keep_before_image(versioning::BulkEpochs::Late& versions);
  /// Removes the record physically; no undo is needed.
  void take_out();
  /// Claims the record; its value is then changed in place.
  void claim();
  /// Called after claim(): the value, to be changed.
  [[nodiscard]] MutableBytes value_bytes() noexcept {
    return LeafNode(leaf_.modify(), page_size_).value_bytes(at_.slot);
  }
  /// Called after the change: logs it, and keeps the value before it.
  void log_edited(ValueEditor& value) noexcept;

  /// Undoes a change; see BTree::undo(). If it frees the pages of a large value, they are free once
  /// `gsn` is durable.
  struct Freed {
    std::optional<LargeValueDescriptor> value;
    Gsn gsn{};
  };
  [[nodiscard]] Freed undo(const TreeRecord& record,
                           FunctionRef<Gsn(Gsn at_least, ConstBytes body)> append);

  /// The large value that was replaced or removed, if no reader can find it any more. (Those that
  /// depend on the transaction's commit are in its LargeValueOutcome.)
  [[nodiscard]] const std::optional<LargeValueDescriptor>& freed() const noexcept { return freed_; }

 private:
  void claim_ghost();
  void claim_for_undo();
  [[nodiscard]] LeafView view() const noexcept { return {leaf_.page(), page_size_}; }
  /// The record's entry, or null; searched for once.
  [[nodiscard]] versioning::Entry* entry() noexcept {
    if (!entry_) {
      entry_ = entries_.find(at_, key_);
    }
    return *entry_;
  }
  [[nodiscard]] RecordPlace place() const noexcept;
  [[nodiscard]] RecordState state() const noexcept;
  [[nodiscard]] versioning::WriterId find_conflicting_writer() noexcept;
  [[nodiscard]] versioning::WriterId conflicting_bulk(bool is_virtual) noexcept;
  [[nodiscard]] std::optional<LargeValueDescriptor> large_only_in(const RecordState& one,
                                                                  const RecordState& other) const;
  void erase_in_bulk();
  void mark(std::uint16_t flags) noexcept;
  [[nodiscard]] bool insert(const RecordState& value);
  [[nodiscard]] bool replace(const RecordState& value);
  template <class Change>
  void log(const Change& change, const std::optional<LargeValueDescriptor>& taken) noexcept;
  [[nodiscard]] bool is_newer_than_snapshot() noexcept;
  [[nodiscard]] bool keeps_versions() noexcept;
  template <class Fill>
  void keep(versioning::VersionKind kind, std::uint16_t flags_before, std::size_t payload_bytes,
            Fill&& fill) noexcept;
  void keep_update(const RecordState& before, const LoggedUpdate& change) noexcept;
  void log_update(const RecordState& before, const RecordState& after,
                  const std::optional<LargeValueDescriptor>& taken,
                  const BytesRange& in = {}) noexcept;
  void give_up(const std::optional<LargeValueDescriptor>& value);

  const WriteContext& by_;
  buffer::ExclusivePage& leaf_;
  buffer::SpaceMap& space_;
  ByteView key_;
  std::uint32_t page_size_;
  LeafEntries entries_;
  SearchResult at_;
  std::optional<versioning::Entry*> entry_;
  bool claims_first_ = false;  ///< by this change, and not already before
  std::optional<LargeValueDescriptor> freed_;
};

}  // namespace palimpsest::btree
