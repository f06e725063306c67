// Buffers records until they are written together. Memory is allocated a piece at a time, and
// reused for the next records until give_back().
//
// Thread-safety: belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "btree/write_outcome.h"

namespace palimpsest::bulk {

class RecordBuffer {
 public:
  /// The buffer is full with this many bytes of records.
  static constexpr std::size_t kBytesMax = std::size_t{4} << 20;

  /// Minimum size of an allocation.
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

  [[nodiscard]] bool has_room_for(std::size_t bytes) const noexcept {
    return bytes <= kBytesMax - used_;
  }
  /// Whether expect() needs no more memory for this many bytes.
  [[nodiscard]] bool has_memory_for(std::size_t bytes) const noexcept {
    return std::any_of(pieces_.begin() + static_cast<std::ptrdiff_t>(piece_), pieces_.end(),
                       [&](const Piece& piece) { return bytes <= piece.bytes - piece.used; });
  }
  /// Reserves memory for this many more records and bytes. Throws std::bad_alloc.
  void expect(std::size_t records, std::size_t bytes) {
    if (!has_memory_for(bytes)) {
      const std::size_t size = std::max(bytes, kPieceBytes);
      Piece piece{.memory = std::make_unique_for_overwrite<char[]>(size), .bytes = size};
      pieces_.push_back(std::move(piece));
    }
    while (pieces_[piece_].bytes - pieces_[piece_].used < bytes) {
      ++piece_;
    }
    if (records_.size() + records > records_.capacity()) {
      records_.reserve(std::max(2 * records_.capacity(), records_.size() + records));
    }
  }
  /// Copies a record that expect() made room for.
  void add(const btree::NewRecord& record) noexcept {
    check(has_room_for(record.key.size() + record.value.size()),
          "a buffered record fits the buffer");
    records_.push_back({.key = copy_of(record.key), .value = copy_of(record.value)});
  }

  /// Memory allocated for bytes of records.
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    std::size_t bytes = 0;
    for (const Piece& piece : pieces_) {
      bytes += piece.bytes;
    }
    return bytes;
  }
  [[nodiscard]] bool empty() const noexcept { return records_.empty(); }
  [[nodiscard]] std::span<const btree::NewRecord> records() const noexcept { return records_; }
  /// Removes the first records, after they have been written.
  void drop(std::size_t records) noexcept {
    records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(records));
    if (records_.empty()) {
      clear();
    }
  }
  void clear() noexcept {
    records_.clear();
    used_ = 0;
    piece_ = 0;
    for (Piece& piece : pieces_) {
      piece.used = 0;
    }
  }
  /// Clears the buffer and frees its memory.
  void give_back() noexcept { *this = RecordBuffer(); }

  void swap(RecordBuffer& other) noexcept { std::swap(*this, other); }

 private:
  struct Piece {
    std::unique_ptr<char[]> memory;
    std::size_t bytes = 0;
    std::size_t used = 0;
  };

  [[nodiscard]] ByteView copy_of(ByteView bytes) noexcept {
    Piece& piece = pieces_[piece_];
    char* const at = piece.memory.get() + piece.used;
    bytes.copy(at, bytes.size());
    piece.used += bytes.size();
    used_ += bytes.size();
    return {at, bytes.size()};
  }

  std::vector<Piece> pieces_;
  std::size_t piece_ = 0;                  ///< index of the piece being filled
  std::size_t used_ = 0;                   ///< in all pieces
  std::vector<btree::NewRecord> records_;  ///< views into pieces_
};

}  // namespace palimpsest::bulk
