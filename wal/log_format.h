// The log on disk: segments of batches of chunks of records.
//
// All logs share one stream. A *batch* is what one round of the committer writes: chunks, each a
// piece of one slot's log, whole records only. Batches follow each other, aligned to
// kBatchAlignment or the device's larger block, and never cross a segment. A *segment* is a file of
// fixed size, zeroed when made and reused under a new number (segments.h).
//
// The batches alone decide which bytes belong to the stream (log_reader.h): the next batch has the
// next sequence number, names the checksum of the batch before, and its incarnation is not lower.
// This tells stale batches apart, in reused segments and in discarded tails.
//
// On disk (little-endian; offsets in bytes):
//   segment      0  8 magic "PLMPSLOG"     8  8 checksum of bytes [16, 64)   16  4 format version
//               20  4 reserved            24  8 segment number              32  8 segment size
//               40 16 uuid of the database                                  56  8 stream position
//                                               of the file's first byte; 0: number x full size
//               zero up to kSegmentHeaderBytes, then batches
//   batch        0  4 magic "PLBT"         4  4 batch bytes, padding included
//                8  8 checksum of bytes [16, content bytes)                 16  8 sequence
//               24  8 incarnation         32  8 durable GSN g: every record of every log of this
//                                               incarnation with GSN <= g lies in the stream up to
//                                               the end of this batch
//               40  8 checksum of the batch before
//               48  8 last sequence known to be durable when this batch was formed
//               56  4 content bytes: header and chunks                      60  4 number of chunks
//   chunk        0  4 slot                 4  4 bytes of records             8  8 LSN of the first
//               16  8 stream position of the slot's previous chunk in this incarnation; 0: none
//               24  8 checksum of bytes [0, 24) and the records
//               then the records, then zeros up to a multiple of 8
//   record       .  bytes that follow   .  1 type   .  GSN   .  the payload
//               Length and GSN are varints (base/varint.h): most records are short, and the log is
//               most of what a database writes. Records follow each other without padding.
// Reserved bytes and padding are zero.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/file_format.h"
#include "base/ids.h"
#include "base/round_up.h"
#include "base/varint.h"
#include "wal/ids.h"

namespace palimpsest::wal {

inline constexpr std::uint32_t kLogFormatVersion = 1;
inline constexpr std::size_t kSegmentHeaderBytes = 4096;
inline constexpr std::uint64_t kSegmentBytesMin = std::uint64_t{64} << 10U;
inline constexpr std::uint64_t kSegmentBytesMax = std::uint64_t{16} << 30U;
inline constexpr std::size_t kBatchAlignment = 512;
inline constexpr std::size_t kChunkAlignment = 8;

/// Largest batch of any writer; bounds what a reader allocates for bytes from disk.
inline constexpr std::size_t kBatchBytesMax = std::size_t{16} << 20U;

struct SegmentHeader {
  std::array<char, 8> magic;
  std::uint64_t checksum;
  std::uint32_t format_version;
  std::uint32_t reserved_word;
  std::uint64_t number;
  std::uint64_t segment_bytes;
  Uuid uuid;
  StreamPosition begin;

  /// Where the segment begins in the stream. Older headers, from before segments could have several
  /// sizes, do not say it: then from the number and `segment_bytes_max`, the size of all.
  [[nodiscard]] StreamPosition begin_of(std::uint64_t segment_bytes_max) const noexcept {
    return begin == StreamPosition{} ? StreamPosition{number * segment_bytes_max} : begin;
  }
};

struct BatchHeader {
  std::array<char, 4> magic;
  std::uint32_t batch_bytes;
  std::uint64_t checksum;
  BatchSequence sequence;
  Incarnation incarnation;
  Gsn durable_gsn;
  std::uint64_t previous_checksum;
  BatchSequence durable_sequence;
  std::uint32_t content_bytes;
  std::uint32_t chunk_count;
};

struct ChunkHeader {
  SlotId slot;
  std::uint32_t record_bytes;
  Lsn lsn;
  StreamPosition previous;
  std::uint64_t checksum;
};

static_assert(sizeof(SegmentHeader) == 64 && offsetof(SegmentHeader, number) == 24);
static_assert(offsetof(SegmentHeader, uuid) == 40 && offsetof(SegmentHeader, begin) == 56);
static_assert(sizeof(BatchHeader) == 64 && offsetof(BatchHeader, sequence) == 16);
static_assert(offsetof(BatchHeader, durable_gsn) == 32);
static_assert(offsetof(BatchHeader, content_bytes) == 56);
static_assert(sizeof(ChunkHeader) == 32 && offsetof(ChunkHeader, lsn) == 8);
static_assert(offsetof(ChunkHeader, previous) == 16 && offsetof(ChunkHeader, checksum) == 24);

/// Largest payload of a record: a page of the largest size and its description.
inline constexpr std::size_t kPayloadBytesMax = std::size_t{144} << 10U;
/// Most bytes of a record's length field.
inline constexpr std::size_t kLengthBytesMax = 3;
/// Most bytes of a record before its payload.
inline constexpr std::size_t kRecordHeaderBytesMax =
    kLengthBytesMax + sizeof(RecordType) + varint_bytes(kCounterMax);
inline constexpr std::size_t kRecordBytesMax = kRecordHeaderBytesMax + kPayloadBytesMax;
static_assert(varint_bytes(kRecordBytesMax) == kLengthBytesMax);

/// A record in memory.
struct RecordView {
  RecordType type{};
  Gsn gsn{};
  ConstBytes payload{};  ///< the end of `whole`
  ConstBytes whole{};
};

/// Decodes the record at offset `at` of `records` into views. False if no whole record is there,
/// since bytes from disk may be anything; `record` is meaningless then.
[[nodiscard]] inline bool take_record(ConstBytes records, std::size_t at,
                                      RecordView& record) noexcept {
  if (at >= records.size()) {
    return false;
  }
  const std::byte* begin = records.data() + at;
  const std::byte* limit = records.data() + records.size();
  std::uint64_t follow = 0;
  const std::byte* next = take_varint(begin, limit, follow);
  if (next == nullptr || follow < sizeof(RecordType) || follow > kRecordBytesMax ||
      follow > static_cast<std::uint64_t>(limit - next)) {
    return false;
  }
  const std::byte* end = next + follow;
  const auto type = static_cast<RecordType>(*next);
  std::uint64_t gsn = 0;
  next = take_varint(next + sizeof type, end, gsn);
  if (next == nullptr || type == RecordType{} || gsn > kCounterMax) {
    return false;
  }
  record.type = type;
  record.gsn = Gsn{gsn};
  record.payload = {next, end};
  record.whole = {begin, end};
  return true;
}
/// As take_record(); nothing if no whole record is there.
[[nodiscard]] inline std::optional<RecordView> record_at(ConstBytes records,
                                                         std::size_t at) noexcept {
  RecordView record;
  return take_record(records, at, record) ? std::optional(record) : std::nullopt;
}
/// Size of the record that begins with these bytes: kLengthBytesMax of them, or as many as there
/// are. 0 if they begin no record.
[[nodiscard]] std::size_t record_bytes_at(ConstBytes first_bytes) noexcept;

/// Size of a record with a payload of that size.
[[nodiscard]] constexpr std::size_t record_bytes(Gsn gsn, std::size_t payload_bytes) noexcept {
  const std::size_t follow = sizeof(RecordType) + varint_bytes(raw(gsn)) + payload_bytes;
  return varint_bytes(follow) + follow;
}
/// Writes the record's header; returns the address for the payload.
[[nodiscard]] inline std::byte* put_record_header(std::byte* into, RecordType type, Gsn gsn,
                                                  std::size_t payload_bytes) noexcept {
  into = put_varint(into, sizeof type + varint_bytes(raw(gsn)) + payload_bytes);
  *into++ = static_cast<std::byte>(type);
  return put_varint(into, raw(gsn));
}

// Segments

/// A segment's position in the stream, as its header states it.
struct SegmentPlace {
  std::uint64_t number = 0;
  StreamPosition begin{};   ///< of the file's first byte
  std::uint64_t bytes = 0;  ///< of the file

  [[nodiscard]] StreamPosition end() const noexcept { return StreamPosition{raw(begin) + bytes}; }
  [[nodiscard]] StreamPosition first_batch() const noexcept {
    return StreamPosition{raw(begin) + kSegmentHeaderBytes};
  }
};

/// Writes the sealed header into `block`, which has kSegmentHeaderBytes.
void encode_segment_header(const SegmentPlace& place, const Uuid& uuid,
                           MutableBytes block) noexcept;
/// Whether a block that holds no whole header begins like one.
[[nodiscard]] bool has_segment_magic(ConstBytes block) noexcept;
/// Nothing unless the block holds a whole header of this format.
[[nodiscard]] std::optional<SegmentHeader> decode_segment_header(ConstBytes block) noexcept;

// Batches

/// Writes the header at the start of `chunk`, which already contains the records, and zeroes the
/// padding. `chunk` has chunk_bytes(record_bytes) bytes.
void seal_chunk(SlotId slot, Lsn lsn, std::uint32_t record_bytes, StreamPosition previous,
                MutableBytes chunk) noexcept;
[[nodiscard]] constexpr std::size_t chunk_bytes(std::size_t record_bytes) noexcept {
  return sizeof(ChunkHeader) + round_up(record_bytes, kChunkAlignment);
}

/// Writes magic, checksum and the given fields at the start of `batch`, which already contains the
/// chunks, and zeroes the padding. Returns the checksum.
std::uint64_t seal_batch(BatchHeader header, MutableBytes batch) noexcept;

/// The header at the start of `bytes`, if it is plausible: magic, counters within kCounterMax, and
/// sizes within `bytes_max` and kBatchBytesMax. Reads sizeof(BatchHeader) bytes.
[[nodiscard]] std::optional<BatchHeader> peek_batch(ConstBytes bytes,
                                                    std::uint64_t bytes_max) noexcept;
/// Whether a batch is whole: its checksum matches, and its chunks fill it exactly. `batch` has at
/// least the header's content_bytes.
[[nodiscard]] bool verify_batch(const BatchHeader& header, ConstBytes batch) noexcept;

/// A chunk of a verified batch.
struct ChunkView {
  ChunkHeader header{};
  std::size_t offset_bytes = 0;  ///< of the header, in the batch
  ConstBytes records;
};

/// The chunk at `offset_bytes` of a batch; nothing at the end (or, in an unverified batch, where no
/// whole chunk is).
[[nodiscard]] std::optional<ChunkView> chunk_at(ConstBytes batch,
                                                std::size_t offset_bytes) noexcept;
/// Whether a chunk that was read by itself is intact.
[[nodiscard]] bool verify_chunk(const ChunkView& chunk) noexcept;

// Printers: one line each.

[[nodiscard]] std::string print(const SegmentHeader& header);
[[nodiscard]] std::string print(const BatchHeader& header);
[[nodiscard]] std::string print(const ChunkHeader& header);

}  // namespace palimpsest::wal
