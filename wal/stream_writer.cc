#include "wal/stream_writer.h"

#include <algorithm>

#include "base/check.h"
#include "base/round_up.h"
#include "base/sync_point.h"

namespace palimpsest::wal {

StreamWriter::StreamWriter(Segments& segments, const LogEnd& end, Incarnation incarnation,
                           std::size_t batch_bytes_max, std::size_t record_bytes_max)
    : segments_(segments),
      incarnation_(incarnation),
      record_bytes_max_(record_bytes_max),
      memory_(batch_bytes_max, kSegmentHeaderBytes),
      position_(end.position),
      sequence_(end.next_sequence),
      durable_sequence_{raw(end.next_sequence) - 1},
      previous_checksum_(end.previous_checksum),
      previous_incarnation_(end.incarnation) {
  check(batch_bytes_max % kSegmentHeaderBytes == 0 &&
            batch_bytes_max >= 2 * chunk_bytes(record_bytes_max) &&
            batch_bytes_max + kSegmentHeaderBytes <= segments.segment_bytes(),
        "a batch holds the largest record, a segment the largest batch");
}

void StreamWriter::begin_batch(std::size_t wanted_bytes) {
  const std::size_t wanted =
      round_up(sizeof(BatchHeader) + wanted_bytes, segments_.alignment_bytes());
  const std::size_t least =
      round_up(sizeof(BatchHeader) + chunk_bytes(record_bytes_max_), segments_.alignment_bytes());
  const bool aligned = raw(position_) % segments_.alignment_bytes() == 0;  // for this device
  if (!aligned || segment_rest() < std::min(wanted, least) ||
      !segments_.has(segments_.number_of(position_))) {
    move_to_next_segment();
  }
  batch_bytes_max_ = std::min<std::uint64_t>(memory_.size_bytes(), segment_rest());
  content_bytes_ = sizeof(BatchHeader);
  chunks_ = 0;
}

std::size_t StreamWriter::room() const noexcept {
  const std::size_t rest = batch_bytes_max_ - content_bytes_;
  return rest < sizeof(ChunkHeader) + kChunkAlignment ? 0 : rest - sizeof(ChunkHeader);
}

MutableBytes StreamWriter::add_chunk(std::size_t record_bytes) noexcept {
  check(content_bytes_ + chunk_bytes(record_bytes) <= batch_bytes_max_, "a chunk fits its batch");
  chunk_at_ = content_bytes_;
  record_bytes_ = static_cast<std::uint32_t>(record_bytes);
  return memory_.bytes().subspan(chunk_at_ + sizeof(ChunkHeader), record_bytes);
}

StreamPosition StreamWriter::seal_chunk(SlotId slot, Lsn lsn, StreamPosition previous) noexcept {
  const std::size_t bytes = chunk_bytes(record_bytes_);
  wal::seal_chunk(slot, lsn, record_bytes_, previous, memory_.bytes().subspan(chunk_at_, bytes));
  content_bytes_ += bytes;
  ++chunks_;
  return StreamPosition{raw(position_) + chunk_at_};
}

void StreamWriter::write_batch(Gsn durable_gsn) {
  const std::size_t bytes = round_up(content_bytes_, segments_.alignment_bytes());
  const MutableBytes batch = memory_.bytes().first(bytes);
  const std::uint64_t sum = seal_batch({.magic = {},
                                        .batch_bytes = static_cast<std::uint32_t>(bytes),
                                        .checksum = 0,
                                        .sequence = sequence_,
                                        .incarnation = incarnation_,
                                        .durable_gsn = durable_gsn,
                                        .previous_checksum = previous_checksum_,
                                        .durable_sequence = durable_sequence_,
                                        .content_bytes = static_cast<std::uint32_t>(content_bytes_),
                                        .chunk_count = chunks_},
                                       batch);
  unsynced_ = true;
  segments_.write(position_, batch);
  PALIMPSEST_SYNC_POINT("wal.batch.written");
  position_ = segments_.behind(position_, bytes);
  sequence_ = BatchSequence{raw(sequence_) + 1};
  previous_checksum_ = sum;
  previous_incarnation_ = incarnation_;
  ++batches_;
}

void StreamWriter::sync() {
  if (!unsynced_) {
    return;
  }
  // The position may be at the beginning of a segment that is not begun yet.
  const std::uint64_t number = segments_.number_of(position_);
  segments_.sync(segments_.has(number) ? number : number - 1);
  unsynced_ = false;
  durable_sequence_ = BatchSequence{raw(sequence_) - 1};
  ++syncs_;
}

void StreamWriter::require_segment() {
  if (!segments_.has(segments_.number_of(position_))) {
    move_to_next_segment();
    sync();
  }
}

void StreamWriter::move_to_next_segment() {
  std::uint64_t next = segments_.number_of(position_);
  if (segments_.has(next)) {
    ++next;
  }
  sync();
  if (segments_.spare() == 0) {
    // Padding has used up the margin. A segment too many is better than a log that has failed.
    static_cast<void>(segments_.make_one(true));
  }
  segments_.begin(next);
  unsynced_ = true;
  position_ = segments_.first_position(next);
}

}  // namespace palimpsest::wal
