#include "wal/log_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/round_up.h"

namespace palimpsest::wal {
namespace {

constexpr std::size_t kWindowBytes = std::size_t{1} << 20U;

/// A later position in the same segment.
StreamPosition plus(StreamPosition at, std::uint64_t bytes) noexcept {
  return StreamPosition{raw(at) + bytes};
}

/// Adds a part, merging it with the last one if it continues that.
void append(const StreamPart& part, std::vector<StreamPart>& parts) {
  if (!parts.empty() && parts.back().end == part.begin) {
    parts.back().end = part.end;
  } else {
    parts.push_back(part);
  }
}

}  // namespace

/// A piece of one segment in memory; each load reads beyond what was asked for.
class LogReader::Window {
 public:
  explicit Window(const Segments& segments)
      : segments_(segments),
        memory_(std::min<std::uint64_t>(kWindowBytes, segments.segment_bytes()),
                kSegmentHeaderBytes) {}

  /// `bytes` of the stream at `at`, which is aligned to kBatchAlignment; fewer at the segment's
  /// end. Valid until the next call.
  ConstBytes bytes(StreamPosition at, std::uint64_t bytes) {
    if (at < begin_ || at >= segment_end_) {
      segment_end_ = segments_.place_at(at).end();
    }
    bytes = std::min(bytes, raw(segment_end_) - raw(at));
    if (raw(at) < raw(begin_) || raw(at) + bytes > raw(begin_) + filled_) {
      load(at, bytes);
    }
    return memory_.bytes().subspan(raw(at) - raw(begin_), bytes);
  }

 private:
  void load(StreamPosition at, std::uint64_t bytes) {
    const std::uint64_t alignment = segments_.alignment_bytes();
    const std::uint64_t begin = raw(at) / alignment * alignment;
    const std::uint64_t wanted =
        std::max<std::uint64_t>(round_up(raw(at) + bytes - begin, alignment), memory_.size_bytes());
    const std::uint64_t size = std::min(wanted, raw(segment_end_) - begin);
    filled_ = 0;
    if (memory_.size_bytes() < size) {
      memory_ = AlignedMemory(size, kSegmentHeaderBytes);
    }
    segments_.read(StreamPosition{begin}, memory_.bytes().first(size));
    begin_ = StreamPosition{begin};
    filled_ = size;
  }

  const Segments& segments_;
  AlignedMemory memory_;
  StreamPosition begin_{};
  std::uint64_t filled_ = 0;
  StreamPosition segment_end_{};  ///< of the segment that holds begin_
};

const LogEnd& LogReader::find_end(std::string* damage) {
  expected_ = {.sequence = control_.start.sequence,
               .previous_checksum = control_.start.previous_checksum,
               .incarnation = control_.start.incarnation};
  end_ = {.position = control_.start.position, .incarnation = control_.start.incarnation};
  Window window(segments_);
  StreamPosition at = control_.start.position;
  const Segments::Place first = segments_.place_at(at);
  if (!segments_.has(first.number)) {
    throw Error(ErrorCode::corruption,
                fmt::format("{}, in which replay starts, is missing", segments_.place_of(at)));
  }
  if (at < first.first_batch()) {
    throw Error(
        ErrorCode::corruption,
        fmt::format("{}: the log control file begins replay at {}, within the segment's header",
                    segments_.place_of(at), raw(at)));
  }
  for (;;) {
    if (accept(window, at)) {
      at = end_.position;
      continue;
    }
    // Perhaps the rest of the segment was left empty.
    const std::uint64_t next = segments_.number_of(at) + 1;
    if (at != end_.position || !segments_.has(next)) {
      break;
    }
    at = segments_.first_position(next);
  }
  if (control_.incarnation != Incarnation{0} || end_.batches != 0) {  // else never written
    judge_rest(window, damage);
  }
  tell_unstated();
  end_.next_sequence = expected_.sequence;
  end_.previous_checksum = expected_.previous_checksum;
  return end_;
}

// Whether an older incarnation wrote the batch, behind the point from which the newest continued.
bool LogReader::was_discarded(const BatchHeader& header) const noexcept {
  return header.incarnation < control_.incarnation && header.sequence >= control_.incarnation_begin;
}

// Accepts the batch at `at` if it is the next one of the stream.
bool LogReader::accept(Window& window, StreamPosition at) {
  if (!segments_.has(segments_.number_of(at))) {
    return false;  // the last segment is full, and no other was begun
  }
  const std::uint64_t rest = raw(segments_.place_at(at).end()) - raw(at);
  const auto header = peek_batch(window.bytes(at, sizeof(BatchHeader)), rest);
  const bool fits = header && header->sequence == expected_.sequence &&
                    header->previous_checksum == expected_.previous_checksum &&
                    header->incarnation >= expected_.incarnation && !was_discarded(*header);
  if (!fits || !verify_batch(*header, window.bytes(at, header->batch_bytes))) {
    return false;
  }
  note(at, *header);
  return true;
}

void LogReader::note(StreamPosition at, const BatchHeader& header) {
  const StreamPosition end = plus(at, header.batch_bytes);
  append({at, end}, parts_);
  while (!unstated_.empty() && unstated_.front().sequence <= header.durable_sequence) {
    unstated_.pop_front();
  }
  unstated_.push_back({.sequence = header.sequence,
                       .previous_checksum = header.previous_checksum,
                       .part = {at, end}});
  cuts_[header.incarnation] = header.durable_gsn;
  end_.position = segments_.behind(at, header.batch_bytes);
  end_.incarnation = header.incarnation;
  end_.durable_gsn = std::max(end_.durable_gsn, header.durable_gsn);
  ++end_.batches;
  end_.bytes += header.batch_bytes;
  expected_ = {.sequence = BatchSequence{raw(header.sequence) + 1},
               .previous_checksum = header.checksum,
               .incarnation = header.incarnation};
}

void LogReader::tell_unstated() {
  for (const Unstated& batch : unstated_) {
    append(batch.part, end_.unstated);
  }
  if (!unstated_.empty()) {
    end_.stated_checksum = unstated_.front().previous_checksum;
  }
}

void LogReader::judge_rest(Window& window, std::string* damage) const {
  try {
    refuse_damaged_middle(window);
  } catch (const Error& error) {
    if (damage == nullptr || error.code() != ErrorCode::corruption) {
      throw;
    }
    *damage = error.what();
  }
}

// The stream ends before batch expected_: no batch behind may state that it was durable.
void LogReader::refuse_damaged_middle(Window& window) const {
  if (segments_.has(segments_.number_of(end_.position))) {
    refuse_if_stated_durable(window, end_.position);
  }
  for (const std::uint64_t number : segments_.numbers()) {
    if (number > segments_.number_of(end_.position)) {
      refuse_if_stated_durable(window, segments_.first_position(number));
    }
  }
}

// Looks at each offset of the segment, from `from` on, at which a batch may begin.
void LogReader::refuse_if_stated_durable(Window& window, StreamPosition from) const {
  const std::uint64_t end = raw(segments_.place_at(from).end());
  for (std::uint64_t at = raw(from); at + sizeof(BatchHeader) <= end; at += kBatchAlignment) {
    const auto header = peek_batch(window.bytes(StreamPosition{at}, sizeof(BatchHeader)), end - at);
    const bool states = header && header->durable_sequence >= expected_.sequence &&
                        header->sequence > header->durable_sequence &&
                        header->incarnation >= expected_.incarnation && !was_discarded(*header);
    if (states && verify_batch(*header, window.bytes(StreamPosition{at}, header->batch_bytes))) {
      throw Error(ErrorCode::corruption,
                  fmt::format("{}: batch {} at offset {} is damaged or missing, although "
                              "batch {} (segment \"{}\", offset {}) says it was durable",
                              segments_.place_of(end_.position), raw(expected_.sequence),
                              segments_.offset_of(end_.position), raw(header->sequence),
                              segments_.name_of(segments_.number_of(from)),
                              segments_.offset_of(StreamPosition{at})));
    }
  }
}

Gsn LogReader::cut_of(Incarnation incarnation) const noexcept {
  const auto cut = cuts_.find(incarnation);
  return cut == cuts_.end() ? Gsn{0} : cut->second;
}

void LogReader::visit_chunks(const StreamPart& part,
                             FunctionRef<void(const ChunkRecords&)> show) const {
  Window window(segments_);
  for (StreamPosition at = part.begin; at < part.end;) {
    const std::uint64_t rest = raw(part.end) - raw(at);
    const auto header = peek_batch(window.bytes(at, sizeof(BatchHeader)), rest);
    if (!header || !verify_batch(*header, window.bytes(at, header->batch_bytes))) {
      throw Error(
          ErrorCode::corruption,
          fmt::format(
              "log segment \"{}\": the batch at offset {} has changed since it was first read",
              segments_.name_of(segments_.number_of(at)), segments_.offset_of(at)));
    }
    visit_batch(at, *header, window.bytes(at, header->batch_bytes).first(header->content_bytes),
                show);
    at = plus(at, header->batch_bytes);
  }
}

void LogReader::visit_batch(StreamPosition at, const BatchHeader& header, ConstBytes batch,
                            FunctionRef<void(const ChunkRecords&)> show) const {
  const Gsn cut = cut_of(header.incarnation);
  std::size_t offset = sizeof(BatchHeader);
  while (const auto chunk = chunk_at(batch, offset)) {
    show({.bytes = chunk->records,
          .slot = chunk->header.slot,
          .first = chunk->header.lsn,
          .incarnation = header.incarnation,
          .chunk = plus(at, offset),
          .stated = header.durable_gsn,
          .cut = cut});
    offset += chunk_bytes(chunk->records.size());
  }
}

void LogReader::refuse_record(const ChunkRecords& chunk, std::size_t at) const {
  throw Error(ErrorCode::corruption,
              fmt::format("log segment \"{}\": no whole record at byte {} of the chunk of slot {} "
                          "at offset {}",
                          segments_.name_of(segments_.number_of(chunk.chunk)), at, raw(chunk.slot),
                          segments_.offset_of(chunk.chunk)));
}

void LogReader::visit_batches(const StreamPart& part,
                              FunctionRef<void(StreamPosition, const BatchHeader&)> show) const {
  Window window(segments_);
  for (StreamPosition at = part.begin; at < part.end;) {
    const auto header = peek_batch(window.bytes(at, sizeof(BatchHeader)), raw(part.end) - raw(at));
    if (!header || header->batch_bytes == 0) {
      return;
    }
    show(at, *header);
    at = plus(at, header->batch_bytes);
  }
}

RecordView LogCursor::find(const Segments& segments, SlotId slot, Lsn lsn, StreamPosition newest) {
  const auto read = [&](StreamPosition at) {
    chunk_ = read_chunk(segments, at, slot);
    at_ = at;
  };
  if (newest != kNowhere &&
      (at_ == kNowhere || raw(lsn) >= raw(chunk_.header.lsn) + chunk_.records.size())) {
    read(newest);
  }
  while (at_ != kNowhere && lsn < chunk_.header.lsn && chunk_.header.previous < at_ &&
         chunk_.header.previous != kNowhere) {
    read(chunk_.header.previous);
  }
  if (at_ != kNowhere && lsn >= chunk_.header.lsn) {
    if (const auto record = record_at(chunk_.records, raw(lsn) - raw(chunk_.header.lsn))) {
      return *record;
    }
  }
  throw Error(ErrorCode::corruption,
              fmt::format("the log of slot {} holds no record at LSN {}", raw(slot), raw(lsn)));
}

LoggedChunk read_chunk(const Segments& segments, StreamPosition at, SlotId slot) {
  const auto refuse = [&] {
    throw Error(
        ErrorCode::corruption,
        fmt::format("log segment \"{}\": no whole chunk of slot {} at offset {}",
                    segments.name_of(segments.number_of(at)), raw(slot), segments.offset_of(at)));
  };
  const std::uint64_t alignment = segments.alignment_bytes();
  const Segments::Place segment = segments.place_at(at);
  const std::uint64_t segment_end = raw(segment.end());
  if (at < segment.first_batch() || raw(at) + sizeof(ChunkHeader) > segment_end) {
    refuse();
  }
  const std::uint64_t begin = raw(at) / alignment * alignment;
  // The header first: it says how much to read. It may span two blocks.
  std::uint64_t size = std::min<std::uint64_t>(
      round_up(raw(at) - begin + sizeof(ChunkHeader), alignment), segment_end - begin);
  AlignedMemory memory(size, kSegmentHeaderBytes);
  segments.read(StreamPosition{begin}, memory.bytes());
  ChunkHeader header;
  std::memcpy(&header, memory.data() + (raw(at) - begin), sizeof header);
  if (header.slot != slot || raw(at) + chunk_bytes(header.record_bytes) > segment_end) {
    refuse();
  }
  size = round_up(raw(at) - begin + chunk_bytes(header.record_bytes), alignment);
  memory = AlignedMemory(size, kSegmentHeaderBytes);
  segments.read(StreamPosition{begin}, memory.bytes());
  const auto chunk = chunk_at(memory.bytes().subspan(raw(at) - begin), 0);
  if (!chunk || !verify_chunk(*chunk)) {
    refuse();
  }
  return {.header = chunk->header,
          .records = std::vector<std::byte>(chunk->records.begin(), chunk->records.end())};
}

}  // namespace palimpsest::wal
