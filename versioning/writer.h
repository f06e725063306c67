// A writer's side of its entries: which records it has changed, until it ends.
//
// Whoever makes changes that may be undone (a transaction) has one Writer and ends it once its
// commit status is decided; of a part of them (a statement) when these are undone. Changes of
// records are claimed through it by the B+-tree, under the leaf's latch; prepare() is called before
// that, so that claiming allocates nothing but a table, or its growth.
// Ending waits for no latch: one store an entry. An entry without versions leaves its table then,
// if its page is at hand (unchanged_page.h).
//
// Thread-safety: belongs to one thread of control, its owner; others see its id only.
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
  /// The writer that had the record which this one could not claim last; kNoWriter: none had it.
  /// One that others have committed too late has no writer any more.
  [[nodiscard]] WriterId conflicting_writer() const noexcept { return conflicting_writer_; }
  void note_conflicting_writer(WriterId conflicting_writer) noexcept {
    conflicting_writer_ = conflicting_writer;
  }
  /// Records it has changed.
  [[nodiscard]] std::size_t claims() const noexcept { return claims_.size(); }

  /// Sets memory aside to claim this record. No latch is held. Throws std::bad_alloc, and nothing
  /// has changed.
  void prepare(ByteView key) {
    if (prepared_ == nullptr || !prepared_->has_room_for(key.size()) ||
        claims_.size() == claims_.capacity()) {
      set_aside(1, key.size());
    }
  }

  /// The same for so many records with keys up to that length; at most kManyMax.
  void prepare_many(std::size_t count, std::size_t key_bytes);
  static constexpr std::size_t kManyMax = 32;

  /// Whether this record can be claimed with what was set aside.
  [[nodiscard]] bool has_at_hand(ByteView key) const noexcept {
    const auto fits = [&](const EntryPtr& entry) {
      return entry != nullptr && entry->has_room_for(key.size());
    };
    return claims_.size() < claims_.capacity() &&
           (prepared_ != nullptr ? fits(prepared_) : std::ranges::any_of(spares_, fits));
  }

  /// Gives all its records up. It may go on to claim others, as if it were new.
  void end() noexcept { end_since(0); }
  /// Gives those up that it has claimed since claims() was so many: what it did to them is undone,
  /// on their pages and in their chains.
  void end_since(std::size_t claims) noexcept;

  /// Those, while they are claimed: use(const Entry&).
  template <class Use>
  void for_each_since(std::size_t claims, Use&& use) const {
    for (std::size_t number = claims; number < claims_.size(); ++number) {
      use(std::as_const(*claims_[number]));
    }
  }

  /// Takes an entry that is in no table, for a later claim to use. That of a transaction that goes
  /// round in its own pages then asks for no memory. Large ones are not kept: a writer that
  /// is idle has a few KiB.
  void recycle(EntryPtr entry) noexcept {
    if (spares_.size() < kSparesMax && entry->size_bytes() <= kSpareBytesMax) {
      spares_.push_back(std::move(entry));
    }
  }

  /// The same of a table without entries, or of none.
  void recycle(TablePtr table) noexcept {
    if (table != nullptr && tables_.size() < kSparesMax && table->is_small()) {
      table->set_aside();
      tables_.push_back(std::move(table));
    }
  }

  // For whoever claims a record that was prepared, under its page's exclusive latch:

  /// The entry that prepare() set aside, now that of this record; `hash`: of its key.
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
  /// `entry` is this writer's from now on.
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
