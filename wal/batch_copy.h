// A copy of batches in a spare segment, kept while the batches are rewritten in place
// (stream_hardener.h).
//
// On disk (little-endian; offsets in bytes), in place of the segment's header:
//    0  8 magic "PLMPCOPY"           8  8 checksum of bytes [16, 4096)
//   16  4 format version            20  4 bytes behind the last batch, fewer than 4096
//   24 16 uuid of the database      40  8 incarnation that wrote last when the copy was made
//   48  8 turn: higher than that of every older copy that still exists
//   56  8 stream position           64  8 bytes, a multiple of 4096
//   72  8 checksum of the copied bytes
//   80 16 name of the file they were copied from, then zeros
//   96 24 the segment they were copied from: number, stream position of its first byte, size
//   zeros up to 4096; then the copied bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/file_format.h"
#include "wal/ids.h"
#include "wal/log_format.h"

namespace palimpsest::wal {

inline constexpr std::size_t kCopyHeaderBytes = kSegmentHeaderBytes;
inline constexpr std::size_t kCopiedNameBytesMax = 16;

struct BatchCopy {
  Uuid uuid{};
  Incarnation incarnation{};
  std::uint64_t turn = 0;
  StreamPosition position{};
  std::uint64_t bytes = 0;
  std::uint32_t tail_bytes = 0;  ///< of these, how many lie behind the last batch
  std::uint64_t content_checksum = 0;
  std::string file;
  SegmentPlace segment;
};

/// Writes the header into `block`, which has kCopyHeaderBytes.
void encode_batch_copy(const BatchCopy& copy, MutableBytes block) noexcept;
/// Nothing unless the block holds a whole header of this format, with counters within kCounterMax
/// and a position within its segment.
[[nodiscard]] std::optional<BatchCopy> decode_batch_copy(ConstBytes block);

}  // namespace palimpsest::wal
