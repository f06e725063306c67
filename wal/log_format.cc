#include "wal/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/checksum.h"

namespace palimpsest::wal {

static_assert(std::endian::native == std::endian::little,
              "headers are copied as they stand in memory");

namespace {

constexpr std::array<char, 8> kSegmentMagic{'P', 'L', 'M', 'P', 'S', 'L', 'O', 'G'};
constexpr std::array<char, 4> kBatchMagic{'P', 'L', 'B', 'T'};
constexpr std::size_t kChecksumEnd = 16;

/// `bytes` holds at least sizeof(T).
template <class T>
T load(ConstBytes bytes) noexcept {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <class T>
void store(const T& value, MutableBytes into) noexcept {
  std::memcpy(into.data(), &value, sizeof value);
}

void zero(MutableBytes bytes) noexcept {
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
}

std::uint64_t segment_checksum(ConstBytes block) noexcept {
  return checksum(block.subspan(kChecksumEnd, sizeof(SegmentHeader) - kChecksumEnd));
}

/// Covers the header up to the checksum, and the records: two sums combined, because the checksum
/// field lies between them.
std::uint64_t chunk_checksum(ConstBytes header, ConstBytes records) noexcept {
  std::array<std::byte, offsetof(ChunkHeader, checksum) + sizeof(std::uint64_t)> summed{};
  std::copy_n(header.begin(), offsetof(ChunkHeader, checksum), summed.begin());
  store(checksum(records), MutableBytes(summed).subspan(offsetof(ChunkHeader, checksum)));
  return checksum(summed);
}

}  // namespace

std::size_t record_bytes_at(ConstBytes first_bytes) noexcept {
  std::uint64_t follow = 0;
  const std::byte* begin = first_bytes.data();
  const std::byte* next = take_varint(begin, begin + first_bytes.size(), follow);
  return next == nullptr ? 0 : static_cast<std::size_t>(next - begin) + follow;
}

void encode_segment_header(const SegmentPlace& place, const Uuid& uuid,
                           MutableBytes block) noexcept {
  check(block.size() == kSegmentHeaderBytes, "a segment header has its own block");
  zero(block);
  SegmentHeader header{};
  header.magic = kSegmentMagic;
  header.format_version = kLogFormatVersion;
  header.number = place.number;
  header.segment_bytes = place.bytes;
  header.uuid = uuid;
  header.begin = place.begin;
  store(header, block);
  header.checksum = segment_checksum(block);
  store(header, block);
}

std::optional<SegmentHeader> decode_segment_header(ConstBytes block) noexcept {
  if (block.size() < sizeof(SegmentHeader)) {
    return std::nullopt;
  }
  const auto header = load<SegmentHeader>(block);
  if (header.magic != kSegmentMagic || header.checksum != segment_checksum(block) ||
      header.format_version != kLogFormatVersion) {
    return std::nullopt;
  }
  return header;
}

bool has_segment_magic(ConstBytes block) noexcept {
  return block.size() >= sizeof(SegmentHeader) && load<SegmentHeader>(block).magic == kSegmentMagic;
}

void seal_chunk(SlotId slot, Lsn lsn, std::uint32_t record_bytes, StreamPosition previous,
                MutableBytes chunk) noexcept {
  check(chunk.size() == chunk_bytes(record_bytes), "a chunk has room for header and records");
  const MutableBytes records = chunk.subspan(sizeof(ChunkHeader), record_bytes);
  zero(chunk.subspan(sizeof(ChunkHeader) + record_bytes));
  ChunkHeader header{
      .slot = slot, .record_bytes = record_bytes, .lsn = lsn, .previous = previous, .checksum = 0};
  store(header, chunk);
  header.checksum = chunk_checksum(chunk, records);
  store(header, chunk);
}

std::uint64_t seal_batch(BatchHeader header, MutableBytes batch) noexcept {
  check(header.content_bytes <= batch.size() && header.batch_bytes == batch.size(),
        "a batch has room for its content");
  zero(batch.subspan(header.content_bytes));
  header.magic = kBatchMagic;
  store(header, batch);
  header.checksum = checksum(batch.subspan(kChecksumEnd, header.content_bytes - kChecksumEnd));
  store(header, batch);
  return header.checksum;
}

std::optional<BatchHeader> peek_batch(ConstBytes bytes, std::uint64_t bytes_max) noexcept {
  if (bytes.size() < sizeof(BatchHeader)) {
    return std::nullopt;
  }
  const auto header = load<BatchHeader>(bytes);
  const bool sane = raw(header.sequence) <= kCounterMax && raw(header.incarnation) <= kCounterMax &&
                    raw(header.durable_gsn) <= kCounterMax;
  const bool fits = header.batch_bytes <= std::min<std::uint64_t>(bytes_max, kBatchBytesMax) &&
                    header.batch_bytes % kBatchAlignment == 0 &&
                    header.content_bytes >= sizeof(BatchHeader) &&
                    header.content_bytes <= header.batch_bytes;
  return header.magic == kBatchMagic && sane && fits ? std::optional(header) : std::nullopt;
}

bool verify_batch(const BatchHeader& header, ConstBytes batch) noexcept {
  const ConstBytes content = batch.first(header.content_bytes);
  if (header.checksum != checksum(content.subspan(kChecksumEnd))) {
    return false;
  }
  std::size_t at = sizeof(BatchHeader);
  for (std::uint32_t i = 0; i < header.chunk_count; ++i) {
    const auto chunk = chunk_at(content, at);
    if (!chunk) {
      return false;
    }
    at += chunk_bytes(chunk->records.size());
  }
  return at == content.size();
}

std::optional<ChunkView> chunk_at(ConstBytes batch, std::size_t offset_bytes) noexcept {
  if (offset_bytes > batch.size() || batch.size() - offset_bytes < sizeof(ChunkHeader)) {
    return std::nullopt;
  }
  const ConstBytes rest = batch.subspan(offset_bytes);
  ChunkView chunk{.header = load<ChunkHeader>(rest), .offset_bytes = offset_bytes, .records = {}};
  if (chunk_bytes(chunk.header.record_bytes) > rest.size()) {
    return std::nullopt;
  }
  chunk.records = rest.subspan(sizeof(ChunkHeader), chunk.header.record_bytes);
  return chunk;
}

bool verify_chunk(const ChunkView& chunk) noexcept {
  std::array<std::byte, sizeof(ChunkHeader)> header{};
  store(chunk.header, header);
  return chunk.header.checksum == chunk_checksum(header, chunk.records);
}

std::string print(const SegmentHeader& header) {
  return fmt::format("segment {} of {} bytes from {} on, format {}", header.number,
                     header.segment_bytes, raw(header.begin), header.format_version);
}

std::string print(const BatchHeader& header) {
  return fmt::format(
      "batch {} of incarnation {}: {} bytes, {} of them content, {} chunks, g {}, durable before "
      "{}, checksum {:#018x} after {:#018x}",
      raw(header.sequence), raw(header.incarnation), header.batch_bytes, header.content_bytes,
      header.chunk_count, raw(header.durable_gsn), raw(header.durable_sequence), header.checksum,
      header.previous_checksum);
}

std::string print(const ChunkHeader& header) {
  return fmt::format("chunk of slot {}: LSN {}, {} bytes of records, chunk before at {}",
                     raw(header.slot), raw(header.lsn), header.record_bytes, raw(header.previous));
}

}  // namespace palimpsest::wal
