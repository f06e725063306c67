// A cursor: the records of a tree one after the other, in both directions. No latch is held while
// the caller looks at a record.
//
// The cursor copies records out of a leaf under its shared latch: first as many as the hint says,
// then twice as many with each refill, up to a whole leaf. On refills it also prefetches their
// large values, together. It continues from the last key, wherever that lies by then. It shows what
// its read view sees; without one, each record as it was when it was copied. It never walks beyond
// its bounds, so records outside them cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "btree/btree.h"
#include "btree/ghost_run.h"
#include "btree/leaf_walk.h"

namespace palimpsest::btree {

class Cursor {
 public:
  /// `tree` outlives the cursor. `records_hint`: how many records the caller expects to read.
  /// `read_view`: the view it shows, or null; outlives the cursor.
  explicit Cursor(const BTree& tree, std::size_t records_hint = 8,
                  const versioning::ReadView* read_view = nullptr);

  /// Called before positioning: limits the cursor to this range; its bounds outlive the cursor.
  void bound_to(const KeyRange& bounds) noexcept { bounds_ = bounds; }
  /// Where it begins, the cursor skips the leaves that `run` remembers (ghost_skip.h); null: none.
  /// `run` outlives the cursor, and belongs to it alone during positioning.
  void skip_by(GhostRun* run) noexcept { run_ = run; }

  /// To the first record, the last one, the first with a key >= `key`, the last with a key <=
  /// `key`: of those in its bounds.
  void seek_first();
  void seek_last();
  void seek(ByteView key);
  void seek_for_prev(ByteView key);

  /// Whether there is a record; nothing below may be called otherwise.
  [[nodiscard]] bool valid() const noexcept { return position_ < records_.size(); }

  /// Moves to the next record in key order, or beyond the end.
  void next();
  /// Moves to the record before, or beyond the beginning.
  void previous();

  [[nodiscard]] ByteView key() const noexcept { return view(records_[position_].key); }
  /// Whether the value lies outside its leaf and must be read by read_value().
  [[nodiscard]] bool value_is_large() const noexcept {
    return (records_[position_].flags & kLargeValue) != 0;
  }
  /// The copied value; empty if it is large.
  [[nodiscard]] ByteView value() const noexcept {
    return value_is_large() ? ByteView() : view(records_[position_].value);
  }
  /// Copies the value, large or not. A large value is read now, in its current state; false if the
  /// record has been removed meanwhile. Does I/O.
  [[nodiscard]] bool read_value(std::string& into) const;

 private:
  struct Piece {
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
  };
  struct Record {
    Piece key;
    Piece value;
    std::uint16_t flags = 0;
  };

  [[nodiscard]] ByteView view(Piece piece) const noexcept {
    return ByteView(bytes_).substr(piece.offset, piece.length);
  }
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  /// Whether the range includes its first key; exclusive: the key the cursor comes from.
  enum class Bound : std::uint8_t { inclusive = 1, exclusive };

  /// `run`: remembered leaves to skip, or null.
  void fill_forward(ByteView from, Bound bound, GhostRun* run);
  void fill_backward(std::optional<ByteView> upper, GhostRun* run);
  /// Copies the next batch of records from [first, last): the first ones, or the last ones.
  void copy_batch(const LeafWalk& walk, SlotIndex first, Direction direction);
  /// Called on a refill: the large values of the batch will be read.
  void prefetch_large() const;
  void copy_visible(const LeafWalk& walk, SlotIndex first, SlotIndex wanted, bool backward);
  void copy(const LeafView& leaf, SlotIndex first, SlotIndex last);
  void copy(const LeafView& leaf, const LeafRecord& record);
  [[nodiscard]] Piece append(ByteView first, ByteView second);
  [[nodiscard]] SlotIndex limit(SlotIndex available) noexcept;

  const BTree* tree_;
  const versioning::ReadView* read_view_;
  KeyRange bounds_{ByteView(), std::nullopt};
  GhostRun* run_ = nullptr;
  std::size_t batch_records_;
  std::string bytes_;            ///< keys and values of the records copied
  std::vector<Record> records_;  ///< ascending by key
  std::size_t position_ = 0;     ///< not below records_.size(): invalid
};

}  // namespace palimpsest::btree
