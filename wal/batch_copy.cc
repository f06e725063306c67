#include "wal/batch_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/checksum.h"

namespace palimpsest::wal {
namespace {

constexpr std::array<char, 8> kMagic{'P', 'L', 'M', 'P', 'C', 'O', 'P', 'Y'};
constexpr std::size_t kChecksumEnd = 16;

struct Block {
  std::array<char, 8> magic;
  std::uint64_t checksum;
  std::uint32_t format_version;
  std::uint32_t tail_bytes;
  Uuid uuid;
  Incarnation incarnation;
  std::uint64_t turn;
  StreamPosition position;
  std::uint64_t bytes;
  std::uint64_t content_checksum;
  std::array<char, kCopiedNameBytesMax> file;
  std::uint64_t segment_number;
  StreamPosition segment_begin;
  std::uint64_t segment_bytes;
};

static_assert(sizeof(Block) == 120 && offsetof(Block, segment_number) == 96);
static_assert(offsetof(Block, uuid) == 24 && offsetof(Block, turn) == 48);
static_assert(offsetof(Block, content_checksum) == 72 && offsetof(Block, file) == 80);

bool is_within_segment(const Block& header) noexcept {
  if (header.segment_number > kCounterMax || raw(header.segment_begin) > kCounterMax ||
      header.segment_bytes > kSegmentBytesMax || header.position < header.segment_begin) {
    return false;
  }
  const std::uint64_t offset = raw(header.position) - raw(header.segment_begin);
  return offset >= kSegmentHeaderBytes && offset % kCopyHeaderBytes == 0 && header.bytes != 0 &&
         header.bytes % kCopyHeaderBytes == 0 && offset <= header.segment_bytes &&
         header.bytes <= header.segment_bytes - offset;
}

}  // namespace

void encode_batch_copy(const BatchCopy& copy, MutableBytes block) noexcept {
  check(block.size() == kCopyHeaderBytes && copy.file.size() <= kCopiedNameBytesMax,
        "a copy's header has its own block, and a segment's name is short");
  std::fill(block.begin(), block.end(), std::byte{0});
  Block header{.magic = kMagic,
               .checksum = 0,
               .format_version = kLogFormatVersion,
               .tail_bytes = copy.tail_bytes,
               .uuid = copy.uuid,
               .incarnation = copy.incarnation,
               .turn = copy.turn,
               .position = copy.position,
               .bytes = copy.bytes,
               .content_checksum = copy.content_checksum,
               .file = {},
               .segment_number = copy.segment.number,
               .segment_begin = copy.segment.begin,
               .segment_bytes = copy.segment.bytes};
  std::copy(copy.file.begin(), copy.file.end(), header.file.begin());
  std::memcpy(block.data(), &header, sizeof header);
  header.checksum = checksum(block.subspan(kChecksumEnd));
  std::memcpy(block.data(), &header, sizeof header);
}

std::optional<BatchCopy> decode_batch_copy(ConstBytes block) {
  if (block.size() < kCopyHeaderBytes) {
    return std::nullopt;
  }
  Block header;
  std::memcpy(&header, block.data(), sizeof header);
  if (header.magic != kMagic || header.format_version != kLogFormatVersion ||
      header.checksum != checksum(block.first(kCopyHeaderBytes).subspan(kChecksumEnd)) ||
      raw(header.incarnation) > kCounterMax || header.turn > kCounterMax ||
      raw(header.position) > kCounterMax || header.bytes > kCounterMax ||
      header.tail_bytes >= kCopyHeaderBytes || !is_within_segment(header)) {
    return std::nullopt;
  }
  const auto name_end = std::find(header.file.begin(), header.file.end(), '\0');
  return BatchCopy{.uuid = header.uuid,
                   .incarnation = header.incarnation,
                   .turn = header.turn,
                   .position = header.position,
                   .bytes = header.bytes,
                   .tail_bytes = header.tail_bytes,
                   .content_checksum = header.content_checksum,
                   .file = std::string(header.file.begin(), name_end),
                   .segment = {.number = header.segment_number,
                               .begin = header.segment_begin,
                               .bytes = header.segment_bytes}};
}

}  // namespace palimpsest::wal
