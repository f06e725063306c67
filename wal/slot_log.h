// The log of one worker slot: a ring of memory to which the slot's transaction appends records, and
// from which the committer takes them.
//
// Positions are LSNs: bytes appended since the database was opened. The ring keeps the last
// capacity bytes: those not taken yet, which must not be overwritten, and before them records
// already taken, which a rollback reads without going to disk.
//
//     ... overwritten | still readable, on disk | not taken yet | free ...
//                                        taken_ ^     published_ ^
//
// Invariants: (1) published_ only grows, by whole records; the bytes before it were written first
//                 (release, acquire);
//             (2) taken_ <= published_ <= taken_ + capacity: an append that does not fit is a bug
//                 of the caller, which checks has_room() first, before it takes any latch;
//             (3) taken_ grows only when a batch with everything before it has been written, so
//                 every record is in the ring or can be read from the stream.
// Thread-safety: append(), has_room(), is_to_be_told() and read() by the owner, the one thread at a
//                time that works for the slot's transaction; the rest by the thread that holds the
//                log's round mutex. Owner and committer may run concurrently.
// Failure: none; nothing allocates.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/aligned_memory.h"
#include "base/check.h"
#include "wal/log_format.h"

namespace palimpsest::wal {

class SlotLog {
 public:
  /// `capacity_bytes`: a power of two, at least twice the largest record. Throws std::bad_alloc.
  SlotLog(std::size_t capacity_bytes, std::size_t record_bytes_max);
  SlotLog(const SlotLog&) = delete;
  SlotLog& operator=(const SlotLog&) = delete;

  // Owner

  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
    return bytes <= capacity_ - (end_ - taken_.load(std::memory_order_acquire));
  }
  /// Whether the background committer should be told to take records, so that the owner need not
  /// wait for a round: true when half of the ring was filled since it was last taken or told.
  [[nodiscard]] bool is_to_be_told() noexcept {
    const std::uint64_t from = std::max(told_, taken_.load(std::memory_order_relaxed));
    if (end_ - from < capacity_ / 2) {
      return false;
    }
    told_ = end_;
    return true;
  }
  /// Appends a record: encode(MutableBytes) writes its payload of `payload_bytes` and must not
  /// touch this log. Does not publish it. Returns its LSN. There is room for it.
  template <class Encode>
  Lsn append(RecordType type, Gsn gsn, std::size_t payload_bytes, Encode&& encode) noexcept {
    const std::size_t bytes = record_bytes(gsn, payload_bytes);
    check(bytes <= scratch_.size_bytes(), "a record fits the memory for the largest one");
    PALIMPSEST_DEBUG_CHECK(has_room(bytes),
                           "space in the ring is reserved before latches are taken");
    const std::size_t at = end_ & (capacity_ - 1);
    const bool wraps = at + bytes > capacity_;
    std::byte* record = wraps ? scratch_.data() : ring_.data() + at;
    encode(MutableBytes(put_record_header(record, type, gsn, payload_bytes), payload_bytes));
    if (wraps) {
      copy_in(at, bytes);
    }
    const Lsn lsn{end_};
    end_ += bytes;
    return lsn;
  }
  /// Makes appended records visible to the committer. Sequentially consistent: a thread that then
  /// finds the background committer awake knows that it will see them (background_committer.h).
  void publish() noexcept { published_.store(end_); }

  /// The LSN of the next record.
  [[nodiscard]] Lsn end() const noexcept { return Lsn{end_}; }
  /// Whether [lsn, end) is still in the ring.
  [[nodiscard]] bool in_ring(Lsn lsn) const noexcept {
    return raw(lsn) + capacity_ >= end_ && raw(lsn) <= end_;
  }
  /// Size of the record at `lsn`, which is before `end` and in the ring.
  [[nodiscard]] std::size_t record_bytes_at(Lsn lsn, Lsn end) const noexcept;
  /// Copies bytes of the log that are in the ring.
  void read(Lsn from, MutableBytes into) const noexcept { copy_out(raw(from), into); }
  /// Position of the newest written chunk of this log; kNowhere if there is none.
  [[nodiscard]] StreamPosition newest_chunk() const noexcept {
    return newest_chunk_.load(std::memory_order_acquire);
  }

  // Committer

  [[nodiscard]] Lsn taken() const noexcept { return Lsn{taken_.load(std::memory_order_relaxed)}; }
  [[nodiscard]] Lsn published() const noexcept { return Lsn{published_.load()}; }
  /// Copies published bytes that are not taken yet.
  void copy_pending(Lsn from, MutableBytes into) const noexcept { copy_out(raw(from), into); }
  /// End of the last whole record that begins at or after `from` and ends within `bytes_max` of it;
  /// `from` if there is none.
  [[nodiscard]] Lsn whole_records(Lsn from, Lsn to, std::size_t bytes_max) const noexcept;
  /// Everything before `lsn` has been written; the chunk that ends there begins at `chunk`.
  void take(Lsn lsn, StreamPosition chunk) noexcept {
    newest_chunk_.store(chunk, std::memory_order_release);
    taken_.store(raw(lsn), std::memory_order_release);
  }

 private:
  void copy_in(std::size_t at, std::size_t bytes) noexcept;
  void copy_out(std::uint64_t from, MutableBytes into) const noexcept;

  const std::size_t capacity_;
  AlignedMemory ring_;
  AlignedMemory scratch_;   ///< a record that wraps around is built here first
  std::uint64_t end_ = 0;   ///< owner
  std::uint64_t told_ = 0;  ///< owner; the committer was told of everything before
  alignas(64) std::atomic<std::uint64_t> published_{0};
  alignas(64) std::atomic<std::uint64_t> taken_{0};
  std::atomic<StreamPosition> newest_chunk_{kNowhere};
};

}  // namespace palimpsest::wal
