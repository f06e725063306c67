// A writer's side of its entries: which records it has changed, until it ends.
//
// Whoever makes changes that may be undone (a transaction) has one Writer and ends it once its fate
// is decided. Changes of records are claimed through it by the B+-tree, under the leaf's latch;
// prepare() is called before that, so that claiming allocates nothing but the growth of a table.
// Ending takes no latch and touches no table: one store an entry.
//
// Thread-safety: belongs to one thread of control, its owner; others see its id only.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "versioning/entry.h"

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
  /// Records it has changed.
  [[nodiscard]] std::size_t claims() const noexcept { return claims_.size(); }

  /// Sets memory aside to claim this record. No latch is held. Throws std::bad_alloc, and nothing
  /// has changed.
  void prepare(TreeId tree, ByteView key);

  /// Gives all its records up. It may go on to claim others, as if it were new.
  void end() noexcept;

  /// Takes an entry that is in no table, for a later claim to use. That of a transaction that goes
  /// round in its own pages then asks the heap for nothing. Large ones are not kept: a writer that
  /// is idle has a few KiB.
  void recycle(EntryPtr entry) noexcept {
    if (spares_.size() < kSparesMax && entry->size_bytes() <= kSpareBytesMax) {
      spares_.push_back(std::move(entry));
    }
  }

  // For whoever claims a record that was prepared, under its page's exclusive latch:

  /// The entry that prepare() set aside.
  [[nodiscard]] EntryPtr take_prepared() noexcept;
  /// `entry` is this writer's from now on.
  void add(Entry& entry) noexcept;

 private:
  static constexpr std::size_t kSparesMax = 32;
  static constexpr std::size_t kSpareBytesMax = 128;

  EntryMemory& memory_;
  WriterId id_;
  EntryPtr prepared_;
  std::vector<EntryPtr> spares_;  ///< has room for kSparesMax
  std::vector<Entry*> claims_;
};

}  // namespace palimpsest::versioning
