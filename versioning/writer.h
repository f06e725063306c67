// A writer's side of its entries: which records it has changed, until it ends.
//
// A transaction, or any other sequence of changes that may be undone, has one Writer. It ends the
// Writer once its commit status is decided, and a part of it (a statement) when the changes of that
// part are undone. The B+-tree claims records for it, under the leaf's latch; prepare() is called
// before that, so that claiming allocates nothing but a table, or its growth.
// Ending waits for no latch: one store per entry. An entry without versions leaves its table then,
// if its page is at hand (unchanged_page.h).
//
// Thread-safety: belongs to one thread of control, its owner; other threads see its id only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/ids.h"
#include "versioning/entry.h"
#include "versioning/mapping_table.h"

namespace palimpsest::versioning {

class Writer {
 public:
  /// `memory` outlives it. No other writer has the id before this one has ended and is gone. Throws
  /// std::bad_alloc.
  Writer(EntryMemory& memory, WriterId id);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  /// Ends it.
  ~Writer();

  [[nodiscard]] WriterId id() const noexcept { return id_; }
  [[nodiscard]] EntryMemory& memory() const noexcept { return memory_; }
  /// The writer that held the record of the last failed claim; kNoWriter: none did. A transaction
  /// that committed too late to be seen has no writer any more.
  [[nodiscard]] WriterId conflicting_writer() const noexcept { return conflicting_writer_; }
  void note_conflicting_writer(WriterId conflicting_writer) noexcept {
    conflicting_writer_ = conflicting_writer;
  }
  /// How many records it has changed.
  [[nodiscard]] std::size_t claims() const noexcept { return claims_.size(); }

  /// Sets memory aside to claim this record. No latch is held. Throws std::bad_alloc, changes
  /// nothing.
  void prepare(ByteView key) {
    if (prepared_ == nullptr || !prepared_->has_room_for(key.size()) ||
        claims_.size() == claims_.capacity()) {
      set_aside(1, key.size());
    }
  }

  /// As prepare(), for `count` records with keys up to that length; at most kManyMax.
  void prepare_many(std::size_t count, std::size_t key_bytes);
  static constexpr std::size_t kManyMax = 32;

  /// Whether this record can be claimed with the memory set aside.
  [[nodiscard]] bool has_at_hand(ByteView key) const noexcept {
    const auto fits = [&](const EntryPtr& entry) {
      return entry != nullptr && entry->has_room_for(key.size());
    };
    return claims_.size() < claims_.capacity() &&
           (prepared_ != nullptr ? fits(prepared_) : std::ranges::any_of(spares_, fits));
  }

  /// Releases all its records. It may go on to claim more, as if it were new.
  void end() noexcept { end_since(0); }
  /// Releases the records it has claimed since claims() was `claims`; its changes to them are
  /// undone, on their pages and in their chains.
  void end_since(std::size_t claims) noexcept;

  /// Calls use(const Entry&) for each of those, while they are claimed.
  template <class Use>
  void for_each_since(std::size_t claims, Use&& use) const {
    for (std::size_t number = claims; number < claims_.size(); ++number) {
      use(std::as_const(*claims_[number]));
    }
  }

  /// Takes an entry that is in no table, for a later claim to use. A transaction that changes the
  /// same pages again and again then allocates nothing. Large entries are not kept: an idle writer
  /// has a few KiB.
  void recycle(EntryPtr entry) noexcept {
    if (spares_.size() < kSparesMax && entry->size_bytes() <= kSpareBytesMax) {
      spares_.push_back(std::move(entry));
    }
  }

  /// As above, for a table without entries, or null.
  void recycle(TablePtr table) noexcept {
    if (table != nullptr && tables_.size() < kSparesMax && table->is_small()) {
      table->set_aside();
      tables_.push_back(std::move(table));
    }
  }

  // For the thread that claims a prepared record, under its page's exclusive latch:

  /// The entry that prepare() set aside, now for this record; `hash`: of its key.
  [[nodiscard]] EntryPtr take_prepared(TreeId tree, ByteView key, std::uint32_t hash) noexcept {
    if (prepared_ == nullptr) {
      prepared_ = take_spare(key.size());
    }
    prepared_->rename(tree, key, hash);
    return std::move(prepared_);
  }
  /// A table for a page that has none. Throws std::bad_alloc, if none was recycled.
  [[nodiscard]] TablePtr take_table() {
    if (tables_.empty()) {
      return MappingTable::make(memory_);
    }
    TablePtr table = std::move(tables_.back());
    tables_.pop_back();
    table->renew();
    return table;
  }
  /// From now on `entry` belongs to this writer.
  void add(Entry& entry) noexcept {
    PALIMPSEST_DEBUG_CHECK(claims_.size() < claims_.capacity(), "a claim is prepared");
    claims_.push_back(&entry);
  }

 private:
  void set_aside(std::size_t claims, std::size_t key_bytes);
  void give_up(Entry& entry) noexcept;
  [[nodiscard]] EntryPtr take_spare(std::size_t key_bytes) noexcept;

  static constexpr std::size_t kSparesMax = kManyMax;
  static constexpr std::size_t kSpareBytesMax = 128;

  EntryMemory& memory_;
  WriterId id_;
  WriterId conflicting_writer_ = kNoWriter;
  EntryPtr prepared_;
  std::vector<EntryPtr> spares_;  ///< has room for kSparesMax
  std::vector<Entry*> claims_;
  std::vector<TablePtr> tables_;  ///< spare ones; has room for kSparesMax
};

}  // namespace palimpsest::versioning
