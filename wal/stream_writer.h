// Writes batches to the stream of segments. Used by one thread at a time, the one that runs a
// round.
//
// A batch is begun, filled with chunks, and written; several may be written before they are synced
// together. This class does not decide what goes into a batch or when it is durable (log.h).
//
// Invariants: (1) each batch states sequence number and checksum of the one before, and no batch
//                 crosses a segment;
//             (2) a segment is synced before a later one is written to: what sync() makes durable
//                 is everything written.
// Failure: Error io_error, no_space, failed. After any of them the stream's end on disk is unknown,
//          and the writer must not be used again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned_memory.h"
#include "wal/log_format.h"
#include "wal/log_reader.h"
#include "wal/segments.h"

namespace palimpsest::wal {

class StreamWriter {
 public:
  /// Continues behind `end`. A batch has at most `batch_bytes_max`, and holds at least one record
  /// of `record_bytes_max`.
  StreamWriter(Segments& segments, const LogEnd& end, Incarnation incarnation,
               std::size_t batch_bytes_max, std::size_t record_bytes_max);

  /// Begins a batch for about `wanted_bytes` of chunks; in the next segment if this one has little
  /// room left.
  void begin_batch(std::size_t wanted_bytes);
  /// Bytes of records that one more chunk of the batch may have.
  [[nodiscard]] std::size_t room() const noexcept;
  /// Returns memory for a chunk's records, for which there is room().
  [[nodiscard]] MutableBytes add_chunk(std::size_t record_bytes) noexcept;
  /// Completes the chunk just added and returns its position.
  StreamPosition seal_chunk(SlotId slot, Lsn lsn, StreamPosition previous) noexcept;
  /// Writes the batch, which may have no chunks.
  void write_batch(Gsn durable_gsn);

  /// Makes everything written durable.
  void sync();

  /// Makes sure that the segment of next() exists on disk.
  void require_segment();
  /// Where the next batch goes, and what will identify it.
  [[nodiscard]] LogStart next() const noexcept {
    return {.position = position_,
            .sequence = sequence_,
            .previous_checksum = previous_checksum_,
            .incarnation = previous_incarnation_};
  }
  [[nodiscard]] std::uint64_t batches() const noexcept { return batches_; }
  [[nodiscard]] std::uint64_t syncs() const noexcept { return syncs_; }

 private:
  void move_to_next_segment();
  [[nodiscard]] std::uint64_t segment_rest() const noexcept {
    return raw(segments_.place_at(position_).end()) - raw(position_);
  }

  Segments& segments_;
  const Incarnation incarnation_;
  const std::size_t record_bytes_max_;
  AlignedMemory memory_;
  StreamPosition position_;
  BatchSequence sequence_;
  BatchSequence durable_sequence_;
  std::uint64_t previous_checksum_;
  Incarnation previous_incarnation_;
  std::size_t batch_bytes_max_ = 0;  ///< of the batch begun
  std::size_t content_bytes_ = 0;    ///< of the batch begun
  std::size_t chunk_at_ = 0;         ///< offset of the chunk just added
  std::uint32_t record_bytes_ = 0;   ///< of the chunk just added
  std::uint32_t chunks_ = 0;
  bool unsynced_ = false;
  std::uint64_t batches_ = 0;
  std::uint64_t syncs_ = 0;
};

}  // namespace palimpsest::wal
